package integrations

import (
	"net/http"
	"strings"
	"time"

	"svc/readapi/web/auth"
)

// flashFor is how long the next page may take to show a flash.
const flashFor = time.Minute

var flashCookie = auth.Cookie{Suffix: "-flash", Purpose: "svc.v1 flash", Age: flashFor}

// flash is what the next page shows once: what was done, or a secret. It lies sealed in a
// cookie that the next page removes. So it is in no address, no history and no log. A
// reload does not repeat the act, and does not show the secret again.
type flash struct {
	User     string `json:"u"`
	Hospital string `json:"h"`
	Until    int64  `json:"t"` // Unix seconds
	Path     string `json:"p"` // of the page that shows it
	Done     string `json:"d,omitempty"`
	Once     *once  `json:"o,omitempty"`
	Kept     string `json:"k,omitempty"` // see adminPage
	Ordered  string `json:"v,omitempty"` // verb of the command that the page shows; such a flash stays for its minute
}

// once is a secret that is shown once.
type once struct {
	Say   string // says what it opens
	Value string
	Curl  string // a command that uses it; "": there is none
}

// takeFlash puts the flash of the last act on a page, and removes it from the browser.
func (d *adminRequest) takeFlash(out *adminPage) {
	var f flash
	if !d.Cookies.Open(d.r, flashCookie, &f) || f.Path != d.r.URL.EscapedPath() || f.Ordered != "" {
		return
	}
	d.Cookies.Remove(d.w, flashCookie)
	if d.isMine(&f) {
		out.Done, out.Once, out.Kept = f.Done, f.Once, f.Kept
	}
}

// isMine reports whether a flash is of the person and the hospital of the request, and not too
// old.
func (d *adminRequest) isMine(f *flash) bool {
	return f.User == d.session.User && f.Hospital == d.session.Hospital && d.now().Before(time.Unix(f.Until, 0))
}

// leaveCommand leads to the page of a command that was just ordered.
func (d *adminRequest) leaveCommand(path, verb string) { d.leaveFlash(path, flash{Ordered: verb}) }

// orderedVerb returns the verb of the command whose page this is; "": it was not ordered within
// the last minute.
func (d *adminRequest) orderedVerb() string {
	var f flash
	if !d.Cookies.Open(d.r, flashCookie, &f) || f.Path != d.r.URL.EscapedPath() || !d.isMine(&f) {
		return ""
	}
	return f.Ordered
}

// leaveNotice leads to a page that says once what was done. The key is that of a text.
func (d *adminRequest) leaveNotice(path, key string, pairs ...any) {
	d.leaveFlash(path, flash{Done: d.T(key, pairs...)})
}

// leaveSecret leads to a page that shows a secret, once.
func (d *adminRequest) leaveSecret(path string, secret *once) {
	d.leaveFlash(path, flash{Once: secret})
}

func (d *adminRequest) leaveFlash(path string, f flash) {
	f.Path, _, _ = strings.Cut(path, "?")
	f.User, f.Hospital, f.Until = d.session.User, d.session.Hospital, d.now().Add(flashFor).Unix()
	d.Cookies.Set(d.w, flashCookie, f)
	http.Redirect(d.w, d.r, path, http.StatusSeeOther)
}

// requireFreshSignIn reports whether the person signed in within the last hour. If not, it
// has asked for a new sign-in, which leads back.
func (d *adminRequest) requireFreshSignIn() bool {
	back := d.r.URL.RequestURI()
	if d.r.Method == http.MethodPost {
		back = d.pathTo()
	}
	return d.RequireFreshSignIn(d.w, d.r, d.session, back)
}
