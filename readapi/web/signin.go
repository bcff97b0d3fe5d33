package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// showFront answers with the first page. It leads a person who is signed in to the unit.
func (s *site) showFront(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Cookies.ReadSession(r); err == nil {
		http.Redirect(w, r, "/app", http.StatusSeeOther)
		return
	}
	p := s.writer(r, nil)
	n := page.Notice{Frame: s.NewFrame(r, p.Writer, nil, p.T("title.signin")), Heading: p.T("title.signin"), Say: p.T("signin.about")}
	if s.Seals == nil {
		n.Say = p.T("signin.off")
	}
	n.Provider, n.ProviderSays = providerPages{s}.offerProvider(r, p.Texts)
	page.WritePage(w, r, http.StatusOK, n.Render())
}

// showLink answers with the button that signs in. Reading the page does not use the link, as
// programs that guard mailboxes follow links.
func (s *site) showLink(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	link, known := s.Links.FindLink(token)
	if !known || !link.Valid(s.Now()) || s.Seals == nil {
		if !s.limitTries(w, r) {
			s.refuseLink(w, r, known)
		}
		return
	}
	p := s.writer(r, &auth.Session{Hospital: link.Hospital})
	n := page.Notice{Frame: s.NewFrame(r, p.Writer, nil, p.T("title.signin")), Heading: p.T("title.signin"), Token: token}
	n.Say = p.T("signin.link", "hospital", p.HospitalName)
	n.Button = p.T("signin.button", "role", p.T("role."+string(link.Role)))
	page.WritePage(w, r, http.StatusOK, n.Render())
}

// refuseLink answers that a link does not sign in. A known link was used or has expired.
func (s *site) refuseLink(w http.ResponseWriter, r *http.Request, known bool) {
	status := http.StatusNotFound
	if known {
		status = http.StatusGone
	}
	s.ShowFault(w, r, status, nil, "fault.link")
}

// limitTries reports whether an address has tried too many links that sign nobody in. If so,
// it has answered.
func (s *site) limitTries(w http.ResponseWriter, r *http.Request) bool {
	if s.Stranger == nil {
		return false
	}
	retry, ok := s.Stranger(r)
	if !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(retry/time.Second)+1))
		s.ShowFault(w, r, http.StatusTooManyRequests, nil, "fault.many")
	}
	return !ok
}

func (s *site) useLink(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	link, known := s.Links.FindLink(token)
	if !link.Valid(s.Now()) && s.limitTries(w, r) {
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
		s.ShowUnavailable(w, r, nil, "link not used", err)
	default:
		s.Cookies.BeginSession(w, &user)
		http.Redirect(w, r, s.TakeReturnPath(w, r, auth.AppPath), http.StatusSeeOther)
	}
}

func (s *site) signOut(w http.ResponseWriter, r *http.Request) {
	if session, err := s.Cookies.ReadSession(r); err == nil {
		if err := s.Links.SignOut(r.Context(), session.Hospital, session.User); err != nil {
			s.Log.WarnContext(r.Context(), "sign-out not on record", "error", err) // the session ends all the same
		}
	}
	s.Cookies.EndSession(w)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
