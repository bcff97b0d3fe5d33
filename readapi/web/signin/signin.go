// Package signin signs people in to the pages, either with a one-time link or through an identity provider.
package signin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/internal/httpapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// LinkPath is the path of a sign-in link without its token.
const LinkPath = "/signin/"

// Links stores the one-time links that sign people in.
type Links interface {
	// FindLink returns the link that a token belongs to, even if the link has been used or withdrawn, or has expired.
	FindLink(token string) (users.Link, bool)
	// UseLink signs a person in with a link. If several people use the link concurrently, one is signed in and the
	// others get [users.ErrNoLink]. Any other error means that the link currently cannot be used.
	UseLink(ctx context.Context, token string, in users.SignIn) (users.Session, error)
	// EndSessions ends sessions of one person, in all hospitals. reason is a stable code.
	EndSessions(ctx context.Context, reason string, all ...users.Session) error
	// RefuseSignIn records a failed sign-in. subjects are hashes that identify the person; nil means that the person
	// is unknown.
	RefuseSignIn(ctx context.Context, subjects [][]byte, reason string)
}

// Config holds the dependencies of the sign-in.
type Config struct {
	Links     Links
	Discovery *Discovery // nil: people sign in only with links
	Directory Directory  // users who sign in through the provider
	Users     auth.Users
	Now       func() time.Time
	Log       *slog.Logger
}

// site holds the dependencies and the state that the sign-in pages share.
type site struct {
	*page.Site
	Config

	used usedStates
}

// Mount adds the first page and the routes for signing in and out to a router.
func Mount(r chi.Router, shell *page.Site, cfg Config) {
	s := &site{Site: shell, Config: cfg}
	r.Get("/", s.showFront)
	r.Get(LinkPath+"{token}", s.showLink)
	r.Post(LinkPath+"{token}", s.useLink)
	if cfg.Discovery != nil {
		r.Post(startPath, s.beginSignIn)
		r.Get(CallbackPath, s.endSignIn)
	}
	r.Post("/signout", s.signOut)
	r.Get(sessionsPath, s.RequireRole(users.Viewer, s.showSessions))
	r.Post(sessionsPath+"/end", s.RequireRole(users.Viewer, s.endSessions))
}

// showFront responds with the first page, or redirects a signed-in person to the unit.
func (s *site) showFront(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Cookies.ReadSession(r); err == nil {
		http.Redirect(w, r, "/app", http.StatusSeeOther)
		return
	}
	p := s.NewWriter(r, nil)
	n := page.Notice{Frame: s.NewFrame(r, p, nil, p.T("title.signin")), Heading: p.T("title.signin"), Say: p.T("signin.about")}
	if s.Cookies.Seals == nil {
		n.Say = p.T("signin.off")
	}
	n.Provider, n.ProviderSays = s.Discovery.Offer(r, p.Texts)
	page.WritePage(w, r, http.StatusOK, n.Render())
}

// showLink responds with a page whose button signs the person in. Opening the page does not use the link, because
// mail scanners follow links.
func (s *site) showLink(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	link, known := s.Links.FindLink(token)
	if !known || !link.Valid(s.Now()) || s.Cookies.Seals == nil {
		if !s.LimitTries(w, r) {
			s.refuseLink(w, r, known)
		}
		return
	}
	p := s.NewWriter(r, &auth.Session{Hospital: link.Hospital})
	n := page.Notice{Frame: s.NewFrame(r, p, nil, p.T("title.signin")), Heading: p.T("title.signin"), Token: token}
	n.Say = p.T("signin.link", "hospital", p.HospitalName)
	n.Button = p.T("signin.button", "role", p.T("role."+string(link.Role)))
	page.WritePage(w, r, http.StatusOK, n.Render())
}

// refuseLink responds that a link is invalid. known means that the link existed, but has been used or withdrawn, or
// has expired.
func (s *site) refuseLink(w http.ResponseWriter, r *http.Request, known bool) {
	status := http.StatusNotFound
	if known {
		status = http.StatusGone
	}
	s.ShowFault(w, r, status, nil, "fault.link")
}

// useLink signs a person in with a link. It redirects to the page that required the sign-in or, if there is none, to
// the unit.
func (s *site) useLink(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	link, known := s.Links.FindLink(token)
	if !link.Valid(s.Now()) && s.LimitTries(w, r) {
		return
	}
	if s.Cookies.Seals == nil {
		s.refuseLink(w, r, known)
		return
	}
	session, err := s.Links.UseLink(r.Context(), token, s.describeSignIn(r))
	switch {
	case errors.Is(err, users.ErrNoLink):
		if !known {
			s.Links.RefuseSignIn(r.Context(), nil, "unknown_link")
		}
		s.refuseLink(w, r, known)
	case err != nil:
		s.ShowUnavailable(w, r, nil, "link not used", err)
	default:
		httpapi.Identify(r.Context(), session.Hospital, session.User)
		s.Cookies.BeginSession(w, &session)
		s.ReturnAfterSignIn(w, r, auth.AppPath)
	}
}

// describeSignIn describes the browser that signs in.
func (s *site) describeSignIn(r *http.Request) users.SignIn {
	return users.SignIn{Browser: nameBrowser(r.UserAgent()), Before: s.Cookies.SessionID(r)}
}

// signOut ends the session of a browser. If the end of the session cannot be recorded, a copy of the cookie would
// still be valid. The browser then keeps its cookie, and the page reports the failure.
func (s *site) signOut(w http.ResponseWriter, r *http.Request) {
	if id := s.Cookies.SessionID(r); id != "" {
		s.Cookies.ReadSession(r) //nolint:errcheck // waits for the record of a session that has just begun
		if record, known := s.Users.Session(id); known {
			httpapi.Identify(r.Context(), record.Hospital, record.User)
			if err := s.Links.EndSessions(r.Context(), endedBySignOut, record); err != nil {
				s.ShowUnavailable(w, r, nil, "session not ended", err)
				return
			}
		}
	}
	s.Cookies.EndSession(w)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
