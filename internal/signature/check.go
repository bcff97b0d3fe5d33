package signature

import (
	"crypto/hmac"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance bounds the distance of webhook-timestamp from the receiver's clock, as in
// the libraries of Standard Webhooks.
const Tolerance = 5 * time.Minute

// Outcome is the result of one scheme for a request.
type Outcome string

// The outcomes.
const (
	Good    Outcome = "valid"
	Missing Outcome = "missing"
	Wrong   Outcome = "wrong"
	Stale   Outcome = "stale" // correctly signed, but outside [Tolerance]
)

// Checked is the result of both schemes for a request.
type Checked struct {
	Body     Outcome // of X-Svc-Signature
	Standard Outcome // of webhook-signature
	Secret   int     // index of the secret that made a valid signature; -1: none
}

// Accepted reports whether the request is ours. Where Standard Webhooks is present it
// decides. It also covers id and time, and it has the signatures of both secrets of a
// rotation. X-Svc-Signature has one, perhaps of a secret that the receiver does not
// have.
func (c Checked) Accepted() bool {
	return c.Standard == Good || c.Standard == Missing && c.Body == Good
}

// Check checks the raw body of a request against the secrets that its receiver knows.
// Its duration does not depend on which secret is right, if any.
func Check(header http.Header, body []byte, now time.Time, secrets ...string) Checked {
	c := Checked{Body: Missing, Standard: Missing, Secret: -1}
	if got := header.Get(HeaderBody); got != "" {
		c.Body = Wrong
		for i, secret := range secrets {
			if hmac.Equal([]byte(got), []byte(Body(secret, body))) {
				c.Body, c.Secret = Good, i
			}
		}
	}
	got, id := header.Get(HeaderStandard), header.Get(HeaderID)
	if got == "" {
		return c
	}
	c.Standard = Wrong
	at, err := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	if err != nil || id == "" {
		return c
	}
	for i, secret := range secrets {
		want := []byte(Standard(secret, id, at, body))
		for one := range strings.SplitSeq(got, " ") {
			if hmac.Equal([]byte(one), want) {
				c.Standard, c.Secret = Good, i
			}
		}
	}
	if age := now.Sub(time.Unix(at, 0)); c.Standard == Good && (age > Tolerance || age < -Tolerance) {
		c.Standard = Stale
	}
	return c
}
