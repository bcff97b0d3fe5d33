package integrations

import (
	"net/http"
	"strings"
	"time"

	"svc/readapi/web/auth"
)

// A flash is what the next page tells once: what was done, or a secret. It lies sealed in a
// cookie that the next page removes, so it is in no address, no history and no log, and
// neither reload nor the way back does the act again or shows the secret.
const flashFor = time.Minute

var flashCookie = auth.Cookie{Suffix: "-flash", Purpose: "svc.v1 flash", Age: flashFor}

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
	if !d.Cookies.Open(d.r, flashCookie, &f) || f.Path != d.r.URL.EscapedPath() {
		return
	}
	d.Cookies.Remove(d.w, flashCookie)
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
	d.Cookies.Set(d.w, flashCookie, f)
	http.Redirect(d.w, d.r, path, http.StatusSeeOther)
}

// fresh reports whether the person signed in within the last hour. If not, the page asks
// for a new sign-in, and leads back.
func (d *adminRequest) fresh() bool {
	back := d.r.URL.RequestURI()
	if d.r.Method == http.MethodPost {
		back = d.at()
	}
	return d.RequireFreshSignIn(d.w, d.r, d.session, back)
}
