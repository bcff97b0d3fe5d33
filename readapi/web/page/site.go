package page

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/internal/httpapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/text"
)

// Config holds the dependencies of a site.
type Config struct {
	Seals     auth.Seals // nil: sign-in is disabled
	Users     auth.Users
	Hospitals Hospitals
	// OfferProvider returns the link to the identity provider and the text of that link. While the provider does not
	// respond, the link is "". If there is no provider, both are "".
	OfferProvider func(r *http.Request, t *text.Texts) (link, says string)
	// Stranger counts a request from a person who is not signed in. If the sender's address has sent too many
	// requests, it returns false and the time to wait. If Stranger is nil, there is no limit.
	Stranger func(r *http.Request) (retry time.Duration, ok bool)
	// Refused records a refused request. hospital and user are "" if the person is unknown. reason is a stable code.
	// Refused may be nil.
	Refused func(r *http.Request, hospital, user, reason string)
	// Await and Position are passed to [auth.Cookies].
	Await    func(ctx context.Context, position int64)
	Position func() int64
	Secure   bool // whether the pages are served over HTTPS
	Now      func() time.Time
	Log      *slog.Logger
}

// Site provides what all pages share: identification of the caller, and rendering of responses.
type Site struct {
	Cookies *auth.Cookies
	config  Config
	assets  *assets
	rates   rates
}

// NewSite returns a site.
func NewSite(cfg Config) *Site {
	return &Site{
		Cookies: &auth.Cookies{Seals: cfg.Seals, Users: cfg.Users, Now: cfg.Now, Secure: cfg.Secure, Await: cfg.Await, Position: cfg.Position},
		config:  cfg, assets: sharedAssets(),
	}
}

// errElsewhere means that the hospital in a path does not exist or that the person has no access to it.
var errElsewhere = errors.New("the session is not valid for the hospital in the path")

// ReadSession returns the session of a request. If the path names a hospital, the session is for that hospital.
// ReadSession returns the errors of [auth.Cookies.ReadSession], and errElsewhere for a hospital to which the person
// has no access.
func (s *Site) ReadSession(r *http.Request) (*auth.Session, error) {
	session, err := s.Cookies.ReadSession(r)
	hospital := chi.URLParam(r, "hospital")
	if err != nil || hospital == "" {
		return session, err
	}
	if hospital, err = url.PathUnescape(hospital); err != nil {
		return session, errElsewhere
	}
	other, ok := s.Cookies.MoveSession(session, hospital)
	if !ok {
		return session, errElsewhere
	}
	return other, nil
}

// Handler serves a request from a signed-in person.
type Handler func(w http.ResponseWriter, r *http.Request, session *auth.Session)

// RequireRole calls next for a person who has the role. Anyone else gets an error page or is redirected to the first
// page. A session beyond its rate limit gets an error page as well. Some acts also require a recent sign-in,
// according to the table [FreshActs].
func (s *Site) RequireRole(role users.Role, next Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		session, err := s.ReadSession(r)
		if session != nil {
			httpapi.Identify(r.Context(), session.Hospital, session.User)
		}
		switch {
		// A refused request counts as well, because its page and its record also take time.
		case (err == nil || errors.Is(err, errElsewhere)) && s.LimitPages(w, r, session):
		case errors.Is(err, errElsewhere):
			s.Refuse(r, session, "other_hospital")
			s.ShowFault(w, r, http.StatusNotFound, session, "fault.none")
		case errors.Is(err, auth.ErrExpired):
			s.refuseAct(r, session, "session_expired")
			s.Cookies.EndSession(w)
			s.ShowFault(w, r, http.StatusUnauthorized, nil, "fault.expired")
		case errors.Is(err, auth.ErrEnded):
			s.refuseAct(r, session, "session_ended")
			s.Cookies.EndSession(w)
			s.ShowFault(w, r, http.StatusUnauthorized, nil, "fault.ended")
		case err != nil && isRead(r):
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case err != nil:
			s.ShowFault(w, r, http.StatusUnauthorized, nil, "fault.expired")
		case !session.Role.Covers(role):
			s.Refuse(r, session, "role")
			s.ShowFault(w, r, http.StatusForbidden, session, "fault.role")
		default:
			s.Cookies.TouchSession(w, r, session)
			if !needsFreshSignIn(r) || s.requireFreshSignIn(w, r, session) {
				next(w, r, session)
			}
		}
	}
}

// Refuse records a refused request. The session may be nil.
func (s *Site) Refuse(r *http.Request, session *auth.Session, reason string) {
	if s.config.Refused == nil {
		return
	}
	if session == nil {
		session = &auth.Session{}
	}
	s.config.Refused(r, session.Hospital, session.User, reason)
}

// refuseAct records that an act was refused because the session is invalid or the sign-in is not recent enough.
// Viewing a page is not an act.
func (s *Site) refuseAct(r *http.Request, session *auth.Session, reason string) {
	if !isRead(r) {
		s.Refuse(r, session, reason)
	}
}

// isRead reports whether a request views a page. A HEAD request has the status and headers of a GET request.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// NewWriter returns the writer for the hospital of a session, in the language of a request.
// The session may be nil.
func (s *Site) NewWriter(r *http.Request, session *auth.Session) *Writer {
	if session == nil {
		return &Writer{Texts: text.For(r), Zone: time.UTC}
	}
	return NewWriter(text.For(r), s.config.Hospitals, session.Hospital)
}

// NewFrame returns the frame of a page. The session may be nil.
func (s *Site) NewFrame(r *http.Request, p *Writer, session *auth.Session, title string) Frame {
	f := Frame{
		Writer: p, Title: title, Hospital: p.HospitalName, Session: session, Base: auth.AppPath,
		Assets: s.assets.path, Theme: chosenTheme(r), Address: ownPath(r.URL.RequestURI()),
	}
	if r.Method != http.MethodGet { // the URL of an act cannot be opened as a page
		f.Address = ""
	}
	switch {
	case session == nil:
	case session.Wall != "":
		f.Session = nil // not signed in
	default:
		f.Base = session.Base
		f.Several = len(s.Cookies.ListHospitals(session)) > 1
	}
	return f
}

// ShowFault responds with a short message. The text for key describes the problem, and the text for key+".do" says
// what to do.
func (s *Site) ShowFault(w http.ResponseWriter, r *http.Request, status int, session *auth.Session, key string) {
	s.writeFault(w, r, status, session, key, 0)
}

func (s *Site) writeFault(w http.ResponseWriter, r *http.Request, status int, session *auth.Session, key string, refresh int) {
	p := s.NewWriter(r, session)
	n := Notice{Frame: s.NewFrame(r, p, session, p.T(key)), Heading: p.T(key), Say: p.T(key + ".do")}
	n.Refresh, n.Address = refresh, ""
	switch {
	case session == nil:
		n.linkToStart(r, key)
	case session.Wall != "":
		n.Wall = true
	case key == "fault.alert":
		n.Link, n.LinkSays = n.Base+"/alerts", p.T("alerts")
	case key == "fault.session":
		n.Link, n.LinkSays = auth.AppPath+"/sessions", p.T("sessions")
	}
	WritePage(w, r, status, n.Render())
}

// faultsOfSignIn are the keys of the faults after which a person must sign in again.
var faultsOfSignIn = []string{"fault.access", "fault.ended", "fault.expired", "fault.provider", "fault.stale", "fault.start"}

// linkToStart adds a link to the start page for a person who may be signed out. A wall display gets none.
func (n *Notice) linkToStart(r *http.Request, key string) {
	switch {
	case key == "fault.wall" || strings.HasPrefix(r.URL.Path, "/board/"):
	case slices.Contains(faultsOfSignIn, key):
		n.Link, n.LinkSays = "/", n.T("signin.again")
	default:
		n.Link, n.LinkSays = "/", n.T("signin.start")
	}
}

// ShowUnavailable responds that the page is temporarily unavailable. It logs what failed and the error. For a
// signed-in person's GET request, the response reloads itself, even in a browser without scripts.
func (s *Site) ShowUnavailable(w http.ResponseWriter, r *http.Request, session *auth.Session, what string, err error) {
	s.config.Log.WarnContext(r.Context(), "page temporarily unavailable", "what", what, "error", err)
	w.Header().Set("Retry-After", "2")
	refresh := 0
	if r.Method == http.MethodGet && session != nil { // without a session, the person must start the sign-in again
		refresh = UnavailableSeconds
	}
	s.writeFault(w, r, http.StatusServiceUnavailable, session, "fault.later", refresh)
}

// LimitTries counts a request from a person who is not signed in, and reports whether the sender's address has sent
// too many such requests. If it returns true, it has sent an error response.
func (s *Site) LimitTries(w http.ResponseWriter, r *http.Request) bool {
	if s.config.Stranger == nil {
		return false
	}
	retry, ok := s.config.Stranger(r)
	if !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(retry/time.Second)+1))
		s.ShowFault(w, r, http.StatusTooManyRequests, nil, "fault.many")
	}
	return !ok
}

// themeCookie holds "light" or "dark"; without it, the pages use the system's theme.
const themeCookie = "svc-theme"

// maxThemeForm is the maximum size of the form that switches the theme, in bytes.
const maxThemeForm = 4096

// chosenTheme returns the theme chosen in a browser: "light", "dark", or "" for the theme of the system.
func chosenTheme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// ownPath returns text if it is a path of these pages, with or without a query. It returns "" for anything else, such
// as the URL of another site or the path of a sign-in link.
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || strings.Contains(text, `\`) ||
		u.Path != path.Clean(u.Path) || u.Path != auth.AppPath && !strings.HasPrefix(u.Path, auth.AppPath+"/") {
		return ""
	}
	return u.RequestURI()
}

// SwitchTheme switches to the next theme: system, light, dark. It redirects to the page that sent the request.
func (s *Site) SwitchTheme(w http.ResponseWriter, r *http.Request) {
	next := &http.Cookie{ //nolint:gosec // Secure is off only on a loopback address
		Name: themeCookie, Value: "light", Path: "/", MaxAge: 400 * 86400,
		HttpOnly: true, Secure: s.config.Secure, SameSite: http.SameSiteLaxMode,
	}
	switch chosenTheme(r) {
	case "light":
		next.Value = "dark"
	case "dark":
		next.Value, next.MaxAge = "", -1
	}
	http.SetCookie(w, next)
	r.Body = http.MaxBytesReader(w, r.Body, maxThemeForm)
	to := cmp.Or(ownPath(r.PostFormValue("to")), auth.AppPath)
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // ownPath accepts only paths of these pages
}

// returnFor is how long a browser remembers the page to which the person returns after a sign-in.
const returnFor = 10 * time.Minute

var returnCookie = auth.Cookie{Suffix: "-then", Purpose: "svc.v1 then", Age: returnFor}

// returnTo is the page to which a person returns after signing in again.
type returnTo struct {
	Path  string `json:"p"`
	Until int64  `json:"t"` // Unix seconds
}

// requireFreshSignIn reports whether the session's user authenticated within the last hour. If not, it stores the
// path to return to, and responds with a page that asks the user to sign in again.
func (s *Site) requireFreshSignIn(w http.ResponseWriter, r *http.Request, session *auth.Session) bool {
	now := s.config.Now()
	if session.IsFresh(now) {
		return true
	}
	s.refuseAct(r, session, "not_fresh")
	s.Cookies.Set(w, returnCookie, returnTo{pathBack(r), now.Add(returnFor).Unix()})
	p := s.NewWriter(r, session)
	n := Notice{Frame: s.NewFrame(r, p, session, p.T("again")), Heading: p.T("again"), Say: p.T("again.say")}
	if link, says := s.config.OfferProvider(r, p.Texts); link != "" {
		n.Provider, n.ProviderSays, n.Again = link, says, true
	} else {
		n.ProviderSays = p.T("again.link", "hospital", session.Hospital)
	}
	WritePage(w, r, http.StatusForbidden, n.Render())
	return false
}

// ReturnAfterSignIn redirects a signed-in person to the page that required the sign-in. If there is no such page, it
// redirects to the path in other.
func (s *Site) ReturnAfterSignIn(w http.ResponseWriter, r *http.Request, other string) {
	var t returnTo
	if s.Cookies.Open(r, returnCookie, &t) {
		s.Cookies.Remove(w, returnCookie)
		if s.config.Now().Before(time.Unix(t.Until, 0)) && strings.HasPrefix(t.Path, auth.AppPath+"/") {
			other = t.Path
		}
	}
	http.Redirect(w, r, other, http.StatusSeeOther)
}
