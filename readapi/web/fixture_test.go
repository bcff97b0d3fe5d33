package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/admin/users"
	"svc/readapi"
	"svc/readapi/web/page"
	"svc/readapi/web/page/pagetest"
)

var noon = pagetest.Noon

// fakeUnits provides hospitals with one room each; the room's label identifies the hospital.
type fakeUnits struct{ err error }

func (f *fakeUnits) Unit(_ context.Context, hospital string) (*readapi.Unit, error) {
	if f.err != nil {
		return nil, f.err
	}
	v := &score.Verdict{
		AsOf: acuity.At(noon), OnDuty: 3,
		Rooms: []score.RoomVerdict{{ID: 4, Label: "canary of " + hospital, Area: "L&D", Status: acuity.RoomEmpty}},
	}
	for i := range v.Axes {
		v.Axes[i].Known = true
	}
	return &readapi.Unit{Version: "1.1", Verdict: v, At: noon}, nil
}

// Room implements [Reads].
func (f *fakeUnits) Room(context.Context, string, int32, time.Duration) (*readapi.RoomAhead, error) {
	return nil, f.err
}

// pages are the pages of two hospitals, mounted as in the real process.
type pages struct {
	*pagetest.Pages

	units  *fakeUnits
	links  *pagetest.Links
	config Config
}

func newPages(t *testing.T) *pages {
	t.Helper()
	p := &pages{Pages: pagetest.New(t), units: &fakeUnits{}}
	p.links = p.NewLinks()
	p.config = Config{
		Config: page.Config{
			Hospitals: pagetest.Hospitals{}, Users: p.Users, Seals: p.Seals, Secure: true, Now: p.Now, Log: slog.New(slog.DiscardHandler),
		},
		Reads: p.units, Links: p.links,
	}
	p.mount()
	return p
}

func (p *pages) mount() {
	p.Router = chi.NewRouter()
	Mount(p.Router, p.config)
}

// route is one method of one path of the pages. In path, the parameters of the pattern are replaced by values.
type route struct{ method, pattern, path string }

// open contains the routes that do not need a session.
var open = map[string]bool{
	"GET /": true, "GET /assets/*": true, "GET /signin/{token}": true, "POST /signin/{token}": true, "POST /signout": true, "POST /theme": true, "GET /board/{token}": true, "POST /board/{token}": true,
}

// needs maps routes to the minimum role that they need. All other routes need the role viewer.
var needs = map[string]users.Role{"POST /app/staffing": users.Charge, "GET /app/alerts": users.Charge, "POST /app/alerts/{id}": users.Charge}

// guarded returns the routes that need a session.
func (p *pages) guarded() (all []route) {
	p.Helper()
	filled := strings.NewReplacer("{id}", "4", "{token}", "x", "{hospital}", "north", "*", "x")
	err := chi.Walk(p.Router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if !open[method+" "+pattern] {
			all = append(all, route{method, pattern, filled.Replace(pattern)})
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		p.Fatalf("%d routes, %v", len(all), err)
	}
	return all
}

func (r route) need() users.Role {
	if strings.Contains(r.pattern, "/integrations") {
		return users.Admin
	}
	if role, ok := needs[r.method+" "+strings.ReplaceAll(r.pattern, "/u/{hospital}", "")]; ok {
		return role
	}
	return users.Viewer
}

// streams reports whether the answer of a route is a stream.
func (r route) streams() bool { return strings.HasSuffix(r.pattern, "events") }

var errAway = fmt.Errorf("redis: %w", readapi.ErrAway)

// Trends implements [Reads]. It returns no recorded hours.
func (f *fakeUnits) Trends(_ context.Context, _ string, since, until time.Time) (*readapi.Trends, error) {
	return &readapi.Trends{Since: since, Until: until, Zone: time.UTC}, nil
}
