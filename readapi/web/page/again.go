package page

import (
	"net/http"
	"strings"
	"time"

	"svc/readapi/web/auth"
)

// freshFor is how old a sign-in may be for what shows or ends a secret.
const freshFor = 60 * time.Minute

// returnFor is how long a browser keeps the page that its person comes back to.
const returnFor = 10 * time.Minute

var returnCookie = auth.Cookie{Suffix: "-then", Purpose: "svc.v1 then", Age: returnFor}

// returnTo is the page that a person comes back to who signs in again.
type returnTo struct {
	Path  string `json:"p"`
	Until int64  `json:"t"` // Unix seconds
}

// RequireFreshSignIn reports whether the person of a session signed in within the last
// hour. If not, it asks the person to sign in again, and to come back to a path.
func (s *Site) RequireFreshSignIn(w http.ResponseWriter, r *http.Request, session *auth.Session, back string) bool {
	now := s.config.Now()
	if now.Sub(time.Unix(session.Issued, 0)) <= freshFor {
		return true
	}
	s.Cookies.Set(w, returnCookie, returnTo{back, now.Add(returnFor).Unix()})
	p := s.NewWriter(r, session)
	n := Notice{Frame: s.NewFrame(r, p, session, p.T("again")), Heading: p.T("again"), Say: p.T("again.say")}
	if link, says := s.config.OfferProvider(r, p.Texts); link != "" {
		n.Provider, n.ProviderSays = link+"?again=1", says
	} else {
		n.ProviderSays = p.T("again.link", "hospital", session.Hospital)
	}
	WritePage(w, r, http.StatusForbidden, n.Render())
	return false
}

// ReturnAfterSignIn leads a person who has signed in to the page that asked for it, else to
// other.
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
