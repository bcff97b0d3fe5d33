package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var build struct {
	once sync.Once
	dir  string
	err  error
}

// raced reports whether the tests and svc run under the race detector.
var raced bool

// binary builds svc once and returns its path.
func binary(t testing.TB) string {
	t.Helper()
	build.once.Do(func() {
		if build.dir, build.err = os.MkdirTemp("", "svc-e2e"); build.err != nil { //nolint:usetesting // shared by all tests
			return
		}
		args := []string{"build", "-o", filepath.Join(build.dir, "svc")}
		if raced {
			args = append(args, "-race")
		}
		out, err := exec.Command("go", append(args, "svc/cmd/svc")...).CombinedOutput()
		if err != nil {
			build.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return filepath.Join(build.dir, "svc")
}

func cleanBuild() {
	if build.dir != "" {
		os.RemoveAll(build.dir)
	}
}

// node is a running svc process.
type node struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	exited chan struct{}

	mu    sync.Mutex
	log   bytes.Buffer // standard output and standard error
	lines []watch
}

type watch struct {
	text string
	seen chan struct{}
}

// start runs svc with arguments and environment variables. When the test ends, the process is
// killed; if the test failed, its log is printed.
func start(t testing.TB, name string, args []string, env ...string) *node {
	t.Helper()
	return startProgram(t, name, binary(t), args, env...)
}

// startProgram is like start, but runs any program.
func startProgram(t testing.TB, name, program string, args []string, env ...string) *node {
	t.Helper()
	n := &node{t: t, name: name, exited: make(chan struct{})}
	n.cmd = exec.Command(program, args...)
	n.cmd.Env = append(append(os.Environ(), "GORACE=halt_on_error=1"), env...)
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, in := io.Pipe()
	n.cmd.Stdout, n.cmd.Stderr = in, in
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); n.read(out) }()
	go func() {
		n.cmd.Wait()
		in.Close()
		<-read // the last line often states the reason for the exit
		close(n.exited)
	}()
	t.Cleanup(func() {
		n.kill()
		if strings.Contains(n.logged(), "WARNING: DATA RACE") {
			t.Errorf("%s races with itself", name)
		}
		if t.Failed() {
			n.mu.Lock()
			defer n.mu.Unlock()
			t.Logf("log of %s:\n%s", name, tail(withoutAnswers(n.log.String()), 25))
		}
	})
	return n
}

// withoutAnswers drops the log lines of answered requests and of refused actions, which would hide why the test failed.
func withoutAnswers(log string) string {
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"INFO","msg":"request"`) && !strings.Contains(line, `"msg":"refused","action"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (n *node) read(out *io.PipeReader) {
	defer out.Close()
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		n.mu.Lock()
		n.log.WriteString(scanner.Text() + "\n")
		waiting := n.lines[:0]
		for _, w := range n.lines {
			if strings.Contains(scanner.Text(), w.text) {
				close(w.seen)
			} else {
				waiting = append(waiting, w)
			}
		}
		n.lines = waiting
		n.mu.Unlock()
	}
}

// says returns a channel that is closed as soon as the log contains a line with the text, or immediately if the log
// already contains one.
func (n *node) says(text string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	seen := make(chan struct{})
	if strings.Contains(n.log.String(), text) {
		close(seen)
	} else {
		n.lines = append(n.lines, watch{text, seen})
	}
	return seen
}

func (n *node) logged() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

// kill sends SIGKILL.
func (n *node) kill() {
	n.cmd.Process.Kill()
	<-n.exited
}

// freeze stops the process until thaw is called.
func (n *node) freeze() {
	n.t.Helper()
	pid := n.cmd.Process.Pid
	n.cmd.Process.Signal(syscall.SIGSTOP)
	// SIGSTOP may take effect only after a delay.
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		n.t.Fatalf("%s is not frozen: %v, %v", n.name, status, err)
	}
}

func (n *node) thaw() { n.cmd.Process.Signal(syscall.SIGCONT) }

// stop ends the process as Ctrl-C does, and expects exit code 0 within 10 s.
func (n *node) stop() {
	n.t.Helper()
	n.cmd.Process.Signal(os.Interrupt)
	select {
	case <-n.exited:
	case <-after(10 * time.Second):
		n.t.Fatalf("%s does not stop", n.name)
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		n.t.Fatalf("%s stops with code %d", n.name, code)
	}
}

// await waits until a URL returns 200.
func (n *node) await(url string) {
	n.t.Helper()
	n.awaitFor(time.Minute, url)
}

func (n *node) awaitFor(most time.Duration, url string) {
	n.t.Helper()
	err := until(most, func() error {
		select {
		case <-n.exited:
			n.t.Fatalf("%s ended:\n%s", n.name, tail(n.logged(), 20))
		default:
		}
		return ready(url)
	})
	if err != nil {
		n.t.Fatalf("%s is not ready: %v\n%s", n.name, err, tail(n.logged(), 20))
	}
}

// ready returns an error unless a health page returns 200.
func ready(url string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		body, failed := io.ReadAll(answer.Body)
		return errors.Join(failed, fmt.Errorf("%d: %s", answer.StatusCode, body))
	}
	return nil
}

// dev is a running svc dev.
type dev struct {
	*node
	dir string
	devFile
}

type devFile struct {
	BaseURL, HospitalID, APIKey, AdminKey, Kafka, Redis, MLLP string
}

// startDev runs svc dev on a folder and waits until it is ready.
func startDev(t testing.TB, dir string, args ...string) *dev {
	t.Helper()
	listen := "127.0.0.1:" + mustFreePort(t)
	d := &dev{dir: dir}
	d.node = start(t, "dev", append([]string{"dev", "--data", dir, "--listen", listen}, args...))
	select {
	case <-d.says("svc is ready"):
	case <-d.exited:
		t.Fatalf("svc dev ended:\n%s", d.logged())
	case <-after(30 * time.Second):
		t.Fatalf("svc dev is not ready:\n%s", d.logged())
	}
	d.devFile = readDev(t, dir)
	return d
}

func readDev(t testing.TB, dir string) (f devFile) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustFreePort(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// cli runs one administrative command and returns its output.
func cli(t testing.TB, env []string, args ...string) string {
	t.Helper()
	return runProgram(t, binary(t), env, args...)
}

func runProgram(t testing.TB, program string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("svc %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return strings.TrimSpace(stdout.String())
}
