package e2e

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var writeRelease = flag.Bool("write-release", false, "write the data of this build as that of the newest release of the changelog")

const releases = "testdata/releases"

// keptPaths are the paths whose responses do not depend on the time, apart from the fields in moving. Every later
// release must still return what the earlier release returned.
var keptPaths = []string{
	"/api/admin/alerts/recipients", "/api/admin/alerts/tiers", "/api/admin/keys", "/api/admin/layout", "/api/admin/locations",
	"/api/admin/rules", "/api/admin/settings", "/api/admin/terminology", "/api/admin/users", "/api/admin/walls", "/api/admin/webhooks",
}

// moving are the fields of the responses for keptPaths that change with use, over time, or with the catalogue.
var moving = []string{"invitations", "lastUsedAt", "signedInAt", "usedAt", "status", "reason", "failingSince", "waiting", "rulesVersion"}

// TestReleases starts this build on the data that each earlier release left behind. The settings must be unchanged and
// the log intact, the verdict must follow from the log, and new inputs must be applied.
func TestReleases(t *testing.T) {
	t.Parallel()
	if *writeRelease {
		recordRelease(t)
	}
	folders, err := filepath.Glob(releases + "/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no data of any release: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			unpack(t, filepath.Join(folder, "data.tar.gz"), dir)
			d := startDev(t, dir)
			p, admin := newPartner(d.BaseURL, d.HospitalID, d.APIKey), newPartner(d.BaseURL, d.HospitalID, d.AdminKey)
			content, err := os.ReadFile(filepath.Join(folder, "answers.json"))
			if err != nil {
				t.Fatal(err)
			}
			answers := map[string]any{}
			into(t, content, &answers)
			if len(answers) < 10 {
				t.Errorf("answers of %d paths", len(answers))
			}
			for path, was := range answers {
				var is any
				into(t, admin.get(t, path).Data, &is)
				if err := keeps(was, is); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			p.readUnit(t)
			p.accepted(t, "staffing", `{"nursesOnDuty":9}`)
			var now struct{ NursesOnDuty int }
			if into(t, p.readUnit(t).Data, &now); now.NursesOnDuty != 9 {
				t.Errorf("%d nurses on duty, want those of the new input", now.NursesOnDuty)
			}
			if out, err := exec.Command(binary(t), "verify", "--data", dir, "--all").CombinedOutput(); err != nil {
				t.Errorf("svc verify: %v\n%s", err, out)
			}
		})
	}
}

// keeps returns an error if a later answer lacks anything that an earlier answer contains, apart from the fields in
// moving. The later answer may contain more.
func keeps(was, is any) error {
	switch was := was.(type) {
	case map[string]any:
		now, ok := is.(map[string]any)
		if !ok {
			return fmt.Errorf("%v is now %v", was, is)
		}
		for name, value := range was {
			if slices.Contains(moving, name) {
				continue
			}
			if err := keeps(value, now[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	case []any:
		now, _ := is.([]any) //nolint:errcheck // any other type has no elements
		for i, one := range was {
			if !slices.ContainsFunc(now, func(other any) bool { return keeps(one, other) == nil }) {
				return fmt.Errorf("[%d]: %v is missing", i, one)
			}
		}
	default:
		if was != is {
			return fmt.Errorf("%v is now %v", was, is)
		}
	}
	return nil
}

// recordRelease sends the examples of the API document to every feed and every setting. It saves svc's data files,
// without the keys, and the responses.
func recordRelease(t *testing.T) {
	t.Helper()
	release, err := newestRelease()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(releases, release)
	if err = os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := startDev(t, dir)
	p, admin := newPartner(d.BaseURL, d.HospitalID, d.APIKey), newPartner(d.BaseURL, d.HospitalID, d.AdminKey)
	p.sendEvents(t, simulatedEvents(t, 1, 3))
	p.described(t).each(func(method, path string, o *operation) {
		caller := p
		if o.Scope == "admin" {
			caller = admin
		}
		for kind, body := range o.RequestBody.Content {
			for _, name := range slices.Sorted(maps.Keys(body.Examples)) {
				if _, err = caller.do(strings.ToUpper(method), o.target(path), kind, text(body.Examples[name].Value), o.headers()...); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	answers := map[string]json.RawMessage{}
	for _, path := range keptPaths {
		answers[path] = admin.get(t, path).Data
	}
	p.readUnit(t)
	d.stop()
	content, err := json.MarshalIndent(answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if token.Match(content) || signing.Match(content) {
		t.Fatal("an answer has a secret")
	}
	if err := os.WriteFile(filepath.Join(folder, "answers.json"), append(content, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "dev.json")); err != nil {
		t.Fatal(err)
	}
	pack(t, dir, filepath.Join(folder, "data.tar.gz"))
}

// pack writes the files in a folder to an archive.
func pack(t *testing.T, dir, archive string) {
	t.Helper()
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	compressed := gzip.NewWriter(file)
	out := tar.NewWriter(compressed)
	err = errors.Join(out.AddFS(os.DirFS(dir)), out.Close(), compressed.Close(), file.Close())
	if err != nil {
		t.Fatal(err)
	}
}

// unpack extracts the files of an archive into a folder.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for in := tar.NewReader(compressed); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.FileInfo().IsDir() {
			if err = root.MkdirAll(header.Name, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err = root.MkdirAll(filepath.Dir(header.Name), 0o700); err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile(header.Name, content, fs.FileMode(0o600)); err != nil {
			t.Fatal(err)
		}
	}
}
