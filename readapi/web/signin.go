package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
)

// front is the first page: who is signed in goes to the unit.
func (s *site) front(w http.ResponseWriter, r *http.Request) {
	if _, err := s.cookies.read(r); err == nil {
		http.Redirect(w, r, "/app", http.StatusSeeOther)
		return
	}
	p := s.writer(r, nil)
	n := notice{page: s.page(r, p, nil, p.T("title.signin")), Heading: p.T("title.signin"), Say: p.T("signin.about")}
	if s.Seals == nil {
		n.Say = p.T("signin.off")
	}
	n.Provider, n.ProviderSays = atProvider{s}.offer(r, p)
	s.write(w, r, http.StatusOK, render("notice", n))
}

// showLink has the button that signs in. To look at it changes nothing: programs that
// guard mailboxes follow links.
func (s *site) showLink(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	link, known := s.Links.FindLink(token)
	if !known || !link.Valid(s.Now()) || s.Seals == nil {
		if !s.tooMany(w, r) {
			s.refuseLink(w, r, known)
		}
		return
	}
	p := s.writer(r, &Session{Hospital: link.Hospital})
	n := notice{page: s.page(r, p, nil, p.T("title.signin")), Heading: p.T("title.signin"), Token: token}
	n.Say = p.T("signin.link", "hospital", p.name)
	n.Button = p.T("signin.button", "role", p.T("role."+string(link.Role)))
	s.write(w, r, http.StatusOK, render("notice", n))
}

// refuseLink says that a link does not sign in: one that is over, or that never was.
func (s *site) refuseLink(w http.ResponseWriter, r *http.Request, known bool) {
	status := http.StatusNotFound
	if known {
		status = http.StatusGone
	}
	s.say(w, r, status, nil, "fault.link")
}

// tooMany answers an address that has tried too many words that open nothing; each one that
// was a link is on record.
func (s *site) tooMany(w http.ResponseWriter, r *http.Request) bool {
	if s.Stranger == nil {
		return false
	}
	retry, ok := s.Stranger(r)
	if !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(retry/time.Second)+1))
		s.say(w, r, http.StatusTooManyRequests, nil, "fault.many")
	}
	return !ok
}

func (s *site) useLink(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	link, known := s.Links.FindLink(token)
	if !link.Valid(s.Now()) && s.tooMany(w, r) {
		return
	}
	if s.Seals == nil {
		s.refuseLink(w, r, known)
		return
	}
	user, err := s.Links.UseLink(r.Context(), token)
	switch {
	case errors.Is(err, users.ErrNoLink):
		s.refuseLink(w, r, known)
	case err != nil:
		s.away(w, r, nil, "link not used", err)
	default:
		s.cookies.begin(w, &user)
		http.Redirect(w, r, s.landing(w, r, appBase), http.StatusSeeOther)
	}
}

// away says that something cannot be done at the moment.
func (s *site) away(w http.ResponseWriter, r *http.Request, session *Session, what string, err error) {
	s.Log.WarnContext(r.Context(), "page cannot do it now", "what", what, "error", err)
	w.Header().Set("Retry-After", "2")
	s.say(w, r, http.StatusServiceUnavailable, session, "fault.later")
}

func (s *site) signOut(w http.ResponseWriter, r *http.Request) {
	if session, err := s.cookies.read(r); err == nil {
		if err := s.Links.SignOut(r.Context(), session.Hospital, session.User); err != nil {
			s.Log.WarnContext(r.Context(), "sign-out not on record", "error", err) // it ends all the same
		}
	}
	s.cookies.remove(w, sessionCookie)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// themeCookie holds "light" or "dark"; without it the pages look as the system does.
const themeCookie = "svc-theme"

// theme changes the look: as the system, light, dark.
func (s *site) theme(w http.ResponseWriter, r *http.Request) {
	next := &http.Cookie{Name: themeCookie, Value: "light", Path: "/", MaxAge: 400 * 86400, HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode} //nolint:gosec // without TLS on the loopback alone
	if c, err := r.Cookie(themeCookie); err == nil {
		switch c.Value {
		case "light":
			next.Value = "dark"
		case "dark":
			next.Value, next.MaxAge = "", -1
		}
	}
	http.SetCookie(w, next)
	http.Redirect(w, r, "/app", http.StatusSeeOther)
}
