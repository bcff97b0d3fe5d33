package web

import (
	"net/http"
	"strings"
	"time"
)

// A flash is what the next page tells once: what was done, or a secret. It lies sealed in a
// cookie that the next page removes, so it is in no address, no history and no log, and
// neither reload nor the way back does the act again or shows the secret.
const (
	flashFor = time.Minute
	thenFor  = 10 * time.Minute
)

type flash struct {
	User     string `json:"u"`
	Hospital string `json:"h"`
	Until    int64  `json:"t"` // Unix seconds
	Path     string `json:"p"` // of the page that tells it
	Done     string `json:"d,omitempty"`
	Once     *once  `json:"o,omitempty"`
	Kept     string `json:"k,omitempty"` // see adminPage
}

// once is a secret that is shown once.
type once struct {
	Say   string // whose it is
	Value string
	Curl  string // a command that works as it is pasted; "": none
}

// takeFlash puts what the last act told on a page, and forgets it.
func (d *adminRequest) takeFlash(out *adminPage) {
	var f flash
	if !d.cookies.open(d.r, flashCookie, &f) || f.Path != d.r.URL.EscapedPath() {
		return
	}
	d.cookies.remove(d.w, flashCookie)
	if f.User == d.session.User && f.Hospital == d.session.Hospital && d.now().Before(time.Unix(f.Until, 0)) {
		out.Done, out.Once, out.Kept = f.Done, f.Once, f.Kept
	}
}

// done leads to a page that says once what was done; key is that of a text.
func (d *adminRequest) done(path, key string, pairs ...any) {
	d.tell(path, flash{Done: d.T(key, pairs...)})
}

// once leads to a page that shows a secret, once.
func (d *adminRequest) once(path string, secret *once) { d.tell(path, flash{Once: secret}) }

func (d *adminRequest) tell(path string, f flash) {
	f.Path, _, _ = strings.Cut(path, "?")
	f.User, f.Hospital, f.Until = d.session.User, d.session.Hospital, d.now().Add(flashFor).Unix()
	d.cookies.set(d.w, flashCookie, f)
	http.Redirect(d.w, d.r, path, http.StatusSeeOther)
}

// then is the page that somebody is led back to who signs in again.
type then struct {
	Path  string `json:"p"`
	Until int64  `json:"t"` // Unix seconds
}

// fresh reports whether the person signed in within the last hour. If not, the page asks
// her to sign in again, and leads back.
func (d *adminRequest) fresh() bool {
	if d.now().Sub(time.Unix(d.session.Issued, 0)) <= freshFor {
		return true
	}
	back := d.r.URL.RequestURI()
	if d.r.Method == http.MethodPost {
		back = d.at()
	}
	d.cookies.set(d.w, thenCookie, then{back, d.now().Add(thenFor).Unix()})
	n := notice{page: d.site.page(d.r, d.writer, d.session, d.T("again")), Heading: d.T("again"), Say: d.T("again.say")}
	if link, say := (atProvider{d.site}).offer(d.r, d.writer); link != "" {
		n.Provider, n.ProviderSays = link+"?again=1", say
	} else {
		n.ProviderSays = d.T("again.link", "hospital", d.session.Hospital)
	}
	d.write(d.w, d.r, http.StatusForbidden, render("notice", n))
	return false
}

// landing is where somebody goes who has signed in: to the page that asked for it, else to
// other.
func (s *site) landing(w http.ResponseWriter, r *http.Request, other string) string {
	var t then
	if !s.cookies.open(r, thenCookie, &t) {
		return other
	}
	s.cookies.remove(w, thenCookie)
	if s.Now().Before(time.Unix(t.Until, 0)) && strings.HasPrefix(t.Path, appBase+"/") {
		return t.Path
	}
	return other
}
