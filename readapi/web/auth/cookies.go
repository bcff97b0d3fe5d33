package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// Seals seals the values of cookies. A value can be opened only with the name that was used to seal it.
type Seals interface {
	Seal(name string, clear []byte) []byte
	Open(name string, sealed []byte) ([]byte, error)
}

// Cookie is a kind of sealed cookie that the pages use.
type Cookie struct {
	Suffix  string        // suffix of the cookie's name
	Purpose string        // name that is used to seal the value
	Age     time.Duration // lifetime in the browser; 0: until the browser is closed
}

// Cookies reads and writes the sealed cookies of a browser.
type Cookies struct {
	Seals  Seals // nil: sign-in is disabled
	Users  Users
	Now    func() time.Time
	Secure bool // whether the pages are served over HTTPS
	// Await waits briefly until this process has read the settings up to a position. It is nil if this process always
	// has all settings.
	Await func(ctx context.Context, position int64)
	// Position returns the position up to which this process has read the settings. It is nil if this is the only
	// process.
	Position func() int64
}

// Name returns the name of a cookie. A browser accepts the prefix __Host- only over HTTPS, with the path / and without a
// Domain attribute; svc dev serves plain HTTP on a loopback address.
func (c *Cookies) Name(k Cookie) string {
	if c.Secure {
		return "__Host-svc" + k.Suffix
	}
	return "svc-dev" + k.Suffix
}

// Set sends a cookie with a value to the browser. The value must be encodable as JSON.
func (c *Cookies) Set(w http.ResponseWriter, k Cookie, value any) {
	clear, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	c.write(w, k, base64.RawURLEncoding.EncodeToString(c.Seals.Seal(k.Purpose, clear)), k.Age)
}

// Remove deletes a cookie from the browser.
func (c *Cookies) Remove(w http.ResponseWriter, k Cookie) { c.write(w, k, "", -time.Second) }

func (c *Cookies) write(w http.ResponseWriter, k Cookie, text string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is off only for plain HTTP on a loopback address
		Name: c.Name(k), Value: text, Path: "/", MaxAge: int(age / time.Second),
		Secure: c.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// Open decodes the value of a cookie. It returns false if the request has no value that was sealed for this cookie.
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
