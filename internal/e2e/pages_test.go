package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPages inspects the pages of hospitals in different states, in the window sizes and themes that looks returns.
// The browser must report no error, axe must find no fault, and no page may load anything from other servers or show
// patient data.
func TestPages(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	all := wards(t, d)
	paths := map[string][]string{
		"fresh": {"/app", "/board", "/app/trends", "/app/print"},
		"busy":  {"/app", "/board", "/app/rooms/1", "/app/rooms/8", "/app/trends", "/app/print", "/app/alerts"},
		"past":  {"/app", "/board", "/app/trends", "/app/trends?days=7", "/app/trends?days=28"},
	}
	for name, w := range all {
		if paths[name] == nil {
			paths[name] = []string{"/app", "/board"}
		}
		v := b.window(t, d.BaseURL, windows[0])
		v.signIn(w.link(t, "charge"))
		for _, path := range paths[name] {
			t.Run(name+path, func(t *testing.T) {
				v := *v
				v.t = t
				v.wants(path, http.StatusOK)
				v.inspect(name + strings.NewReplacer("/", "-", "?", "-", "=", "").Replace(path))
			})
		}
	}
	if *updatePictures {
		keepPictures(t)
	}
	v := b.window(t, d.BaseURL, windows[0])
	for path, status := range map[string]int{"/": http.StatusOK, "/signin/" + strings.Repeat("0", 64): http.StatusNotFound} {
		v.wants(path, status)
		v.complaints() // drops the console message about the 404
		v.inspect("out" + strings.ReplaceAll(path[:min(len(path), 7)], "/", "-"))
	}
	cli(t, nil, "webhooks", "add", d.BaseURL+"/dev/hook", "--data", d.dir)
	charge := cli(t, nil, "alerts", "add", "--label", "Charge nurse", "--email", "charge@hospital.example", "--data", d.dir)
	cli(t, nil, "alerts", "set-tier", "T3", "--recipients", strings.TrimSpace(charge), "--channels", "email", "--data", d.dir)
	demo := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	demo.accepted(t, "census", census(t, 4, "labor-standard", "csection-intraop"))
	demo.accepted(t, "staffing", staffing(0, false)) // causes an event for the page of received webhooks, and an alert
	for path, part := range map[string]string{"/dev/hook.json": "surge.level_changed", "/dev/outbox.json": "charge@hospital.example"} {
		eventually(t, time.Minute, func() error {
			if a := demo.get(t, path); !strings.Contains(string(a.raw), part) {
				return fmt.Errorf("%s: %s", path, a.raw)
			}
			return nil
		})
	}
	for path, status := range map[string]int{"/docs": http.StatusOK, "/dev/hook": http.StatusOK, "/dev/outbox": http.StatusOK, "/a/0123": http.StatusNotFound} {
		if got, _ := v.visit(path); got != status && got != http.StatusGone {
			t.Errorf("%s: %d", path, got)
		}
		v.complaints()
		v.inspect("open" + strings.ReplaceAll(path, "/", "-"))
	}
	v.look(windows[2])
	for _, path := range []string{"/dev/hook", "/dev/outbox"} {
		v.wants(path, http.StatusOK)
		cells := ask[int](v, `document.querySelectorAll("td").length`)
		if narrow := ask[[]string](v, narrowCells); cells == 0 || len(narrow) > 0 {
			t.Errorf("%s: a phone shows %d cells, and words wider than their column: %q", path, cells, narrow)
		}
	}
	v.signIn(all["calm"].link(t, "viewer"))
	v.wants("/app/rooms/999", http.StatusNotFound)
	v.complaints()
	v.inspect("calm-no-room")
}

// narrowCells is a script that returns the text of each table cell whose longest word is wider than the cell.
const narrowCells = `[...document.querySelectorAll("td")].filter(e => {
	const probe = document.createElement("span");
	probe.style.display = "inline-block";
	probe.style.whiteSpace = "nowrap";
	probe.textContent = e.innerText.split(/\s+/).reduce((a, b) => a.length < b.length ? b : a, "").slice(0, 24);
	e.append(probe);
	const wide = probe.getBoundingClientRect().width > e.clientWidth;
	probe.remove();
	return wide;
}).map(e => e.innerText.slice(0, 40))`

var updatePictures = flag.Bool("update-pictures", false, "copy the pictures of the README from this run")

// keepPictures copies the screenshots that the README shows.
func keepPictures(t *testing.T) {
	t.Helper()
	for name, as := range map[string]string{"busy-app-1280-light.png": "unit.png", "busy-board-1280-light.png": "board.png"} {
		picture, err := os.ReadFile(filepath.Join(pictures(t), name))
		if err == nil {
			err = os.WriteFile(filepath.Join("../../docs", as), picture, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// checkedLook is a window size and theme in which inspect checks a page.
type checkedLook struct {
	viewing
	rules string // rules of axe to apply, in the driver's words
}

// looks returns the window sizes and themes in which inspect checks a page: each size in the light theme, and one
// size in the dark theme, which depends on the name of the page. With SVC_LOOKS=all, it returns each size in both
// themes. A translated page is checked only in the sizes of a desktop and a phone, because it differs from the
// English page only in the length of its text.
//
// axe applies all its rules in the widest window. In the others, it judges only what may have another result there;
// with SVC_LOOKS=all, all elements again.
func (v *view) looks(name string) (all []checkedLook) {
	every := os.Getenv("SVC_LOOKS") == "all"
	for i, as := range windows {
		if v.translated && !every && i == 0 {
			continue
		}
		for _, as.dark = range []bool{false, true} {
			rules := "undecided"
			switch {
			case every && (as.dark || i == 1):
				rules = "look"
			case every || i == 0 && !as.dark:
				rules = "all"
			case i == len(windows)-1 && !as.dark:
				rules = "changed"
			}
			if !as.dark || every || !v.translated && i == len(name)%len(windows) {
				all = append(all, checkedLook{as, rules})
			}
		}
	}
	return all
}

// inspect checks the current page, in several window sizes and themes, against the rules for all pages.
func (v *view) inspect(name string) {
	v.t.Helper()
	for _, as := range v.looks(name) {
		v.look(as.viewing)
		where := fmt.Sprintf("%s %d %s", name, as.width, as.theme())
		var found struct {
			Violations, Misplaced []string
			Wide                  int
		}
		// The layout does not depend on the theme.
		v.do("inspect", map[string]any{"rules": as.rules, "placed": !as.dark}, &found)
		for _, fault := range append(found.Violations, found.Misplaced...) {
			v.t.Errorf("%s: %s", where, fault)
		}
		if found.Wide > 0 {
			v.t.Errorf("%s: can be scrolled sideways by %d px", where, found.Wide)
		}
		if !as.dark {
			for _, text := range ask[[]string](v, crampedLabels) {
				v.t.Errorf("%s: %s", where, text)
			}
		}
		if !v.quick {
			v.shoot(strings.ReplaceAll(where, " ", "-"))
		}
	}
	for _, fault := range v.complaints() {
		v.t.Errorf("%s: %s", name, fault)
	}
	html := ask[string](v, "document.documentElement.outerHTML")
	if strings.Contains(html, canary) {
		v.t.Errorf("%s: shows the number of a visit", name)
	}
	if keys := bareKeys.FindAllString(html, 3); keys != nil {
		v.t.Errorf("%s: texts are missing: %s", name, keys)
	}
}

// bareKeys matches the placeholder that a page shows for a missing translation.
var bareKeys = regexp.MustCompile(`\[[a-z]+(\.[a-z0-9-]+)*\]`)

// TestPagesInSpanish reads the pages in Spanish. No translation is missing, and none is too long for a phone.
func TestPagesInSpanish(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Hospital de la Misericordia")
	w.accepted(t, "census", census(t, 12, "labor-standard+high-eclampsia", "pp-couplet", "csection-intraop", "triage-initial", "empty", "blocked"))
	w.accepted(t, "staffing", staffing(3, false))
	as := windows[2]
	as.language = "es-MX"
	v := b.window(t, d.BaseURL, as)
	v.wants("/", http.StatusOK)
	v.signIn(w.link(t, "charge"))
	for _, path := range []string{"/app", "/board", "/app/rooms/1", "/app/trends", "/app/print", "/app/alerts"} {
		v.wants(path, http.StatusOK)
		v.inspect("es" + strings.ReplaceAll(path, "/", "-"))
		if lang := ask[string](v, "document.documentElement.lang"); lang != "es" {
			t.Errorf("%s speaks %q", path, lang)
		}
	}
	v.look(windows[2])
	v.wants("/app/print", http.StatusOK)
	english := b.window(t, d.BaseURL, windows[2])
	english.signIn(w.link(t, "charge"))
	const header = `document.querySelector("header.top").getBoundingClientRect().height`
	for _, path := range []string{"/app", "/app/print"} {
		v.wants(path, http.StatusOK)
		english.wants(path, http.StatusOK)
		for _, one := range []*view{v, english} {
			one.await(`(live => !live || live.textContent === live.dataset.live)(document.querySelector("#live"))`, 20*time.Second)
		}
		if es, en := ask[float64](v, header), ask[float64](english, header); es > en+1 || en > 150 {
			t.Errorf("%s: the header is %v px high in Spanish, %v px in English", path, es, en)
		}
	}
	for _, label := range ask[[]string](v, narrowLabels) {
		t.Errorf("the sheet breaks the label %s", label)
	}
	v.signIn(w.link(t, "admin"))
	for _, section := range []string{"keys", "alerts", "users", "audit"} {
		v.wants("/app/integrations/"+section, http.StatusOK)
		if cut := ask[[]string](v, cutLinks); len(cut) > 0 {
			t.Errorf("%s: the navigation cuts %q", section, cut)
		}
	}
}

// narrowLabels is a script that returns the room labels in the sheet that occupy more lines than they have words.
const narrowLabels = `[...document.querySelectorAll(".sheet tbody th")].filter(e => {
	const range = document.createRange(); range.selectNodeContents(e);
	return new Set([...range.getClientRects()].map(r => r.top)).size > e.textContent.split(" ").length;
}).map(e => e.textContent)`

// cutLinks is a script that returns the navigation links that extend beyond the window or beyond their box.
const cutLinks = `[...document.querySelectorAll("nav a")].filter(e => {
	const at = e.getBoundingClientRect(), box = e.closest("nav").getBoundingClientRect();
	return at.left < box.left - 1 || at.right > Math.min(innerWidth, box.right) + 1;
}).map(e => e.innerText)`

// TestPagesWithoutScript: without JavaScript, pages can be read and forms work.
func TestPagesWithoutScript(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Mercy")
	w.accepted(t, "census", census(t, 6, "labor-standard", "pp-couplet"))
	v := b.window(t, d.BaseURL, viewing{width: 1280, height: 800, noScript: true})
	v.signIn(w.link(t, "charge"))
	for _, want := range []string{`href="/app/rooms/1"`, "LDR 1", "<noscript"} {
		if !strings.Contains(v.content(), want) {
			t.Errorf("the unit lacks %s", want)
		}
	}
	v.wants("/app/rooms/1", http.StatusOK)
	v.wants("/app", http.StatusOK)
	v.do("fill", map[string]any{"selector": "input[name=nurses]", "text": "7"}, nil)
	v.click("form[action='/app/staffing'] button")
	v.loaded()
	var state struct{ NursesOnDuty int }
	eventually(t, 10*time.Second, func() error {
		if into(t, w.get(t, "/api/v1/unit-state").Data, &state); state.NursesOnDuty != 7 {
			return fmt.Errorf("%d nurses on duty", state.NursesOnDuty)
		}
		return nil
	})
	for _, fault := range v.complaints() {
		t.Error(fault)
	}
}

// TestPagesByKeyboard signs in, opens a room, and sets the nurses on duty without a mouse.
func TestPagesByKeyboard(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Mercy")
	w.accepted(t, "census", census(t, 6, "labor-standard", "pp-couplet"))
	v := b.window(t, d.BaseURL, windows[1])
	v.wants(w.link(t, "charge"), http.StatusOK)
	v.tabTo("main form button")
	v.press("Enter")
	v.await(`location.pathname === "/app"`, 10*time.Second)
	v.press("Tab")
	if first := ask[string](v, `document.activeElement.getAttribute("href")`); first != "#main" {
		t.Errorf("the first thing that Tab reaches is %q, no way past the navigation", first)
	}
	v.tabTo("a[href='/app/rooms/1']")
	if width := ask[float64](v, `parseFloat(getComputedStyle(document.activeElement).outlineWidth)`); width < 3 {
		t.Errorf("the focus is %v px wide", width)
	}
	v.press("ArrowRight")
	if at := ask[string](v, `document.activeElement.getAttribute("href")`); at == "/app/rooms/1" || !strings.HasPrefix(at, "/app/rooms/") {
		t.Errorf("an arrow leads from room 1 to %q", at)
	}
	v.press("Enter")
	v.await(`location.pathname.startsWith("/app/rooms/")`, 10*time.Second)
	v.wants("/app", http.StatusOK)
	v.tabTo("input[name=nurses]")
	v.do("type", map[string]any{"text": "7"}, nil)
	v.press("Enter")
	var state struct{ NursesOnDuty *int }
	eventually(t, 10*time.Second, func() error {
		if into(t, w.get(t, "/api/v1/unit-state").Data, &state); state.NursesOnDuty == nil || *state.NursesOnDuty != 7 {
			return fmt.Errorf("nobody set the nurses on duty")
		}
		return nil
	})
}

// tabTo presses Tab until an element has the focus.
func (v *view) tabTo(selector string) {
	v.t.Helper()
	for range 80 {
		v.press("Tab")
		if ask[bool](v, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	v.t.Fatalf("Tab never reaches %s", selector)
}
