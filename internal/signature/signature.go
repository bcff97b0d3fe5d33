// Package signature signs requests so that their receiver can verify that svc sent them unchanged. It also checks
// signatures, for svc's own receivers (svc listen, the page of svc dev) and for the delivery reports of an SMS
// provider.
//
// Each request has the signatures of two schemes, made from the same secret.
//
//   - X-Svc-Signature: "sha256=" and the HMAC-SHA256 of the raw body in lowercase hex; the key is the UTF-8 bytes of
//     the whole secret.
//   - Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature over "id.timestamp.body". The signature
//     covers id and time, so a receiver can detect a replayed request.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/internal/outbound/subscriber"
)

// The headers, spelled as they are sent.
const (
	HeaderBody      = "X-Svc-Signature"
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderStandard  = "webhook-signature"
)

// Prefix is the prefix of a secret that is a base64-encoded key.
const Prefix = "whsec_"

// Body returns the value of X-Svc-Signature.
func Body(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	var sum [sha256.Size]byte
	return "sha256=" + hex.EncodeToString(mac.Sum(sum[:0]))
}

// Standard returns one signature for the header webhook-signature. at is the time of the attempt in seconds since
// 1970.
func Standard(secret, id string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, key(secret))
	head := make([]byte, 0, len(id)+22)
	head = append(head, id...)
	head = append(head, '.')
	head = strconv.AppendInt(head, at, 10)
	head = append(head, '.')
	mac.Write(head)
	mac.Write(body)
	var sum [sha256.Size]byte
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(sum[:0]))
}

// key returns the HMAC key for Standard Webhooks: the decoded bytes of a generated secret, or the bytes of a secret
// that a partner chose.
func key(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, Prefix); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(decoded) > 0 {
			return decoded
		}
	}
	return []byte(secret)
}

// Signed holds the values of the signature headers of one attempt.
type Signed struct {
	Body      string // value of X-Svc-Signature
	Timestamp string
	Standard  string // one signature for each secret that is valid now, newest first
}

// Sign signs one attempt with the secrets of an endpoint that are valid at the given time. If there is no secret, or
// one of the secrets could not be decrypted, ok is false and the request must not be sent, because an empty secret
// protects nothing.
//
// X-Svc-Signature contains one signature. During a rotation, that signature is made with the old secret until the new
// one is promoted. The header webhook-signature contains the signatures of both secrets throughout the rotation. A
// receiver that knows either secret can therefore verify webhook-signature at any time, but X-Svc-Signature for only
// half of the rotation.
func Sign(secrets []subscriber.Secret, id string, now time.Time, body []byte) (s Signed, ok bool) {
	valid := At(secrets, now)
	if len(valid) == 0 { // no secret is valid now; sign with the newest, because a request is never sent unsigned
		valid = secrets[:min(len(secrets), 1)]
	}
	closed := func(s subscriber.Secret) bool { return s.Value == "" }
	if len(valid) == 0 || slices.ContainsFunc(valid, closed) {
		return Signed{}, false
	}
	at := now.Unix()
	all := make([]string, len(valid))
	primary := &valid[0]
	for i := range valid {
		all[i] = Standard(valid[i].Value, id, at, body)
		if primary.State == subscriber.SecretNext {
			primary = &valid[i]
		}
	}
	return Signed{Body(primary.Value, body), strconv.FormatInt(at, 10), strings.Join(all, " ")}, true
}

// At returns the secrets that sign at the given time, in their given order (newest first), each with its state at
// that time. The settings store a rotation once, with the times of its later steps; At evaluates these times.
func At(secrets []subscriber.Secret, now time.Time) []subscriber.Secret {
	valid := make([]subscriber.Secret, 0, len(secrets))
	promoted := false
	for _, s := range secrets {
		over := !s.Until.IsZero() && !now.Before(s.Until)
		switch {
		case s.State == subscriber.SecretNext && over:
			s.State, s.Until, promoted = subscriber.SecretCurrent, time.Time{}, true
		case over:
			continue
		case s.State == subscriber.SecretCurrent && promoted:
			s.State = subscriber.SecretPrevious
		}
		valid = append(valid, s)
	}
	return valid
}

// Tolerance is the maximum difference between webhook-timestamp and the receiver's clock, as in the Standard Webhooks
// libraries.
const Tolerance = 5 * time.Minute

// Outcome is the result of checking a request with one scheme.
type Outcome string

// The values of [Outcome].
const (
	Good    Outcome = "valid"
	Missing Outcome = "missing"
	Wrong   Outcome = "wrong"
	Stale   Outcome = "stale" // correctly signed, but outside [Tolerance]
)

// Checked is the result of checking a request with both schemes.
type Checked struct {
	Body     Outcome // result for X-Svc-Signature
	Standard Outcome // result for webhook-signature
	Secret   int     // index of the secret that made the valid signature; -1: none
}

// Accepted reports whether the request is from svc. If the Standard Webhooks headers are present, only their result
// counts, because their signatures also cover the id and the time and use both secrets during a rotation.
// X-Svc-Signature has only one signature, whose secret the receiver may not have.
func (c Checked) Accepted() bool {
	return c.Standard == Good || c.Standard == Missing && c.Body == Good
}

// Check verifies the raw body of a request with the secrets that the receiver has. The duration of the check does not
// depend on which secret matches, if any.
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
