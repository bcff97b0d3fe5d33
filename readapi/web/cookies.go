package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// cookie is one that the pages give to a browser, sealed.
type cookie struct {
	suffix  string        // of its name
	purpose string        // the name that it is sealed under
	age     time.Duration // after which the browser forgets it; 0: when it is closed
}

var (
	sessionCookie = cookie{"", "svc.v1 session", 0}
	wallCookie    = cookie{"-wall", "svc.v1 wall", 400 * 24 * time.Hour} // as long as browsers keep one; it opens the board alone
	startCookie   = cookie{"-oidc", "svc.v1 oidc", signInFor}
	flashCookie   = cookie{"-flash", "svc.v1 flash", flashFor}
	thenCookie    = cookie{"-then", "svc.v1 then", thenFor}
)

// name is that of a cookie. A browser accepts the prefix __Host- only from HTTPS, for
// one host and without a domain; svc dev serves plain HTTP on the loopback.
func (c *cookies) name(k cookie) string {
	if c.secure {
		return "__Host-svc" + k.suffix
	}
	return "svc-dev" + k.suffix
}

// set gives a value to the browser.
func (c *cookies) set(w http.ResponseWriter, k cookie, value any) {
	clear, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers
	}
	c.write(w, k, base64.RawURLEncoding.EncodeToString(c.seals.Seal(k.purpose, clear)), k.age)
}

// remove makes the browser forget a cookie.
func (c *cookies) remove(w http.ResponseWriter, k cookie) { c.write(w, k, "", -time.Second) }

func (c *cookies) write(w http.ResponseWriter, k cookie, text string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure but on the loopback, by plain HTTP
		Name: c.name(k), Value: text, Path: "/", MaxAge: int(age / time.Second),
		Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// open reads the value that a request brings; false: it has none that was sealed for this.
func (c *cookies) open(r *http.Request, k cookie, into any) bool {
	found, err := r.Cookie(c.name(k))
	if err != nil || c.seals == nil {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(found.Value)
	if err != nil {
		return false
	}
	clear, err := c.seals.Open(k.purpose, sealed)
	return err == nil && json.Unmarshal(clear, into) == nil
}
