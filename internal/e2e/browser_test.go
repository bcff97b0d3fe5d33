package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc/internal/testkit/runtimes"
)

// browser is a Chromium that web/driver.mjs drives. All tests of a suite share one browser.
type browser struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Scanner
}

// startBrowser starts a browser, and closes it when the test ends.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	onlyInE2E(t)
	program, env := runtimes.Browser(t)
	var wanted struct{ Dependencies map[string]string }
	content, err := os.ReadFile("web/package.json")
	if err == nil {
		err = json.Unmarshal(content, &wanted)
	}
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for _, name := range slices.Sorted(maps.Keys(wanted.Dependencies)) {
		packages = append(packages, name+"@"+wanted.Dependencies[name])
	}
	modules := runtimes.Node(t, packages...)
	cmd := exec.Command(runtimes.Program(t, "node"), "web/driver.mjs")
	cmd.Env = append(append(os.Environ(), "MODULES="+modules, "BROWSER="+program), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &browser{in: in, out: bufio.NewScanner(out)}
	b.out.Buffer(nil, 16<<20)
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return b
}

// do sends a command to the driver and decodes the response into result.
func (b *browser) do(what string, with map[string]any, result any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	command := maps.Clone(with)
	command["do"] = what
	line, err := json.Marshal(command)
	if err != nil {
		return err
	}
	if _, err = b.in.Write(append(line, '\n')); err != nil {
		return err
	}
	if !b.out.Scan() {
		return errors.Join(b.out.Err(), fmt.Errorf("the browser ended at %s", what))
	}
	var answer struct {
		Result json.RawMessage
		Error  string
	}
	if err = json.Unmarshal(b.out.Bytes(), &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", what, answer.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// view is one window of the browser, with separate cookies.
type view struct {
	t    testing.TB
	b    *browser
	name string
	base string

	quick      bool // whether inspections skip screenshots
	translated bool // whether the same pages are also inspected in English, so that a desktop and a phone suffice
}

// viewing is the configuration of a window: its size, its color scheme, whether it runs JavaScript, and its language.
type viewing struct {
	width, height int
	dark          bool
	noScript      bool
	language      string
}

// windows are the three sizes that the design supports: a wall display, a desktop, a phone.
var windows = []viewing{{width: 1920, height: 1080}, {width: 1280, height: 800}, {width: 390, height: 844}}

func (v viewing) theme() string {
	if v.dark {
		return "dark"
	}
	return "light"
}

var viewNames struct {
	sync.Mutex
	n int
}

// window opens a window for the pages of the server at base. cookies are in the driver's format.
func (b *browser) window(t testing.TB, base string, as viewing, cookies ...map[string]any) *view {
	t.Helper()
	viewNames.Lock()
	viewNames.n++
	v := &view{t: t, b: b, name: fmt.Sprint("w", viewNames.n), base: base}
	viewNames.Unlock()
	language := as.language
	if language == "" {
		language = "en-US"
	}
	v.do("open", map[string]any{
		"origin": base, "width": as.width, "height": as.height, "theme": as.theme(), "script": !as.noScript, "language": language,
		"cookies": cookies,
	}, nil)
	t.Cleanup(func() {
		b.do("close", map[string]any{"name": v.name}, nil) //nolint:errcheck // the window may already be closed
	})
	return v
}

func (v *view) try(what string, with map[string]any, result any) error {
	if with == nil {
		with = map[string]any{}
	}
	with["name"] = v.name
	return v.b.do(what, with, result)
}

func (v *view) do(what string, with map[string]any, result any) {
	v.t.Helper()
	if err := v.try(what, with, result); err != nil {
		v.t.Fatal(err)
	}
}

// visit opens a path. It returns the status and the final address.
func (v *view) visit(path string) (status int, at string) {
	v.t.Helper()
	var r struct {
		Status int
		URL    string
	}
	url := path
	if strings.HasPrefix(path, "/") {
		url = v.base + path
	}
	v.do("goto", map[string]any{"url": url}, &r)
	return r.Status, strings.TrimPrefix(r.URL, v.base)
}

// wants opens a path and expects the status.
func (v *view) wants(path string, status int) {
	v.t.Helper()
	if got, at := v.visit(path); got != status {
		v.t.Fatalf("%s: %d at %s, want %d", path, got, at, status)
	}
}

// signIn opens a sign-in link and presses the button on the page.
func (v *view) signIn(link string) {
	v.t.Helper()
	v.wants(link, 200)
	v.click("main form button")
	if at := v.loaded(); !strings.HasPrefix(at, "/app") {
		v.t.Fatalf("the link has led to %s", at)
	}
}

// openWall signs in a wall display with its link.
func (v *view) openWall(link string) {
	v.t.Helper()
	v.wants(link, 200)
	v.click("main form button")
	if at := v.loaded(); at != "/board" {
		v.t.Fatalf("the link has led to %s", at)
	}
}

func (v *view) click(selector string) {
	v.t.Helper()
	v.do("click", map[string]any{"selector": selector}, nil)
}

func (v *view) loaded() (at string) {
	v.t.Helper()
	v.do("loaded", nil, &at)
	return strings.TrimPrefix(at, v.base)
}

func (v *view) press(keys ...string) {
	v.t.Helper()
	for _, key := range keys {
		v.do("press", map[string]any{"key": key}, nil)
	}
}

// ask returns the value of a JavaScript expression on the page.
func ask[T any](v *view, code string) (result T) {
	v.t.Helper()
	v.do("eval", map[string]any{"code": code}, &result)
	return result
}

// await waits until a JavaScript expression is true.
func (v *view) await(code string, within time.Duration) {
	v.t.Helper()
	if err := v.try("wait", map[string]any{"code": code, "timeout": within.Milliseconds()}, nil); err != nil {
		v.t.Fatalf("%s never came true: %v", code, err)
	}
}

func (v *view) look(as viewing) {
	v.t.Helper()
	v.do("look", map[string]any{"width": as.width, "height": as.height, "theme": as.theme()}, nil)
}

// complaints returns the errors and warnings that the browser reported since the last call.
func (v *view) complaints() (list []string) {
	v.t.Helper()
	v.do("faults", nil, &list)
	return list
}

func (v *view) content() (html string) {
	v.t.Helper()
	v.do("content", nil, &html)
	return html
}

// shoot saves a screenshot in the folder that pictures returns, if someone wants to see it: with SVC_PICTURES or
// -update-pictures.
func (v *view) shoot(name string) {
	v.t.Helper()
	if os.Getenv("SVC_PICTURES") == "" && !*updatePictures {
		return
	}
	v.do("shot", map[string]any{"path": filepath.Join(pictures(v.t), name+".png")}, nil)
}

// pictures returns the folder of all screenshots: SVC_PICTURES, or a temporary folder that the next
// run overwrites.
func pictures(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("SVC_PICTURES")
	if folder == "" {
		folder = filepath.Join(os.TempDir(), "svc-pictures")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}
