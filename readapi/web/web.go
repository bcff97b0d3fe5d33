// Package web shows what the API answers as pages for those who decide.
//
// A page is made of the same verdict, forecast and feeds as the API tells, at the
// instant of the request; nothing is computed a second time. What cannot be known is
// said so, and never shown as green. Pages read without scripts; with them they follow
// the unit.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/readapi"
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

// Hospitals says how hospitals are called and which time they have.
type Hospitals interface {
	Hospital(id string) (name string, zone *time.Location, ok bool)
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
	Hospitals Hospitals
	Layouts   Layouts // nil: nothing is drawn
	Record    Record
	Links     Links
	Users     Users
	Walls     Walls     // nil: there are none
	OIDC      *Provider // nil: people sign in by links alone
	Directory Directory // of the provider's users
	// Stranger counts a request that nobody is known by; false: its address has sent too
	// many and may try again after a while. nil: there is no limit.
	Stranger func(r *http.Request) (retry time.Duration, ok bool)
	Seals    Seals // nil: nobody can sign in
	Acts     Acts  // nil: nobody may act here
	// Administration is what the pages of administrators go by; nil: there are none.
	Administration *Administration
	// Ends is done when the process leaves: streams end then. nil: never.
	Ends   context.Context //nolint:containedctx // of the process
	Secure bool            // the pages are served by HTTPS
	Now    func() time.Time
	Log    *slog.Logger
}

// site is all pages.
type site struct {
	Config
	cookies   *cookies
	oidc      *discovery
	assets    *assets
	hub       *hub
	summaries *summaries
}

// LinkPath is where a link that signs in leads; its token follows.
const LinkPath = "/signin/"

// Mount adds the pages to a router.
func Mount(r chi.Router, cfg Config) {
	s := &site{
		Config: cfg, assets: loadAssets(), hub: newHub(&cfg), summaries: newSummaries(&cfg),
		oidc:    &discovery{cfg: cfg.OIDC, now: cfg.Now},
		cookies: &cookies{seals: cfg.Seals, users: cfg.Users, now: cfg.Now, secure: cfg.Secure},
	}
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.say(w, r, http.StatusForbidden, nil, "fault.origin")
	}))
	r.Group(func(r chi.Router) {
		r.Use(s.secured, sameOrigin(guard))
		r.Get("/", s.front)
		r.Get("/assets/*", s.assets.serve)
		r.Get(LinkPath+"{token}", s.showLink)
		r.Post(LinkPath+"{token}", s.useLink)
		if cfg.OIDC != nil && cfg.Seals != nil {
			r.Get(startPath, atProvider{s}.beginSignIn)
			r.Get(CallbackPath, atProvider{s}.endSignIn)
		}
		r.Post("/signout", s.signOut)
		r.Post("/theme", s.theme)
		r.Get("/app/units", s.signedIn(Viewer, s.units))
		r.Get("/app/units/events", s.signedIn(Viewer, s.unitsEvents))
		for _, base := range []string{appBase, appBase + "/u/{hospital}"} {
			s.mountUnit(r, base)
		}
		r.Get("/board", s.onWall(s.board))
		r.Get("/board/events", s.onWall(s.boardEvents))
		r.Get(WallPath+"{token}", s.openWall)
	})
}

// mountUnit adds the pages of one hospital: that of the session, or another one of its
// person, which is in the path.
func (s *site) mountUnit(r chi.Router, base string) {
	r.Get(base, s.signedIn(Viewer, s.unit))
	r.Get(base+"/events", s.signedIn(Viewer, s.events))
	r.Get(base+"/rooms/{id}", s.signedIn(Viewer, s.room))
	r.Get(base+"/trends", s.signedIn(Viewer, s.trends))
	r.Get(base+"/trends.csv", s.signedIn(Viewer, s.trendsCSV))
	r.Get(base+"/print", s.signedIn(Viewer, s.print))
	r.Post(base+"/staffing", s.signedIn(Charge, acting{s}.staffing))
	r.Get(base+"/alerts", s.signedIn(Charge, acting{s}.alerts))
	r.Post(base+"/alerts/{id}", s.signedIn(Charge, acting{s}.acknowledge))
	s.mountIntegrations(r, base)
	r.Get(base+"/*", s.signedIn(Viewer, func(w http.ResponseWriter, r *http.Request, session *Session) {
		s.say(w, r, http.StatusNotFound, session, "fault.none")
	}))
}

// errElsewhere says that a person may not look at the hospital in a path, or that there
// is none.
var errElsewhere = errors.New("the session does not hold in the hospital of the path")

// session returns that of a request, in the hospital of its path if that has one.
func (s *site) session(r *http.Request) (*Session, error) {
	session, err := s.cookies.read(r)
	hospital := chi.URLParam(r, "hospital")
	if err != nil || hospital == "" {
		return session, err
	}
	if hospital, err = url.PathUnescape(hospital); err != nil {
		return session, errElsewhere
	}
	other, ok := s.cookies.in(session, hospital)
	if !ok {
		return session, errElsewhere
	}
	return other, nil
}

// secured sets the headers of every page.
func (s *site) secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header(), s.Secure)
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what another page has sent. The standard library lets a request
// pass that says nothing of where it comes from, as programs do; a page is for browsers.
func sameOrigin(guard *http.CrossOriginProtection) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		guarded := guard.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
				r.Header.Set("Sec-Fetch-Site", "cross-site")
			}
			guarded.ServeHTTP(w, r)
		})
	}
}

// signedIn calls next with the session of who has a role, or answers with what to do.
func (s *site) signedIn(role Role, next func(http.ResponseWriter, *http.Request, *Session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		session, err := s.session(r)
		switch {
		case errors.Is(err, errElsewhere):
			s.say(w, r, http.StatusNotFound, session, "fault.none")
		case errors.Is(err, errExpired):
			s.cookies.remove(w, sessionCookie)
			s.say(w, r, http.StatusUnauthorized, nil, "fault.expired")
		case errors.Is(err, errEnded):
			s.cookies.remove(w, sessionCookie)
			s.say(w, r, http.StatusUnauthorized, nil, "fault.ended")
		case err != nil && r.Method == http.MethodGet:
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case err != nil:
			s.say(w, r, http.StatusUnauthorized, nil, "fault.expired")
		case !session.Role.Covers(role):
			s.say(w, r, http.StatusForbidden, session, "fault.role")
		default:
			if asked(r) {
				s.cookies.touch(w, session)
			}
			next(w, r, session)
		}
	}
}

// writer returns what writes pages for a hospital in the language of a request.
func (s *site) writer(r *http.Request, session *Session) *writer {
	p := &writer{texts: textsFor(r), zone: time.UTC}
	if session != nil {
		if name, zone, ok := s.Hospitals.Hospital(session.Hospital); ok {
			p.name, p.zone = name, zone
		}
	}
	return p
}

func (s *site) page(r *http.Request, p *writer, session *Session, title string) page {
	f := page{writer: p, Title: title, Hospital: p.name, Session: session, Assets: s.assets.path, Theme: theme(r), Base: appBase}
	switch {
	case session == nil:
	case session.Wall != "":
		f.Session = nil // nobody is signed in
	default:
		f.Base = session.Base
		f.Several = len(s.cookies.all(session)) > 1
	}
	return f
}

// theme is what the person of a browser chose: "light", "dark", or "" for that of the
// system.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// say answers with a few words: what is the matter, and what to do.
func (s *site) say(w http.ResponseWriter, r *http.Request, status int, session *Session, key string) {
	p := s.writer(r, session)
	n := notice{page: s.page(r, p, session, p.T(key)), Heading: p.T(key), Say: p.T(key + ".do")}
	s.write(w, r, status, render("notice", n))
}

// unitOf returns the unit of a session, or has answered.
func (s *site) unitOf(w http.ResponseWriter, r *http.Request, session *Session) (*Unit, bool) {
	u, err := s.Units.Unit(r.Context(), session.Hospital)
	if err == nil {
		return u, true
	}
	p := s.writer(r, session)
	n := notice{page: s.page(r, p, session, p.T("title.unit"))}
	status := http.StatusServiceUnavailable
	n.Refresh, n.Wall = 5, strings.HasPrefix(r.URL.Path, "/board")
	switch {
	case errors.Is(err, readapi.ErrNoUnit):
		status, n.Heading, n.Say = http.StatusOK, p.T("none"), p.T("none.do")
		if !n.Wall {
			n.Steps = firstSteps(p.texts, session.Hospital)
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
	s.write(w, r, status, render("notice", n))
	return nil, false
}
