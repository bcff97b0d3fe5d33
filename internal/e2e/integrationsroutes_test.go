package e2e

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/readapi/web"
)

// routesOfPages returns the routes of the administrator pages below /app/integrations in the
// router's notation, such as "GET /keys/{id}/rotate".
func routesOfPages(t *testing.T) (all []string) {
	t.Helper()
	router := chi.NewRouter()
	var config web.Config
	config.Log, config.Now = slog.New(slog.DiscardHandler), time.Now
	web.Mount(router, config)
	err := chi.Walk(router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if rest, below := strings.CutPrefix(pattern, integrations); below {
			all = append(all, method+" "+rest)
		}
		return nil
	})
	if err != nil || len(all) < 60 {
		t.Fatalf("%d routes, %v", len(all), err)
	}
	slices.Sort(all)
	return all
}

// idsOfAll maps routes to ids that exist in every hospital.
var idsOfAll = map[string]string{"/alerts/tiers/{id}": "T3", "/rules/{id}": "labor-standard"}

// TestIntegrationsRoutes opens each administrator page that the router has, in both languages. axe must find no fault
// in any window size and theme that inspect checks. For the administrator of another hospital, each route with an id
// returns 404 and has no effect.
func TestIntegrationsRoutes(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w, admin := strange(t, d, "north")
	v := b.window(t, d.BaseURL, windows[1])
	v.signIn(w.link(t, "admin"))
	spanish := windows[1]
	spanish.language = "es-MX"
	es := b.window(t, d.BaseURL, spanish)
	es.signIn(w.link(t, "admin"))
	ids := furnishIntegrations(t, d, w, admin)
	other := b.window(t, d.BaseURL, windows[1])
	other.signIn(d.ward(t, "south", "South").link(t, "admin"))

	var pages, acts []string
	wide := 0
	for _, route := range routesOfPages(t) {
		method, path, _ := strings.Cut(route, " ")
		if route == "GET /terminology/code" {
			path += "?system=local&code=QBL&kind=lab" // the route names a code, which has no id
		}
		foreign := false
		for prefix, id := range idsOfAll {
			path = strings.Replace(path, prefix, strings.Replace(prefix, "{id}", id, 1), 1)
		}
		for prefix, id := range ids {
			if filled := strings.Replace(path, prefix, prefix[:strings.LastIndex(prefix, "{")]+id, 1); filled != path {
				path, foreign = filled, true
			}
		}
		if strings.Contains(path, "{") {
			t.Errorf("%s: nothing is known that it names", route)
			continue
		}
		switch {
		case foreign && method == http.MethodPost:
			acts = append(acts, path)
		case foreign:
			pages = append(pages, path)
		}
		if method == http.MethodGet && !strings.HasSuffix(path, ".csv") {
			t.Run("page"+path, func(t *testing.T) {
				for language, v := range map[string]view{"en": *v, "es": *es} {
					v.t, v.quick, v.translated = t, true, language == "es"
					v.wants(integrations+path, http.StatusOK)
					name := "page-" + language + strings.NewReplacer("/", "-", "?", "-").Replace(path)
					v.inspect(name)
					wide += v.checkScrollers(name)
				}
			})
		}
	}
	pages = append(pages, "/terminology/locations/row?id="+ids["/terminology/locations/row/{id}"])
	status := func(v *view, method, path string) (status int) {
		var r struct{ Status int }
		v.do("fetch", map[string]any{"url": d.BaseURL + integrations + path, "method": method, "headers": map[string]string{"Sec-Fetch-Site": "same-origin"}}, &r)
		return r.Status
	}
	for _, path := range pages {
		if got := status(other, http.MethodGet, path); got != http.StatusNotFound {
			t.Errorf("GET %s is %d to another hospital", path, got)
		}
	}
	before := len(admin.audited(t))
	for _, path := range acts {
		if got := status(other, http.MethodPost, path); got != http.StatusNotFound {
			t.Errorf("POST %s is %d to another hospital", path, got)
		}
	}
	for _, path := range pages { // the objects must still exist
		if got := status(v, http.MethodGet, path); got != http.StatusOK {
			t.Errorf("GET %s is %d", path, got)
		}
	}
	if after := len(admin.audited(t)); after != before {
		t.Errorf("%d acts are on record, %d were", after, before)
	}
	if wide < 20 {
		t.Errorf("only %d tables are wider than a phone", wide)
	}
	if len(pages) < 12 || len(acts) < 15 {
		t.Errorf("%d pages, %d acts", len(pages), len(acts))
	}
}

func (p *partner) audited(t *testing.T) []struct{ Action string } {
	t.Helper()
	var audit struct{ Items []struct{ Action string } }
	into(t, p.get(t, "/api/admin/audit?limit=200").Data, &audit)
	return audit.Items
}

// furnishIntegrations creates one of every object that the administrator pages show. It returns the ids of the
// objects, each under the part of a route that ends in the id, such as /webhooks/{id}.
func furnishIntegrations(t *testing.T, d *dev, w *ward, admin *partner) map[string]string {
	t.Helper()
	hook := newFlowHook(t)
	var made struct {
		ID, CommandID, DeliveryID string
		Done                      bool
		Mappings                  []struct{ ID string }
		Keys, Users               []struct{ ID string }
		Items                     []struct{ ID string }
		Feeds                     []struct{ Source string }
	}
	ask := func(method, path, body string) {
		t.Helper()
		made.Mappings, made.Keys, made.Users, made.Items, made.Feeds = nil, nil, nil, nil, nil
		a, err := admin.do(method, path, "application/json", body)
		if err != nil || a.status != http.StatusOK && a.status != http.StatusCreated && a.status != http.StatusAccepted {
			t.Fatalf("%s %s: %v %+v", method, path, err, a)
		}
		into(t, a.Data, &made)
	}
	listed := func(path string) string {
		t.Helper()
		eventually(t, 20*time.Second, func() error {
			if ask(http.MethodGet, path, ""); len(made.Items) == 0 {
				return fmt.Errorf("%s is empty", path)
			}
			return nil
		})
		return made.Items[0].ID
	}
	ids := map[string]string{}
	ask(http.MethodPost, "/api/admin/webhooks", `{"url":"`+hook.URL+`/north"}`)
	ids["/webhooks/{id}"] = made.ID
	ask(http.MethodPost, "/api/admin/webhooks/"+made.ID+"/test", `{"event":"ping"}`)
	ids["/commands/{command}"] = made.CommandID
	ids["/deliveries/{delivery}"] = listed("/api/admin/webhooks/" + ids["/webhooks/{id}"] + "/deliveries")
	ask(http.MethodPost, "/api/admin/alerts/recipients", `{"label":"Charge nurse","email":"charge@north.example"}`)
	ids["/alerts/recipients/{id}"] = made.ID
	ask(http.MethodPut, "/api/admin/alerts/tiers/T3", `{"recipients":["`+made.ID+`"],"channels":["email"]}`)
	ask(http.MethodPost, "/api/admin/alerts/test", `{"recipientId":"`+ids["/alerts/recipients/{id}"]+`","channel":"email"}`)
	ids["/alerts/tests/{id}"] = made.CommandID
	w.accepted(t, "staffing", staffing(0, false))
	ids["/alerts/episodes/{id}"] = listed("/api/admin/alerts/episodes")
	writeDeadLetter(t, d.Kafka, "", w.hospital)
	ids["/feeds/letters/{id}"] = listed("/api/admin/dead-letters")
	eventually(t, 20*time.Second, func() error { // feeds are counted once a second
		into(t, w.get(t, "/api/ingest/status").Data, &made)
		for _, feed := range made.Feeds {
			ids["/feeds/sources/{id}"] = feed.Source
			return nil
		}
		return errors.New("no feed is counted")
	})
	ask(http.MethodPost, "/api/admin/terminology", `{"mappings":[{"system":"local","code":"HIGH_MAG","factorId":"high-mag"}]}`)
	ids["/terminology/map/{id}"] = made.Mappings[0].ID
	ask(http.MethodPost, "/api/admin/locations", `{"pointOfCare":"BIRTHCENTER","room":"B9","roomId":9}`)
	ids["/terminology/locations/row/{id}"] = made.ID
	ask(http.MethodPut, "/api/admin/rules/labor-standard", `{"values":{"demand":"2"}}`)
	ask(http.MethodPost, "/api/admin/walls", `{"label":"Station 4"}`)
	ids["/walls/{id}"] = made.ID
	ask(http.MethodGet, "/api/admin/keys", "")
	ids["/keys/{id}"] = made.Keys[0].ID
	ask(http.MethodGet, "/api/admin/users", "")
	ids["/users/{id}"] = made.Users[0].ID
	ask(http.MethodPost, "/api/admin/users", `{"label":"night desk","role":"viewer"}`)
	ids["/users/invitations/{id}"] = made.ID
	return ids
}
