package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPagesInUse tests less common uses of the pages: people arrange the floor plan, stay longer than a session lasts,
// print, zoom, and choose their own colors.
func TestPagesInUse(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Mercy")
	w.sendEvents(t, simulatedEvents(t, 1, 3))
	w.accepted(t, "census", census(t, 16, "labor-standard+high-eclampsia", "csection-intraop", "pp-couplet", "triage-initial", "blocked", "empty"))
	w.accepted(t, "staffing", staffing(5, true))
	w.predicted(t, time.Minute)
	v := b.window(t, d.BaseURL, windows[1])
	v.signIn(w.link(t, "charge"))
	steps := []struct {
		name string
		try  func(*testing.T, *ward, *view)
	}{
		{"figures", showsNow},
		{"zoom", zooms},
		{"forced colours", keepsShapes},
		{"stale feed", marksStale},
		{"print", prints},
		{"first paint", paints},
		{"drawn", isDrawn},
		{"forms", keepsForms},
		{"stay", stays}, // last, because the session ends
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			v := *v
			v.t = t
			v.look(windows[1])
			step.try(t, w, &v)
			for _, fault := range v.complaints() {
				t.Error(fault)
			}
		})
	}
}

// TestPagesRefuseTries inspects the page that someone sees after too many tries of sign-in links.
func TestPagesRefuseTries(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	s := startEmbedded(t, func(string) string { return "" }) // svc dev has no such limit
	v := b.window(t, s.base, windows[1])
	path := "/signin/" + strings.Repeat("0", 64)
	eventually(t, time.Minute, func() error {
		for range 700 { // more than an address may try at once
			answer, err := http.Get(s.base + path)
			if err != nil {
				return err
			}
			answer.Body.Close()
			if answer.StatusCode == http.StatusTooManyRequests {
				break
			}
		}
		if status, _ := v.visit(path); status != http.StatusTooManyRequests {
			return fmt.Errorf("%s: %d", path, status)
		}
		return nil
	})
	v.complaints() // the browser reports each refused request
	v.inspect("open-too-many-tries")
}

// showsNow: on a phone, the trend and forecast charts are entirely visible, and the rooms to check precede the floor
// plan.
func showsNow(t *testing.T, _ *ward, v *view) {
	v.wants("/app/trends", http.StatusOK)
	v.look(windows[2])
	const outside = `[...document.querySelectorAll("figure .narrow")].filter(e => {
		const { left, right, width } = e.getBoundingClientRect();
		return width < 300 || left < 0 || right > innerWidth;
	}).length + [...document.querySelectorAll("figure .narrow")].filter(e => e.previousElementSibling.checkVisibility()).length`
	if n := ask[int](v, outside); n != 0 {
		t.Errorf("%d figures of the trends are not seen whole", n)
	}
	v.wants("/app", http.StatusOK)
	if n := ask[int](v, outside); n != 0 {
		t.Errorf("%d figures of the forecast are not seen whole", n)
	}
	if was := ask[int](v, `[...document.querySelectorAll("#outlook .was")].filter(e => e.checkVisibility()).length`); was != 1 {
		t.Errorf("%d lines of what was measured", was)
	}
	tops := ask[[]float64](v, `[".level h1", ".level .fig", "#look", "#rooms"].map(s => document.querySelector(s).getBoundingClientRect().top)`)
	if !slices.IsSorted(tops) || tops[2] > 844 {
		t.Errorf("level, figures, rooms to check and the plan begin at %v", tops)
	}
	v.shoot("use-figures-390-light")
}

// zooms reads every page at 400% zoom, at which a desktop window is 320 px wide and 200 px high.
func zooms(t *testing.T, _ *ward, v *view) {
	v.look(viewing{width: 320, height: 200})
	for _, path := range []string{"/app", "/board", "/app/rooms/1", "/app/trends", "/app/print", "/app/alerts"} {
		v.wants(path, http.StatusOK)
		var wide int
		if v.do("wide", nil, &wide); wide > 0 {
			t.Errorf("%s can be scrolled sideways by %d px", path, wide)
		}
		if covers := ask[bool](v, `[...document.querySelectorAll("body *")].some(e => ["fixed", "sticky"].includes(getComputedStyle(e).position) && e.getBoundingClientRect().height > 100)`); covers {
			t.Errorf("%s: something stays in sight that covers half of the window", path)
		}
		v.shoot("use-zoom" + strings.ReplaceAll(path, "/", "-"))
	}
}

// keepsShapes: with forced colors, rooms keep their borders, and shapes show the levels.
func keepsShapes(t *testing.T, _ *ward, v *view) {
	v.wants("/app", http.StatusOK)
	v.do("look", map[string]any{"width": 1280, "height": 800, "theme": "light", "forced": true}, nil)
	if !ask[bool](v, `matchMedia("(forced-colors: active)").matches`) {
		t.Fatal("colours are not forced")
	}
	bare := ask[[]string](v, `[...document.querySelectorAll("a.r")].filter(r => {
		const g = r.querySelector(".g");
		return getComputedStyle(r).borderStyle !== "solid" || !/empty|blocked/.test(r.className) && !(g?.getBoundingClientRect().width > 8);
	}).map(r => r.innerText)`)
	if pips := ask[int](v, `[...document.querySelectorAll(".pips i:not(.no)")].filter(i => getComputedStyle(i).borderStyle === "solid").length`); pips != 5 {
		t.Errorf("%d of 5 nurses on duty can be seen", pips)
	}
	if len(bare) > 0 {
		t.Errorf("rooms without an edge or a shape: %q", bare)
	}
	edges := ask[map[string]int](v, `Object.fromEntries([...document.querySelectorAll("a.r")].map(r => [
		r.className.match(/green|yellow|orange|red/)?.[0] ?? "none",
		parseInt(getComputedStyle(r).borderTopWidth) + parseInt(getComputedStyle(r, "::before").borderTopWidth || 0),
	]))`)
	if edges["red"] <= edges["green"] || edges["orange"] != 0 && (edges["orange"] <= edges["green"] || edges["orange"] <= edges["yellow"]) {
		t.Errorf("the edges of rooms, in pixels: %v; a worse level must have a wider one", edges)
	}
	v.shoot("use-forced-1280")
}

// marksStale: the mark on a silent feed is visible in both themes. The test sets the mark itself, because svc marks a
// feed only after a quarter of an hour.
func marksStale(t *testing.T, _ *ward, v *view) {
	v.wants("/app", http.StatusOK)
	v.do("eval", map[string]any{"code": `(() => {
		document.querySelector("#feeds").id = "silent"; // so that no update reaches the element
		document.querySelectorAll(".feeds b").forEach(b => { b.className = "late"; b.textContent = "16 min, STALE"; });
	})()`}, nil)
	if marked := ask[string](v, `getComputedStyle(document.querySelector(".feeds b")).backgroundImage`); !strings.Contains(marked, "repeating-linear-gradient") {
		t.Errorf("a silent feed is marked by %q", marked)
	}
	for _, as := range []viewing{windows[1], {width: 1280, height: 800, dark: true}, windows[2]} {
		v.look(as)
		var violations []string
		v.do("axe", map[string]any{"look": true}, &violations)
		var wide int
		if v.do("wide", nil, &wide); wide > 0 || len(violations) > 0 {
			t.Errorf("%d %s: %d px too wide, %q", as.width, as.theme(), wide, violations)
		}
		v.shoot(fmt.Sprintf("use-stale-%d-%s", as.width, as.theme()))
	}
}

// prints expects the downtime sheet of a typical unit to fit on one sheet of A4 or US Letter, without a split row.
func prints(t *testing.T, _ *ward, v *view) {
	v.wants("/app/print", http.StatusOK)
	for _, format := range []string{"A4", "Letter"} {
		var sheets int
		v.do("pdf", map[string]any{"path": filepath.Join(pictures(t), "use-print-"+format+".pdf"), "format": format}, &sheets)
		if sheets != 1 {
			t.Errorf("%s: %d sheets", format, sheets)
		}
	}
	v.do("media", map[string]any{"media": "print"}, nil)
	defer v.do("media", map[string]any{"media": "screen"}, nil)
	cut := ask[int](v, `[...document.querySelectorAll("tr, .rules")].filter(e => !getComputedStyle(e).breakInside.startsWith("avoid")).length`)
	if seen := ask[int](v, `[...document.querySelectorAll(".top, button, nav")].filter(e => e.offsetParent).length`); cut > 0 || seen > 0 {
		t.Errorf("%d rows may be cut, %d things to press are printed", cut, seen)
	}
	v.shoot("use-print-screen")
}

// paints logs the time to the first paint of a page.
func paints(t *testing.T, _ *ward, v *view) {
	for _, path := range []string{"/app", "/board"} {
		var took []float64
		for range 5 {
			v.wants(path, http.StatusOK)
			v.await(`performance.getEntriesByName("first-contentful-paint").length === 1`, 10*time.Second)
			took = append(took, ask[float64](v, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
		}
		slices.Sort(took)
		t.Logf("first paint of %s: p50 %.0f ms, slowest %.0f ms", path, took[len(took)/2], took[len(took)-1])
	}
}

// isDrawn: the floor plan is drawn according to the administrator's layout.
func isDrawn(t *testing.T, w *ward, v *view) {
	key := cli(t, w.env, append([]string{"keys", "mint", "--hospital", w.hospital, "--name", "plan", "--scopes", "admin"}, w.args...)...)
	admin := newPartner(w.base, w.hospital, key)
	eventually(t, 10*time.Second, func() error {
		a, err := admin.do(http.MethodPut, "/api/admin/layout", "application/json",
			`{"columns":4,"rows":2,"rooms":[{"roomId":2,"x":1,"y":1,"w":2},{"roomId":1,"x":4,"y":2}],"landmarks":[{"label":"Station","x":1,"y":2,"w":2}]}`)
		if err != nil || a.status != http.StatusOK {
			return fmt.Errorf("%w: %+v", err, a)
		}
		return nil
	})
	for _, path := range []string{"/app", "/board"} {
		v.wants(path, http.StatusOK)
		v.await(`!!document.querySelector(".plan.drawn") || (location.reload(), false)`, 10*time.Second)
		places := ask[map[string][2]float64](v, `Object.fromEntries([...document.querySelectorAll(".plan .r, .mark")].map(e => {
			const box = (e.closest("li") ?? e).getBoundingClientRect();
			return [(e.querySelector("b") ?? e).innerText.trim(), [box.x, box.y]];
		}))`)
		one, two, station := places["LDR 1"], places["LDR 2"], places["Station"]
		if one[0] <= two[0] || one[1] <= two[1] || station[0] != two[0] || station[1] != one[1] {
			t.Errorf("%s: drawn at %v", path, places)
		}
		v.shoot("use-drawn" + strings.ReplaceAll(path, "/", "-"))
	}
}

// keepsForms: text that a person types into a form is kept while the page follows the unit. A form
// with another purpose, such as that of the next alert, replaces the previous one.
func keepsForms(t *testing.T, _ *ward, v *view) {
	v.wants("/app", http.StatusOK)
	got := ask[[]string](v, `(() => {
		const form = () => document.querySelector("main form"), fresh = form().cloneNode(true), other = form().cloneNode(true);
		form().querySelector("input").value = "7";
		morph(form(), fresh);
		const kept = form().querySelector("input").value;
		other.setAttribute("action", "/other");
		morph(form(), other);
		return [kept, form().getAttribute("action"), form().querySelector("input").value];
	})()`)
	if want := []string{"7", "/other", "5"}; !slices.Equal(got, want) {
		t.Errorf("typed, path of the next form, typed there: %q, want %q", got, want)
	}
}

// stays: two minutes before a session ends, the page offers to keep the person signed in. If the person does not
// respond, the page is cleared.
func stays(t *testing.T, _ *ward, v *view) {
	v.wants("/app", http.StatusOK)
	v.await(`document.querySelector("#live")?.textContent === document.querySelector("#live")?.dataset.live`, 20*time.Second)
	left := func(seconds int) {
		v.do("eval", map[string]any{"code": fmt.Sprintf(`new BroadcastChannel(document.body.dataset.events).postMessage(["beat", '{"left":%d}'])`, seconds)}, nil)
	}
	v.do("eval", map[string]any{"code": `(() => {
		const asks = window.fetch;
		window.stayed = 0;
		window.fetch = (url, how) => { if (how?.headers?.["X-Stay"]) window.stayed++; return asks(url, how); };
		const Stream = window.EventSource;
		window.EventSource = class extends Stream {
			constructor(path) { super(path); this.addEventListener("beat", () => { window.reopened = true; }); }
		};
	})()`}, nil)
	left(100)
	v.await(`!document.querySelector("#warn").hidden`, 10*time.Second)
	v.shoot("use-warning")
	v.click("[data-do=stay]")
	v.await(`document.querySelector("#warn").hidden`, 10*time.Second)
	if n := ask[int](v, "window.stayed"); n != 1 {
		t.Errorf("the server was told %d times that its person stays", n)
	}
	v.await("window.reopened", 10*time.Second) // the stream's first heartbeat reports when the session actually ends
	left(1)
	v.await(`!document.querySelector(".r, .level, form")`, 10*time.Second)
	if text := ask[string](v, "document.body.innerText"); !strings.Contains(text, "Sign in") {
		t.Errorf("the page of a session that has ended says %q", text)
	}
	v.shoot("use-ended")
}
