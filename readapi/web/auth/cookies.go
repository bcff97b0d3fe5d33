package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// Seals seals the value of a cookie. A value opens only under the name it was sealed for.
type Seals interface {
	Seal(name string, clear []byte) []byte
	Open(name string, sealed []byte) ([]byte, error)
}

// Cookie is a kind of sealed cookie of the pages.
type Cookie struct {
	Suffix  string        // of its name
	Purpose string        // the name that it is sealed under
	Age     time.Duration // after which the browser forgets it; 0: when it is closed
}

// Cookies reads and writes the sealed cookies of a browser.
type Cookies struct {
	Seals  Seals // nil: signing in is disabled
	Users  Users
	Now    func() time.Time
	Secure bool // the pages are served by HTTPS
	// Await waits a little until this process has read the settings up to a position. nil: it has
	// read all.
	Await func(ctx context.Context, position int64)
	// Position returns how far this process has read the settings; nil: there is no other reader.
	Position func() int64
}

// Name returns the name of a cookie. A browser accepts the prefix __Host- only from HTTPS,
// for one host and without a domain; svc dev serves plain HTTP on the loopback.
func (c *Cookies) Name(k Cookie) string {
	if c.Secure {
		return "__Host-svc" + k.Suffix
	}
	return "svc-dev" + k.Suffix
}

// Set sends a value to the browser. The value must be encodable as JSON.
func (c *Cookies) Set(w http.ResponseWriter, k Cookie, value any) {
	clear, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers
	}
	c.write(w, k, base64.RawURLEncoding.EncodeToString(c.Seals.Seal(k.Purpose, clear)), k.Age)
}

// Remove deletes a cookie from the browser.
func (c *Cookies) Remove(w http.ResponseWriter, k Cookie) { c.write(w, k, "", -time.Second) }

func (c *Cookies) write(w http.ResponseWriter, k Cookie, text string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure but on the loopback, by plain HTTP
		Name: c.Name(k), Value: text, Path: "/", MaxAge: int(age / time.Second),
		Secure: c.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// Open reads the value of a cookie into a variable. It returns false if the request brings
// no value that was sealed for this cookie.
func (c *Cookies) Open(r *http.Request, k Cookie, into any) bool {
	found, err := r.Cookie(c.Name(k))
	if err != nil || c.Seals == nil {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(found.Value)
	if err != nil {
		return false
	}
	clear, err := c.Seals.Open(k.Purpose, sealed)
	return err == nil && json.Unmarshal(clear, into) == nil
}
