package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/internal/admin/users"
	"svc/internal/seal"
	"svc/readapi"
	"svc/readapi/web/auth"
)

var noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

// fakeUnits is hospitals with a room each, whose label tells which it is.
type fakeUnits struct {
	Units
	err error
}

func (f *fakeUnits) Unit(_ context.Context, hospital string) (*Unit, error) {
	if f.err != nil {
		return nil, f.err
	}
	v := &acuity.Verdict{
		AsOf: acuity.At(noon), OnDuty: 3,
		Rooms: []acuity.RoomVerdict{{ID: 4, Label: "canary of " + hospital, Area: "L&D", Status: acuity.RoomEmpty}},
	}
	return &Unit{Version: "1.1", Verdict: v, At: noon}, nil
}

// Room implements [Units].
func (f *fakeUnits) Room(context.Context, string, int32, time.Duration) (*readapi.RoomAhead, error) {
	return nil, f.err
}

type fakeHospitals struct{}

func (fakeHospitals) Hospital(id string) (string, *time.Location, bool) {
	return "Maternity " + id, time.UTC, true
}

// fakeLinks signs in by the words that are its keys.
type fakeLinks struct {
	links map[string]users.Link
	users *users.Register
	away  error
	out   []string // who signed out
}

func (f *fakeLinks) FindLink(token string) (users.Link, bool) {
	l, ok := f.links[token]
	return l, ok
}

func (f *fakeLinks) UseLink(_ context.Context, token string) (users.User, error) {
	l, ok := f.links[token]
	switch {
	case f.away != nil:
		return users.User{}, f.away
	case !ok || !l.Valid(noon):
		return users.User{}, users.ErrNoLink
	}
	l.UsedAt = noon
	f.links[token] = l
	u, _ := f.users.User(l.Hospital, l.User)
	return u, nil
}

func (f *fakeLinks) SignOut(_ context.Context, hospital, user string) error {
	f.out = append(f.out, hospital+"/"+user)
	return nil
}

// pages is the pages of two hospitals, north and south, with a user of each role in
// north: usr_viewer, usr_charge, usr_admin; usr_both is a charge nurse in north and a
// viewer in south.
type pages struct {
	*testing.T
	now    time.Time
	users  *users.Register
	units  *fakeUnits
	links  *fakeLinks
	seals  *seal.Keyring
	config Config
	router *chi.Mux
}

func newPages(t *testing.T) *pages {
	t.Helper()
	ring, err := seal.NewKeyring("a key of the tests with 32 characters")
	if err != nil {
		t.Fatal(err)
	}
	p := &pages{T: t, now: noon, users: users.NewRegister(), units: &fakeUnits{}, seals: ring}
	for _, role := range users.Roles() {
		p.users.SetUser(users.User{ID: "usr_" + string(role), Hospital: "north", Role: role})
	}
	p.users.SetUser(users.User{ID: "usr_both", Hospital: "north", Role: users.Charge})
	p.users.SetUser(users.User{ID: "usr_both", Hospital: "south", Role: users.Viewer})
	p.users.SetUser(users.User{ID: "usr_south", Hospital: "south", Role: users.Admin})
	p.links = &fakeLinks{users: p.users, links: map[string]users.Link{
		"fresh": {Hospital: "north", User: "usr_charge", Role: users.Charge, ExpiresAt: noon.Add(time.Hour)},
		"used":  {Hospital: "north", User: "usr_charge", Role: users.Charge, ExpiresAt: noon.Add(time.Hour), UsedAt: noon},
		"old":   {Hospital: "north", User: "usr_charge", Role: users.Charge, ExpiresAt: noon},
	}}
	p.config = Config{
		Units: p.units, Hospitals: fakeHospitals{}, Record: nothingRecorded{}, Links: p.links, Users: p.users, Seals: ring, Secure: true,
		Now: func() time.Time { return p.now }, Log: slog.New(slog.DiscardHandler),
	}
	p.mount()
	return p
}

func (p *pages) mount() {
	p.router = chi.NewRouter()
	Mount(p.router, p.config)
}

// cookie is the session of a user who has just signed in to a hospital.
func (p *pages) cookie(hospital, user string) *http.Cookie {
	p.Helper()
	u, ok := p.users.User(hospital, user)
	if !ok {
		p.Fatalf("there is no %s in %s", user, hospital)
	}
	w := httptest.NewRecorder()
	c := &auth.Cookies{Seals: p.seals, Users: p.users, Now: p.config.Now, Secure: true}
	c.BeginSession(w, &u)
	return w.Result().Cookies()[0]
}

// ask sends a request as a browser does from a page of ours.
func (p *pages) ask(method, path string, cookie *http.Cookie, form ...string) *httptest.ResponseRecorder {
	p.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(strings.Join(form, "&")))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	p.router.ServeHTTP(w, r)
	return w
}

// route is one method of one path of the pages, with what stands for its parameters.
type route struct{ method, pattern, path string }

// open are the routes that need no session.
var open = map[string]bool{
	"GET /": true, "GET /assets/*": true, "GET /signin/{token}": true, "POST /signin/{token}": true, "POST /signout": true, "POST /theme": true, "GET /board/{token}": true,
}

// needs are the roles of the routes that need more than to look.
var needs = map[string]users.Role{"POST /app/staffing": users.Charge, "GET /app/alerts": users.Charge, "POST /app/alerts/{id}": users.Charge}

// guarded are the routes that need a session.
func (p *pages) guarded() (all []route) {
	p.Helper()
	filled := strings.NewReplacer("{id}", "4", "{token}", "x", "{hospital}", "north", "*", "x")
	err := chi.Walk(p.router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
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
	if strings.Contains(r.pattern, integrationsPath) {
		return users.Admin
	}
	if role, ok := needs[r.method+" "+strings.ReplaceAll(r.pattern, "/u/{hospital}", "")]; ok {
		return role
	}
	return users.Viewer
}

// streams reports whether the answer of a route does not end.
func (r route) streams() bool { return strings.HasSuffix(r.pattern, "events") }

var errAway = fmt.Errorf("redis: %w", readapi.ErrAway)

// nothingRecorded is the record of hospitals of which no hour was recorded.
type nothingRecorded struct{}

func (nothingRecorded) Trends(_ context.Context, _ string, since, until time.Time) (*readapi.Trends, error) {
	return &readapi.Trends{Since: since, Until: until, Zone: time.UTC}, nil
}
