// Package pagetest requests pages as a browser does.
package pagetest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// Noon is the time at which tests begin.
var Noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

// Hospitals provides a hospital for every id. The name of a hospital is "Maternity" followed by its id, such as
// "Maternity north". The time zone of all hospitals is UTC.
type Hospitals struct{}

// Hospital implements [page.Hospitals].
func (Hospitals) Hospital(id string) (name string, zone *time.Location, ok bool) {
	return "Maternity " + id, time.UTC, true
}

// Pages serves the pages of two hospitals, north and south. North has a user with each role: usr_viewer, usr_charge
// and usr_admin. The user usr_both is a charge nurse in north and a viewer in south. The user usr_south is an
// administrator in south.
type Pages struct {
	*testing.T

	Time  time.Time        // current time, as the pages see it
	Clock func() time.Time // if set, replaces Time; nil: the time is constant
	Users *users.Register
	Seals auth.Seals // nil: sign-in is disabled
	// Offer returns the link to an identity provider and the text of that link. If Offer is nil, there is no
	// provider.
	Offer  func(r *http.Request, t *text.Texts) (link, says string)
	Router *chi.Mux // router on which the pages are mounted
}

// New returns pages without a router.
func New(t *testing.T) *Pages {
	t.Helper()
	ring, err := seal.NewKeyring("a key of the tests with 32 characters")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pages{T: t, Time: Noon, Users: users.NewRegister(), Seals: ring}
	for _, role := range users.Roles() {
		p.Users.SetUser(users.User{ID: "usr_" + string(role), Hospital: "north", Role: role})
	}
	p.Users.SetUser(users.User{ID: "usr_both", Hospital: "north", Role: users.Charge})
	p.Users.SetUser(users.User{ID: "usr_both", Hospital: "south", Role: users.Viewer})
	p.Users.SetUser(users.User{ID: "usr_south", Hospital: "south", Role: users.Admin})
	return p
}

// Now returns the current time, as the pages see it.
func (p *Pages) Now() time.Time {
	if p.Clock != nil {
		return p.Clock()
	}
	return p.Time
}

// NewSite returns a site for the users of the pages.
func (p *Pages) NewSite() *page.Site {
	offer := p.Offer
	if offer == nil {
		offer = func(*http.Request, *text.Texts) (link, says string) { return "", "" }
	}
	return page.NewSite(page.Config{
		Seals: p.Seals, Users: p.Users, Hospitals: Hospitals{}, Secure: true, Now: p.Now, Log: slog.New(slog.DiscardHandler),
		OfferProvider: offer,
	})
}

// Cookie returns the session cookie of a user who has just signed in to a hospital.
func (p *Pages) Cookie(hospital, user string) *http.Cookie {
	p.Helper()
	u, ok := p.Users.User(hospital, user)
	if !ok {
		p.Fatalf("there is no %s in %s", user, hospital)
	}
	w := httptest.NewRecorder()
	c := &auth.Cookies{Seals: p.Seals, Users: p.Users, Now: p.Now, Secure: true}
	s := p.Begin(u.ID, hospital)
	c.BeginSession(w, &s)
	return w.Result().Cookies()[0]
}

// Begin starts a session for a user, valid in all of the user's hospitals.
func (p *Pages) Begin(user, hospital string) users.Session {
	now := p.Now()
	s := users.Session{ID: access.RandomHex(16), User: user, Hospital: hospital, BegunAt: now, ProvedAt: now, EndsAt: now.Add(13 * time.Hour)}
	for _, u := range p.Users.Hospitals(user) {
		s.Epochs = append(s.Epochs, users.SessionEpoch{Hospital: u.Hospital, Epoch: u.Epoch})
	}
	p.Users.SetSession(s)
	return s
}

// Ask sends a request as a browser would send it from a page of svc, and returns the response.
func (p *Pages) Ask(method, path string, cookie *http.Cookie, form ...string) *httptest.ResponseRecorder {
	p.Helper()
	r := httptest.NewRequestWithContext(p.Context(), method, path, strings.NewReader(strings.Join(form, "&")))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	p.Router.ServeHTTP(w, r)
	return w
}
