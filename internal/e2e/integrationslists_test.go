package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"
)

const (
	longWorklist = 10_000 // rows
	longHooks    = 50     // webhooks: the maximum per hospital
	longHistory  = 500    // minimum number of deliveries to one endpoint
)

// TestIntegrationsLists fills the lists that can become long, and reads them page by page: each row appears once and in
// order.
func TestIntegrationsLists(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w, admin := strange(t, d, "north")
	v := b.window(t, d.BaseURL, windows[1])
	v.signIn(w.link(t, "admin"))
	hook := newFlowHook(t)
	for i := range longHooks {
		body := fmt.Sprintf(`{"url":"%s/%02d","events":["ping"]}`, hook.URL, i)
		if i == 0 {
			body = `{"url":"` + hook.URL + `/00","events":["room.rescored"],"ratePerSecond":500}`
		}
		if a, err := admin.do(http.MethodPost, "/api/admin/webhooks", "application/json", body); err != nil || a.status >= http.StatusBadRequest {
			t.Fatalf("webhook %d: %v %+v", i, err, a)
		}
	}
	const rooms, codesOfRoom = 50, longWorklist / 50
	w.accepted(t, "census", census(t, rooms, "labor-standard", "pp-couplet"))
	type signal struct {
		Kind    string `json:"kind"`
		System  string `json:"system"`
		Code    string `json:"code"`
		Display string `json:"display"`
	}
	for room := range rooms {
		signals := make([]signal, codesOfRoom)
		for i := range signals {
			signals[i] = signal{"observation", "local", fmt.Sprintf("X%05d", room*codesOfRoom+i), "a local code"}
		}
		body, err := json.Marshal(map[string]any{"roomId": room + 1, "signals": signals})
		if err != nil {
			t.Fatal(err)
		}
		w.accepted(t, "clinical", string(body))
	}
	for i := range 2 * longHistory / rooms {
		states := []string{"labor-standard", "pp-couplet"}
		w.accepted(t, "census", census(t, rooms, states[i%2], states[1-i%2]))
	}

	// The worklist also contains the unmapped codes that the function strange sent for this hospital.
	open := func(what, path string) {
		began := time.Now()
		v.wants(integrations+path, http.StatusOK)
		t.Logf("%s: %v, of these %.0f ms until the page was there", what, time.Since(began).Round(time.Millisecond),
			ask[float64](v, `performance.getEntriesByType("navigation")[0].responseEnd`))
	}
	eventually(t, 20*time.Second, func() error {
		if n := admin.worklist(t, "?status=unmapped&limit=1").Total; n < longWorklist {
			return fmt.Errorf("%d rows", n)
		}
		return nil
	})
	all := admin.worklist(t, "?status=unmapped&limit=1").Total
	pages := (all + 49) / 50
	open("worklist, first", "/terminology")
	open("worklist, middle", "/terminology?page="+strconv.Itoa(pages/2))
	open("worklist, last", "/terminology?page="+strconv.Itoa(pages))
	open("worklist, one code", "/terminology?code=X07777")
	open("one code", "/terminology/code?system=local&code=X07777&kind=observation")
	open("feeds", "/feeds")
	row := regexp.MustCompile(`<code translate="no">(\w+)</code></a>.*?<td class="n">\d+</td><td class="n">(\d+)</td>`)
	seen, last := map[string]bool{}, 1<<30
	for page := range pages {
		var r struct {
			Status int
			Body   string
		}
		// Opening 200 pages at once may exceed a session's rate limit, and on a busy machine the unit's data may be
		// stale.
		eventually(t, time.Minute, func() error {
			v.do("fetch", map[string]any{"url": d.BaseURL + integrations + "/terminology?page=" + strconv.Itoa(page+1), "method": "GET"}, &r)
			if r.Status != http.StatusOK {
				return fmt.Errorf("page %d: %d", page+1, r.Status)
			}
			return nil
		})
		for _, m := range row.FindAllStringSubmatch(r.Body, -1) {
			n, err := strconv.Atoi(m[2])
			if err != nil || n > last || seen[m[1]] {
				t.Fatalf("page %d: %s, seen %d times, after one of %d", page+1, m[1], n, last)
			}
			seen[m[1]], last = true, n
		}
	}
	if len(seen) != all {
		t.Errorf("%d of %d codes are on the pages", len(seen), all)
	}

	open("webhooks", "/webhooks")
	if n := ask[int](v, `document.querySelectorAll("a.long").length`); n != longHooks {
		t.Errorf("%d webhooks are shown", n)
	}
	open("audit", "/audit")

	// Page through the deliveries to one endpoint by following the links on its page.
	id := hookIDOf(t, admin, hook.URL+"/00")
	eventually(t, time.Minute, func() error {
		if n := hook.count("/00"); n < longHistory*3/2 {
			return fmt.Errorf("%d deliveries have come", n)
		}
		return nil
	})
	open("deliveries, first", "/webhooks/"+id)
	delivery := regexp.MustCompile(`/deliveries/(dlv_\w+)"`)
	found := map[string]bool{}
	for page := 1; ; page++ {
		for _, m := range delivery.FindAllStringSubmatch(v.content(), -1) {
			if found[m[1]] {
				t.Fatalf("page %d of the deliveries repeats one", page)
			}
			found[m[1]] = true
		}
		if !ask[bool](v, `document.querySelector("a[rel=next]") !== null`) {
			t.Logf("deliveries: %d on %d pages", len(found), page)
			break
		}
		open("deliveries, next", ask[string](v, `document.querySelector("a[rel=next]").getAttribute("href")`)[len(integrations):])
	}
	if len(found) < longHistory {
		t.Errorf("%d deliveries are listed", len(found))
	}
	open("deliveries, filtered", "/webhooks/"+id+"?state=delivered")
	for _, fault := range v.complaints() {
		t.Error(fault)
	}
}

// hookIDOf returns the id of the webhook with an address.
func hookIDOf(t *testing.T, admin *partner, url string) string {
	t.Helper()
	var list struct{ Webhooks []struct{ ID, URL string } }
	into(t, admin.get(t, "/api/admin/webhooks").Data, &list)
	for _, h := range list.Webhooks {
		if h.URL == url {
			return h.ID
		}
	}
	t.Fatal("no webhook has that address")
	return ""
}
