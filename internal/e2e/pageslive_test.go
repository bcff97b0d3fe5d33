package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// watching is a script that records each level and number of nurses that a page shows, with the time.
const watching = `(() => {
	window.shown = [];
	const note = () => {
		const level = document.querySelector(".level, .slab");
		const duty = level?.querySelectorAll("dd")[1]?.textContent ?? "";
		const now = [level?.className ?? "", duty];
		const last = window.shown.at(-1);
		if (!last || last[0] !== now[0] || last[1] !== now[1]) window.shown.push([...now, Date.now()]);
	};
	note();
	new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
})()`

// shown is one state that a page has shown.
type shown struct {
	level, duty string
	at          time.Time
}

func (v *view) shown() (list []shown) {
	v.t.Helper()
	for _, raw := range ask[[][3]any](v, "window.shown") {
		level, isLevel := raw[0].(string)
		duty, isDuty := raw[1].(string)
		at, isTime := raw[2].(float64)
		if !isLevel || !isDuty || !isTime {
			v.t.Fatalf("the page has shown %v", raw)
		}
		list = append(list, shown{level, duty, time.UnixMilli(int64(at))})
	}
	return list
}

// TestPagesFollow changes a unit 200 times while its page and its wall display are open. Both were opened before the
// first record, and must show the unit without a reload. After the last change, both must show the right state, and a
// half-typed number must still be there. The test logs the time from a change to the screen.
func TestPagesFollow(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Mercy")
	unit, wall := b.window(t, d.BaseURL, windows[1]), b.window(t, d.BaseURL, windows[0])
	unit.signIn(w.link(t, "charge"))
	wall.openWall(w.wall(t))
	w.accepted(t, "census", census(t, 12, "labor-standard", "pp-couplet"))
	w.accepted(t, "staffing", staffing(300, true))
	for _, v := range []*view{unit, wall} {
		v.await("document.querySelectorAll('#level dd')[1]?.textContent === '300'", 40*time.Second)
		v.do("eval", map[string]any{"code": watching}, nil)
	}
	unit.do("fill", map[string]any{"selector": "input[name=nurses]", "text": "1"}, nil)
	sent := map[string]time.Time{}
	for i := range 200 {
		n := 301 + i
		sent[strconv.Itoa(n)] = time.Now()
		w.accepted(t, "staffing", staffing(n, true))
		if i%5 == 4 { // wait for some of the changes one by one
			wall.await(fmt.Sprintf("document.querySelectorAll('#level dd')[1].textContent === '%d'", n), 20*time.Second)
		}
	}
	for _, v := range []*view{unit, wall} {
		v.await("document.querySelectorAll('#level dd')[1].textContent === '500'", 20*time.Second)
		var took []time.Duration
		for _, s := range v.shown()[1:] {
			if at, ok := sent[s.duty]; ok {
				took = append(took, s.at.Sub(at))
			}
		}
		slices.Sort(took)
		if len(took) == 0 {
			t.Fatal("no change was seen")
		}
		t.Logf("POST to pixel: %d changes seen, p50 %v, p95 %v", len(took), took[len(took)/2], took[len(took)*95/100])
		for _, fault := range v.complaints() {
			t.Error(fault)
		}
	}
	if typed := ask[string](unit, `document.activeElement.name + "=" + document.activeElement.value`); typed != "nurses=1" {
		t.Errorf("after the changes the form has %q", typed)
	}
}

// wall creates a link for a wall display, and returns its path.
func (w *ward) wall(t testing.TB) string {
	t.Helper()
	key := cli(t, w.env, append([]string{"keys", "mint", "--hospital", w.hospital, "--name", "walls", "--scopes", "admin"}, w.args...)...)
	admin := newPartner(w.base, w.hospital, key)
	var made struct{ URL string }
	eventually(t, 10*time.Second, func() error {
		a, err := admin.do(http.MethodPost, "/api/admin/walls", "application/json", `{"label":"station"}`)
		if err != nil || a.status != http.StatusOK {
			return fmt.Errorf("%w: %+v", err, a)
		}
		return json.Unmarshal(a.Data, &made)
	})
	return made.URL[strings.Index(made.URL, "/board/"):]
}

// TestWallShowsNoPatientData opens a wall display of a unit with all kinds of patients. The display must not show
// patient data, and its cookie must not open other pages.
func TestWallShowsNoPatientData(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Mercy")
	w.accepted(t, "census", census(t, 12, "labor-standard+high-eclampsia", "pp-couplet+high-bereavement", "pp-couplet+high-substance-abuse-hx", "csection-intraop"))
	w.accepted(t, "staffing", staffing(5, false))
	v := b.window(t, d.BaseURL, windows[0])
	v.openWall(w.wall(t))
	if at := v.loaded(); at != "/board" {
		t.Errorf("the link of the wall has led to %s, and stays in the history", at)
	}
	v.await(`document.querySelector("#live")?.textContent === document.querySelector("#live")?.dataset.live`, 20*time.Second)
	html := v.content()
	for _, never := range []string{canary, "clampsia", "reavement", "ubstance", "esarean", "high-", "pp-couplet", "csection", "oupl"} {
		if strings.Contains(html, never) {
			t.Errorf("the wall says %q", never)
		}
	}
	if n := ask[int](v, `document.querySelectorAll("a, form, button, input").length`); n != 0 {
		t.Errorf("the wall has %d things to press", n)
	}
	for _, path := range []string{"/app", "/app/rooms/1", "/app/trends", "/app/trends.csv", "/app/print", "/app/events", "/app/units"} {
		var r struct {
			Status int
			URL    string
			Body   string
		}
		v.do("fetch", map[string]any{"url": d.BaseURL + path, "method": "GET"}, &r)
		if r.Status == http.StatusOK || strings.Contains(r.Body, "LDR") {
			t.Errorf("the cookie of a wall opens %s: %d", path, r.Status)
		}
	}
}

// TestPagesSurvive empties Redis and kills svc while the page and the wall display of a red unit are open. A page
// without fresh data must say so, recover soon after svc is back, and never show green.
func TestPagesSurvive(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	dir := t.TempDir()
	d := startDev(t, dir)
	w := d.ward(t, "mercy", "Mercy")
	w.accepted(t, "census", census(t, 12, "labor-standard+high-eclampsia", "labor-standard"))
	w.accepted(t, "staffing", staffing(3, false))
	v, wall := b.window(t, d.BaseURL, windows[1]), b.window(t, d.BaseURL, windows[0])
	v.signIn(w.link(t, "charge"))
	wall.openWall(w.wall(t))
	both := []*view{v, wall}
	for _, one := range both {
		one.await(`document.querySelector("#live")?.textContent === document.querySelector("#live")?.dataset.live`, 20*time.Second)
		one.do("eval", map[string]any{"code": watching}, nil)
	}
	client := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(d.Redis, "redis://")})
	defer client.Close()
	if err := client.FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	w.accepted(t, "staffing", staffing(4, false))
	for _, one := range both {
		one.await(`document.querySelectorAll("#level dd")[1]?.textContent === "4"`, 30*time.Second)
	}

	killed := time.Now()
	d.kill()
	for _, one := range both {
		one.await(`document.body.dataset.lost === "lost"`, 20*time.Second-time.Since(killed))
		t.Logf("the loss is said %v after it", time.Since(killed))
	}
	d = restartDev(t, dir, strings.TrimPrefix(d.BaseURL, "http://"))
	back := time.Now()
	for _, one := range both {
		one.await(`!document.body.dataset.lost`, 30*time.Second)
		t.Logf("right again %v after the return", time.Since(back))
	}
	w.partner = newPartner(d.BaseURL, w.hospital, w.key)
	w.accepted(t, "staffing", staffing(5, false))
	for _, one := range both {
		one.await(`document.querySelectorAll("#level dd")[1]?.textContent === "5"`, 30*time.Second)
		for _, s := range one.shown() {
			if strings.Contains(s.level, "green") {
				t.Errorf("a page of a red unit was %q at %v", s.level, s.at)
			}
		}
	}
}

// TestPagesRefuse: an invalid request gets a page that explains what to do, and changes nothing.
func TestPagesRefuse(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Mercy")
	w.accepted(t, "census", census(t, 6, "labor-standard"))
	w.accepted(t, "staffing", staffing(6, true))
	link := w.link(t, "charge")
	v, other := b.window(t, d.BaseURL, windows[1]), b.window(t, d.BaseURL, windows[1])
	v.signIn(link)
	other.wants(link, http.StatusGone) // the link has already been used
	if other.wants("/app", http.StatusOK); other.loaded() != "/" {
		t.Error("a link that was used has opened the unit")
	}
	v.do("eval", map[string]any{"code": `document.querySelector("input[name=nurses]").removeAttribute("pattern")`}, nil)
	v.do("fill", map[string]any{"selector": "input[name=nurses]", "text": "many"}, nil)
	v.click("form[action='/app/staffing'] button")
	v.await(`document.querySelector("[role=alert]#bad")`, 10*time.Second)
	if text := ask[string](v, "document.querySelector('#bad').innerText"); text == "" || !strings.HasPrefix(ask[string](v, `document.querySelector("input[name=nurses]").value`), "man") {
		t.Errorf("letters for nurses are answered by %q, and what was typed is gone", text)
	}
	var state struct{ NursesOnDuty int }
	if into(t, w.get(t, "/api/v1/unit-state").Data, &state); state.NursesOnDuty != 6 {
		t.Errorf("%d nurses on duty now", state.NursesOnDuty)
	}
	v.do("tamper", nil, nil)
	if v.wants("/app", http.StatusOK); v.loaded() != "/" {
		t.Error("a tampered cookie opens the unit")
	}
}
