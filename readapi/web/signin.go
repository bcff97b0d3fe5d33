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

// front is the first page: who is signed in goes to the unit.
func (s *site) front(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Cookies.ReadSession(r); err == nil {
		http.Redirect(w, r, "/app", http.StatusSeeOther)
		return
	}
	p := s.writer(r, nil)
	n := page.Notice{Frame: s.NewFrame(r, p.Writer, nil, p.T("title.signin")), Heading: p.T("title.signin"), Say: p.T("signin.about")}
	if s.Seals == nil {
		n.Say = p.T("signin.off")
	}
	n.Provider, n.ProviderSays = atProvider{s}.offer(r, p.Texts)
	page.WritePage(w, r, http.StatusOK, n.Render())
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
	p := s.writer(r, &auth.Session{Hospital: link.Hospital})
	n := page.Notice{Frame: s.NewFrame(r, p.Writer, nil, p.T("title.signin")), Heading: p.T("title.signin"), Token: token}
	n.Say = p.T("signin.link", "hospital", p.HospitalName)
	n.Button = p.T("signin.button", "role", p.T("role."+string(link.Role)))
	page.WritePage(w, r, http.StatusOK, n.Render())
}

// refuseLink says that a link does not sign in: one that is over, or that never was.
func (s *site) refuseLink(w http.ResponseWriter, r *http.Request, known bool) {
	status := http.StatusNotFound
	if known {
		status = http.StatusGone
	}
	s.ShowFault(w, r, status, nil, "fault.link")
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
		s.ShowFault(w, r, http.StatusTooManyRequests, nil, "fault.many")
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
		s.ShowUnavailable(w, r, nil, "link not used", err)
	default:
		s.Cookies.BeginSession(w, &user)
		http.Redirect(w, r, s.TakeReturnPath(w, r, auth.AppPath), http.StatusSeeOther)
	}
}

func (s *site) signOut(w http.ResponseWriter, r *http.Request) {
	if session, err := s.Cookies.ReadSession(r); err == nil {
		if err := s.Links.SignOut(r.Context(), session.Hospital, session.User); err != nil {
			s.Log.WarnContext(r.Context(), "sign-out not on record", "error", err) // it ends all the same
		}
	}
	s.Cookies.EndSession(w)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
