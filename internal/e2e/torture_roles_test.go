package e2e

import (
	bytesof "encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// member is an instance of a role. A supervisor restarts its process after each exit. All processes of the member
// append to one log file.
type member struct {
	name, role, private string
	program             string
	args, env           []string
	logFile             *os.File
	clock               *os.File // file with the offset of the member's clock; nil if clocks cannot be stepped

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has exited
	down    bool          // whether a fault keeps the member down
	closing bool
	exits   []time.Time // times of exits that no fault caused
}

// supervise starts the member, and restarts it a second after each exit. When the test ends, the process is killed.
func (m *member) supervise(t *testing.T) {
	t.Helper()
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.mu.Lock()
		m.closing = true
		m.cmd.Process.Kill()
		exited := m.exited
		m.mu.Unlock()
		<-exited
	})
}

// start starts the process, unless a fault keeps the member down or the test is ending.
func (m *member) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing || m.down {
		return nil
	}
	m.cmd = exec.Command(m.program, m.args...)
	m.cmd.Env = append(os.Environ(), m.env...)
	m.cmd.Stdout, m.cmd.Stderr = m.logFile, m.logFile
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	m.exited = make(chan struct{})
	go m.await(m.cmd, m.exited)
	return nil
}

func (m *member) await(cmd *exec.Cmd, exited chan struct{}) {
	cmd.Wait()
	close(exited)
	m.mu.Lock()
	restart := !m.closing && !m.down
	if restart {
		m.exits = append(m.exits, time.Now())
		m.remark("exited by itself: %v", cmd.ProcessState)
	}
	m.mu.Unlock()
	if restart {
		<-time.After(time.Second)
		if err := m.start(); err != nil {
			m.remark("not started: %v", err)
		}
	}
}

// remark adds a line to the log of the member.
func (m *member) remark(format string, args ...any) {
	fmt.Fprintf(m.logFile, "--- "+format+", %s\n", append(args, time.Now().Format(time.RFC3339Nano))...) //nolint:errcheck // best effort
}

// kill sends SIGKILL; restart starts the process again.
func (m *member) kill() error {
	m.mu.Lock()
	m.down = true
	m.cmd.Process.Kill()
	exited := m.exited
	m.mu.Unlock()
	<-exited
	return nil
}

func (m *member) restart() error {
	m.mu.Lock()
	m.down = false
	m.mu.Unlock()
	return m.start()
}

func (m *member) signal(s os.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.cmd.Process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stepClock sets how far the member's clock is ahead of the machine's.
func (m *member) stepClock(by time.Duration) error {
	var content [8]byte
	bytesof.NativeEndian.PutUint64(content[:], uint64(int64(by/time.Second)))
	_, err := m.clock.WriteAt(content[:], 0)
	return err
}

// clockSource is the Go source that steppedBinary adds to package time. A step changes only the wall clock and not
// the monotonic time, as when the clock of the kernel is set.
const clockSource = `package time

import (
	"syscall"
	"unsafe"
)

var clockStep = func() int64 { return 0 }

func init() {
	name, ok := syscall.Getenv("SVC_TORTURE_CLOCK")
	if !ok {
		return
	}
	file, err := syscall.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		panic("SVC_TORTURE_CLOCK: " + err.Error())
	}
	memory, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("SVC_TORTURE_CLOCK: " + err.Error())
	}
	step := (*int64)(unsafe.Pointer(&memory[0]))
	clockStep = func() int64 { return *step }
}
`

// steppedBinary builds a svc whose clock a file can step. A separate build is necessary because a static binary gets
// the time from the kernel, without a library that the test could replace. Only [time.Now] differs from the shipped
// binary. steppedBinary returns an error under the race detector, or if this Go installation cannot be modified.
func steppedBinary(t *testing.T) (string, error) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "svc-torture") // always the same, so that Go can use its build cache
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// Go does not overlay files in its module cache, where a downloaded toolchain is stored.
	root := filepath.Join(dir, "go")
	if err = os.Remove(root); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err = os.Symlink(strings.TrimSpace(string(out)), root); err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join(root, "src/time/time.go"))
	if err != nil {
		return "", err
	}
	head, now, found := strings.Cut(string(source), "\nfunc Now() Time {")
	const reads = "\tsec, nsec, mono := runtimeNow()\n"
	if !found || !strings.Contains(now, reads) {
		return "", errors.New("time.Now of this Go is not the known one")
	}
	now = strings.Replace(now, reads, reads+"\tsec += clockStep()\n", 1)
	overlay := fmt.Sprintf(`{"Replace":{%q:%q,%q:%q}}`,
		filepath.Join(root, "src/time/time.go"), filepath.Join(dir, "time.go"), filepath.Join(root, "src/time/step.go"), filepath.Join(dir, "step.go"))
	for name, content := range map[string]string{"time.go": head + "\nfunc Now() Time {" + now, "step.go": clockSource, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	program := filepath.Join(t.TempDir(), "svc")
	build := exec.Command(filepath.Join(root, "bin/go"), "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "svc/cmd/svc")
	build.Env = append(os.Environ(), "GOROOT="+root, "GOTOOLCHAIN=local", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// newMember returns an instance of a role that uses the secured servers.
func (x *torture) newMember(role string, n int) *member {
	x.t.Helper()
	private := "127.0.0.1:" + mustFreePort(x.t)
	m := &member{name: fmt.Sprintf("%s-%d", role, n), role: role, private: "http://" + private, program: x.program}
	user := "front"
	m.args = []string{role, "--private-listen", private}
	switch role {
	case "process", "notify":
		user = role
		m.args = append(m.args, "--instance", fmt.Sprintf("%s%d", role[:1], n))
	default:
		listen := "127.0.0.1:" + mustFreePort(x.t)
		m.args = append(m.args, "--listen", listen)
		if role == "ingest" {
			x.ingest = append(x.ingest, "http://"+listen)
		} else {
			x.reads = append(x.reads, "http://"+listen)
			m.args = append(m.args, "--ingest-url", x.ingest[0])
		}
	}
	m.env = append(append([]string{}, x.env...),
		"SVC_KAFKA="+x.servers.secure, "SVC_KAFKA_TLS=true", "SVC_KAFKA_TLS_CA="+filepath.Join(x.servers.certs, "ca.pem"),
		"SVC_KAFKA_SASL=PLAIN", "SVC_KAFKA_SASL_USER="+user, "SVC_KAFKA_SASL_PASSWORD="+user+"-secret")
	var err error
	if m.logFile, err = os.OpenFile(filepath.Join(x.dir, m.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { m.logFile.Close() })
	if x.steps {
		if m.clock, err = os.OpenFile(filepath.Join(x.dir, m.name+".clock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
			x.t.Fatal(err)
		}
		x.t.Cleanup(func() { m.clock.Close() })
		if err = m.stepClock(0); err != nil {
			x.t.Fatal(err)
		}
		m.env = append(m.env, "SVC_TORTURE_CLOCK="+m.clock.Name())
	}
	return m
}
