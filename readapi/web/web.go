// Package web shows what the API answers as pages for those who decide.
//
// A page is made of the same verdict, forecast and feeds as the API tells, at the
// instant of the request; nothing is computed a second time. What cannot be known is
// said so, and never shown as green. Pages read without scripts; with them they follow
// the unit.
package web

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/internal/admin/users"
	"svc/readapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/integrations"
	"svc/readapi/web/page"
)

// Units is what the API knows of a hospital now. The errors are those of package
// readapi: ErrNoUnit, ErrAway and what wraps it; any other one is a fault.
type Units interface {
	Unit(ctx context.Context, hospital string) (*Unit, error)
	// Room returns what a room stands on and what time alone makes of it; nil: there is
	// no such room.
	Room(ctx context.Context, hospital string, room int32, within time.Duration) (*readapi.RoomAhead, error)
}

// Layouts is how units are drawn.
type Layouts interface {
	// Layout returns that of a hospital; nil: nobody has drawn it.
	Layout(hospital string) *Layout
}

// Links are the links that sign somebody in once.
type Links interface {
	// FindLink returns the link of a token, also one that is over.
	FindLink(token string) (users.Link, bool)
	// UseLink burns a link. If several people use it at once, one is signed in and the others
	// get [users.ErrNoLink]. Another error says that it cannot be done at the moment.
	UseLink(ctx context.Context, token string) (users.User, error)
	// SignOut puts on record that somebody has signed out.
	SignOut(ctx context.Context, hospital, user string) error
}

// Config is what the pages need.
type Config struct {
	Units     Units
	Changes   Changes
	Hospitals page.Hospitals
	Layouts   Layouts // nil: nothing is drawn
	Record    Record
	Links     Links
	Users     auth.Users
	Walls     Walls     // nil: there are none
	OIDC      *Provider // nil: people sign in by links alone
	Directory Directory // of the provider's users
	// Stranger counts a request that nobody is known by; false: its address has sent too
	// many and may try again after a while. nil: there is no limit.
	Stranger func(r *http.Request) (retry time.Duration, ok bool)
	Seals    auth.Seals // nil: nobody can sign in
	Acts     Acts       // nil: nobody may act here
	// Administration is what the pages of administrators go by; nil: there are none.
	Administration *integrations.Administration
	// Ends is done when the process leaves: streams end then. nil: never.
	Ends   context.Context //nolint:containedctx // of the process
	Secure bool            // the pages are served by HTTPS
	Now    func() time.Time
	Log    *slog.Logger
}

//go:embed templates/*.html
var templateFiles embed.FS

var templates = page.ParseTemplates(templateFiles)

// site is all pages.
type site struct {
	Config
	*page.Site

	oidc      *discovery
	hub       *hub
	summaries *summaries
}

// LinkPath is where a link that signs in leads; its token follows.
const LinkPath = "/signin/"

// Mount adds the pages to a router.
func Mount(r chi.Router, cfg Config) {
	s := &site{
		Config: cfg, hub: newHub(&cfg), summaries: newSummaries(&cfg),
		oidc: &discovery{cfg: cfg.OIDC, now: cfg.Now},
	}
	s.Site = page.NewSite(page.Config{
		Seals: cfg.Seals, Users: cfg.Users, Hospitals: cfg.Hospitals, OfferProvider: atProvider{s}.offer,
		Secure: cfg.Secure, Now: cfg.Now, Log: cfg.Log,
	})
	r.Group(func(r chi.Router) {
		r.Use(s.SetHeaders, s.RefuseCrossOrigin)
		r.Get("/", s.front)
		r.Get("/assets/*", s.ServeAsset)
		r.Get(LinkPath+"{token}", s.showLink)
		r.Post(LinkPath+"{token}", s.useLink)
		if cfg.OIDC != nil && cfg.Seals != nil {
			r.Get(startPath, atProvider{s}.beginSignIn)
			r.Get(CallbackPath, atProvider{s}.endSignIn)
		}
		r.Post("/signout", s.signOut)
		r.Post("/theme", s.SwitchTheme)
		r.Get("/app/units", s.RequireRole(users.Viewer, s.units))
		r.Get("/app/units/events", s.RequireRole(users.Viewer, s.unitsEvents))
		for _, base := range []string{auth.AppPath, auth.AppPath + "/u/{hospital}"} {
			s.mountUnit(r, base)
		}
		r.Get("/board", s.onWall(s.board))
		r.Get("/board/events", s.onWall(s.boardEvents))
		r.Get(WallPath+"{token}", s.openWall)
	})
}

// mountUnit adds the pages of one hospital below a path. The path names the hospital, or
// the session does.
func (s *site) mountUnit(r chi.Router, base string) {
	r.Get(base, s.RequireRole(users.Viewer, s.unit))
	r.Get(base+"/events", s.RequireRole(users.Viewer, s.events))
	r.Get(base+"/rooms/{id}", s.RequireRole(users.Viewer, s.room))
	r.Get(base+"/trends", s.RequireRole(users.Viewer, s.trends))
	r.Get(base+"/trends.csv", s.RequireRole(users.Viewer, s.trendsCSV))
	r.Get(base+"/print", s.RequireRole(users.Viewer, s.print))
	r.Post(base+"/staffing", s.RequireRole(users.Charge, acting{s}.staffing))
	r.Get(base+"/alerts", s.RequireRole(users.Charge, acting{s}.alerts))
	r.Post(base+"/alerts/{id}", s.RequireRole(users.Charge, acting{s}.acknowledge))
	integrations.Mount(r, base, s.Site, integrations.Config{
		Administration: s.Administration, Verdict: s.verdictOf, Secure: s.Secure, Now: s.Now, Log: s.Log,
	})
	r.Get(base+"/*", s.RequireRole(users.Viewer, func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
		s.ShowFault(w, r, http.StatusNotFound, session, "fault.none")
	}))
}

// verdictOf returns how the unit of a hospital stands; nil: nothing was recorded of it.
func (s *site) verdictOf(ctx context.Context, hospital string) (*acuity.Verdict, error) {
	u, err := s.Units.Unit(ctx, hospital)
	switch {
	case errors.Is(err, readapi.ErrNoUnit):
		return nil, nil
	case err != nil:
		return nil, err //nolint:wrapcheck // of package readapi
	}
	return u.Verdict, nil
}

// writer writes the parts of the pages of a unit.
type writer struct{ *page.Writer }

// writer returns the writer for the hospital of a session, in the language of a request.
func (s *site) writer(r *http.Request, session *auth.Session) *writer {
	return &writer{s.NewWriter(r, session)}
}

// unitOf returns the unit of a session, or has answered.
func (s *site) unitOf(w http.ResponseWriter, r *http.Request, session *auth.Session) (*Unit, bool) {
	u, err := s.Units.Unit(r.Context(), session.Hospital)
	if err == nil {
		return u, true
	}
	p := s.writer(r, session)
	n := page.Notice{Frame: s.NewFrame(r, p.Writer, session, p.T("title.unit"))}
	status := http.StatusServiceUnavailable
	n.Refresh, n.Wall = 5, strings.HasPrefix(r.URL.Path, "/board")
	switch {
	case errors.Is(err, readapi.ErrNoUnit):
		status, n.Heading, n.Say = http.StatusOK, p.T("none"), p.T("none.do")
		if !n.Wall {
			n.Steps = firstSteps(p.Texts, session.Hospital)
		}
	case errors.Is(err, readapi.ErrBehind):
		n.Heading, n.Say = p.T("fault.away"), p.T("fault.behind")
	case errors.Is(err, readapi.ErrAway), r.Context().Err() != nil:
		n.Heading, n.Say = p.T("fault.away"), p.T("fault.away.do")
	default:
		s.Log.ErrorContext(r.Context(), "page cannot be made", "error", err)
		status, n.Heading, n.Say = http.StatusInternalServerError, p.T("fault.away"), p.T("fault.away.do")
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	page.WritePage(w, r, status, n.Render())
	return nil, false
}
