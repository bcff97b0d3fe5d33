package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// hand is an input method for the pages. Each flow runs with each input method.
type hand struct {
	name, by string
	as       viewing
}

var hands = []hand{
	{"mouse", "mouse", viewing{width: 1280, height: 800}},
	{"keyboard", "keyboard", viewing{width: 1280, height: 800}},
	{"plain", "mouse", viewing{width: 390, height: 844, noScript: true}},
}

// flow is an administrator's task on the pages, as a list of steps.
type flow struct {
	name  string
	steps []step
}

// flowing is a running flow: one administrator of one hospital with one input method.
type flowing struct {
	*view
	hand    hand
	ward    *ward
	kafka   string // address of the broker
	prefix  string // prefix of the topics
	hook    *flowHook
	secrets []string // secrets that were shown
}

// step is one action or one expectation.
type step func(*flowing)

// act finds a control by its accessible role and label, and uses it. leads is what the control opens: "page" for a
// page with the given status, "file" for a download, or "" for nothing.
func (f *flowing) act(role, label, value, leads string, status int) (text string) {
	f.t.Helper()
	var got struct {
		Status int
		Text   string
	}
	with := map[string]any{"hand": f.hand.by, "role": role, "label": label, "value": value, "leads": leads}
	if err := f.try("step", with, &got); err != nil {
		f.t.Fatalf("%s %q: %v\n%s", role, label, err, f.main())
	}
	if leads == "page" && got.Status != status {
		f.t.Fatalf("%s %q: %d, want %d\n%s", role, label, got.Status, status, f.main())
	}
	if status >= http.StatusBadRequest {
		f.complaints() // drops the console message about the status
	}
	return got.Text
}

func (f *flowing) main() string {
	f.t.Helper()
	return ask[string](f.view, `location.pathname + "\n" + document.querySelector("main")?.innerText`)
}

func at(path string) step {
	return func(f *flowing) {
		f.t.Helper()
		f.wants(integrations+path, http.StatusOK)
	}
}

func link(name string) step {
	return func(f *flowing) { f.t.Helper(); f.act("link", name, "", "page", http.StatusOK) }
}

func press(name string) step {
	return func(f *flowing) { f.t.Helper(); f.act("button", name, "", "page", http.StatusOK) }
}

func pressRefused(name string) step {
	return func(f *flowing) { f.t.Helper(); f.act("button", name, "", "page", http.StatusUnprocessableEntity) }
}

func fill(label, text string) step {
	return func(f *flowing) { f.t.Helper(); f.act("field", label, text, "", 0) }
}

func choose(label, option string) step {
	return func(f *flowing) { f.t.Helper(); f.act("combobox", label, option, "", 0) }
}

func tick(label string) step {
	return func(f *flowing) { f.t.Helper(); f.act("checkbox", label, "", "", 0) }
}

func pick(label string) step {
	return func(f *flowing) { f.t.Helper(); f.act("radio", label, "", "", 0) }
}

func unfold(summary string) step {
	return func(f *flowing) { f.t.Helper(); f.act("summary", summary, "", "", 0) }
}

// rows enters lines in a form: as pasted text if the flow uses the keyboard, and as a file if it does not.
func rows(lines ...string) step {
	return func(f *flowing) {
		f.t.Helper()
		text := strings.Join(lines, "\n") + "\n"
		if f.hand.by == "keyboard" {
			f.act("field", "Or paste the lines here", text, "", 0)
		} else {
			f.act("file", "File", text, "", 0)
		}
	}
}

// file downloads a file through the link with the given name. The file must contain the string has. It must not
// contain the string lacks, unless lacks is empty, and none of the secrets that the pages have shown.
func file(name, has, lacks string) step {
	return func(f *flowing) {
		f.t.Helper()
		text := f.act("link", name, "", "file", 0)
		if !strings.Contains(text, has) || lacks != "" && strings.Contains(text, lacks) {
			f.t.Errorf("%s is %q", name, text)
		}
		for _, secret := range f.secrets {
			if strings.Contains(text, secret) {
				f.t.Errorf("%s has a secret", name)
			}
		}
	}
}

// has waits until the page contains a string; the page may refresh itself in the meantime.
func has(text string) step {
	return func(f *flowing) {
		f.t.Helper()
		code := fmt.Sprintf(`document.querySelector("main")?.innerText.includes(%q)`, text)
		if err := f.try("wait", map[string]any{"code": code, "timeout": (20 * time.Second).Milliseconds()}, nil); err != nil {
			f.t.Fatalf("%q is not to be seen: %v\n%s", text, err, f.main())
		}
	}
}

// secret expects the page below path to show a secret that begins with prefix, and expects the browser to have no
// copy of the secret after the user has left the page.
func secret(prefix, path string) step {
	return func(f *flowing) {
		f.t.Helper()
		text := ask[string](f.view, `document.querySelector("#secret")?.textContent ?? ""`)
		if !strings.HasPrefix(text, prefix) {
			f.t.Fatalf("%q is shown as a secret\n%s", text, f.main())
		}
		at := ask[string](f.view, "location.pathname")
		if !strings.HasPrefix(at, integrations+path) {
			f.t.Errorf("the secret is shown at %s", at)
		}
		f.checkHidden(text, at)
		f.secrets = append(f.secrets, text)
		f.wants(at, http.StatusOK)
	}
}

// TestIntegrationsFlows runs every task of the administrator pages with the mouse, with the
// keyboard alone, and without JavaScript.
func TestIntegrationsFlows(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	hook := newFlowHook(t)
	for _, h := range hands {
		t.Run(h.name, func(t *testing.T) {
			w, _ := strange(t, d, h.name)
			f := &flowing{view: b.window(t, d.BaseURL, h.as), hand: h, ward: w, kafka: d.Kafka, hook: hook}
			f.all(t, d.logged)
		})
	}
}

// all signs in and runs all flows. The log must not contain a secret that was shown.
func (f *flowing) all(t *testing.T, logged func() string) {
	t.Helper()
	f.signIn(f.ward.link(t, "admin"))
	for _, one := range flows(f) { // each flow depends on earlier ones
		began := time.Now()
		ok := t.Run(one.name, func(t *testing.T) {
			f.t = t
			for _, do := range one.steps {
				do(f)
			}
			for _, fault := range f.complaints() {
				t.Error(fault)
			}
		})
		f.t = t
		if !ok {
			f.complaints()
		}
		t.Logf("%s: %v", one.name, time.Since(began).Round(time.Millisecond))
	}
	if len(f.secrets) < 5 {
		t.Errorf("%d secrets were shown", len(f.secrets))
	}
	log := logged()
	for _, secret := range f.secrets {
		if strings.Contains(log, secret) {
			t.Error("the log has a secret")
		}
	}
	findCanary(t, "the log", log, []string{canary, unreadable})
}
