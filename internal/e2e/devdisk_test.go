package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mount mounts an in-memory file system of the given size in bytes. Without permission to mount, it
// skips the test, or fails it in CI.
func mount(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("mount a file system in memory: ", err)
		}
		t.Skip("needs the right to mount a file system in memory")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// wantNoStart runs svc dev on a folder, and expects one line of output and exit code 1.
func wantNoStart(t *testing.T, dir, want string, args ...string) {
	t.Helper()
	out, err := exec.Command(binary(t), append([]string{"dev", "--data", dir, "--listen", "127.0.0.1:0"}, args...)...).CombinedOutput()
	wantRefusal(t, out, err, want)
}

func TestDevReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir).stop()
	if os.Geteuid() != 0 {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // so that the folder can be removed
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Error(err)
			}
		})
		wantNoStart(t, dir, "cannot write to the data folder "+dir)
		return
	}
	fixed := mount(t, "64m") // root ignores file permissions, but cannot write to a read-only file system
	if err := os.CopyFS(fixed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", fixed, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	wantNoStart(t, fixed, "cannot write to the data folder "+fixed)
}

// TestDevFullDisk fills the disk of a running svc dev. Within four seconds, svc dev must refuse input that it cannot
// store, and report the reason in the API, in the log and in its health. It must resume once there is space. On a
// disk that is too small for its data, svc dev must not start.
func TestDevFullDisk(t *testing.T) {
	dir := mount(t, "80m")
	d := startDev(t, dir)
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	p.accepted(t, "staffing", `{"nursesOnDuty":3}`)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, bytes.Repeat([]byte{1}, 60<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	watch := startWatch()
	a := p.post(t, "staffing", `{"nursesOnDuty":4}`)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("on a full disk: %d %s", a.status, a.raw)
	}
	if took := watch.elapsed(); took > 4*time.Second {
		t.Errorf("that is known at once, but took %v", took)
	}
	if a := p.get(t, "/api/v1/unit-state"); a.status != http.StatusOK {
		t.Errorf("a read: %d %s", a.status, a.raw)
	}
	if a := p.get(t, "/api/ingest/status"); !strings.Contains(string(a.raw), `"log_full"`) {
		t.Errorf("status: %s", a.raw)
	}
	private := privateOf(t, d)
	if body := page(t, private+"/readyz"); !strings.Contains(body, "disk: no space") {
		t.Errorf("/readyz: %s", body)
	}
	if !strings.Contains(d.logged(), `"msg":"no disk space"`) {
		t.Error("the log does not say it")
	}
	wantNoStart(t, mount(t, "16m"), "no space")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func() error {
		if a := p.post(t, "staffing", `{"nursesOnDuty":5}`); a.status != http.StatusOK {
			return fmt.Errorf("with space again: %d %s", a.status, a.raw)
		}
		return ready(private + "/readyz")
	})
	d.stop()
}

// privateOf returns the metrics address that svc dev has logged.
func privateOf(t *testing.T, d *dev) string {
	t.Helper()
	found := regexp.MustCompile(`(http://[0-9.:]+)/metrics`).FindStringSubmatch(d.logged())
	if found == nil {
		t.Fatal("svc dev does not say where its metrics are")
	}
	return found[1]
}

func page(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestDevFilesAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	newPartner(d.BaseURL, d.HospitalID, d.APIKey).accepted(t, "staffing", `{"nursesOnDuty":3}`)
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 10 {
		t.Error(files, err)
	}
}

// TestDevDamagedByte damages one byte of the observations. svc dev must name the file and leave it unchanged. After
// the file is restored from a copy, svc dev must start with all acknowledged inputs.
func TestDevDamagedByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	const inputs = 40
	for i := range inputs {
		p.accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d}`, i%9))
	}
	d.kill()
	before := readFiles(t, dir)
	var name string
	for file, content := range before {
		if strings.Contains(file, "svc.v1.observations") && strings.HasSuffix(file, ".dat") && len(content) > 3000 {
			name = file
		}
	}
	damaged := bytes.Clone(before[name])
	// Damage a record of a batch in the middle of the file, not the batch header, because the checksum does not cover
	// the whole header.
	at := 0
	for next := at; next < len(damaged)/2; next += 12 + int(big.NewInt(0).SetBytes(damaged[next+8:next+12]).Int64()) {
		at = next
	}
	const head = 61
	damaged[at+head+rand.New(rand.NewPCG(1, 2)).IntN(20)] ^= 0xff
	if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary(t), "dev", "--data", dir, "--listen", "127.0.0.1:0").CombinedOutput()
	wantRefusal(t, out, err, filepath.Join(dir, name)+" is damaged at byte")
	if !regexp.MustCompile(`from offset \d+ on of svc\.v1\.observations-\d+ .*Restore a copy`).Match(out) {
		t.Fatalf("%s", out)
	}
	if after := readFiles(t, dir); !bytes.Equal(after[name], damaged) {
		t.Error("the file was changed")
	}
	if err := os.WriteFile(filepath.Join(dir, name), before[name], 0o600); err != nil {
		t.Fatal(err)
	}
	again := startDev(t, dir)
	q := newPartner(again.BaseURL, again.HospitalID, again.APIKey)
	q.accepted(t, "staffing", `{"nursesOnDuty":7}`)
	var state struct{ Version int64 }
	if err := json.Unmarshal(q.get(t, "/api/v1/unit-state").Data, &state); err != nil || state.Version < inputs {
		t.Errorf("version %d: %v", state.Version, err)
	}
	again.stop()
}

// readFiles returns the contents of the files in a folder, by name.
func readFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		all[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
