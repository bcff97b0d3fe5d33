// Package signature signs what leaves the service so that its receiver can tell
// that it is ours and unchanged. The same package checks: our own receivers
// (svc listen, the page of svc dev) and the receipts that a provider sends back.
//
// Two schemes, made of the same secret, stand side by side:
//
//   - X-Svc-Signature: sha256= and the HMAC-SHA256 of the raw body in lower-case
//     hex; key = the UTF-8 bytes of the whole secret.
//   - Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature, of
//     "id.timestamp.body"; it names the delivery and its time, so a replay of an
//     old request is found out.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/internal/outbound"
)

// The headers, spelled as they go out.
const (
	HeaderBody      = "X-Svc-Signature"
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderStandard  = "webhook-signature"
)

// Prefix marks a secret whose rest is the key in base64.
const Prefix = "whsec_"

// Body is the value of X-Svc-Signature.
func Body(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	var sum [sha256.Size]byte
	return "sha256=" + hex.EncodeToString(mac.Sum(sum[:0]))
}

// Standard is one signature of webhook-signature; at is in seconds since 1970.
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

// key is the key of Standard Webhooks: what a generated secret encodes, or the
// bytes of a secret that a partner chose.
func key(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, Prefix); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(decoded) > 0 {
			return decoded
		}
	}
	return []byte(secret)
}

// Signed is what the headers of one attempt say.
type Signed struct {
	Body      string // of X-Svc-Signature
	Timestamp string
	Standard  string // one signature per secret that is valid now, newest first
}

// Sign signs one attempt with the secrets of an endpoint as they stand at now; ok
// is false if there is none, or one that did not open, and then nothing may be sent:
// anybody can sign with nothing.
//
// X-Svc-Signature holds one value, so it changes from the old secret to the new
// one when that is promoted; webhook-signature holds both from the start of a
// rotation to its end. A receiver that knows either secret accepts throughout by
// the second, and has half the overlap for each by the first.
func Sign(secrets []outbound.Secret, id string, now time.Time, body []byte) (s Signed, ok bool) {
	valid := At(secrets, now)
	if len(valid) == 0 { // a fault of the settings; an endpoint is never unsigned
		valid = secrets[:min(len(secrets), 1)]
	}
	closed := func(s outbound.Secret) bool { return s.Value == "" }
	if len(valid) == 0 || slices.ContainsFunc(valid, closed) {
		return Signed{}, false
	}
	at := now.Unix()
	all := make([]string, len(valid))
	primary := &valid[0]
	for i := range valid {
		all[i] = Standard(valid[i].Value, id, at, body)
		if primary.State == outbound.SecretNext {
			primary = &valid[i]
		}
	}
	return Signed{Body(primary.Value, body), strconv.FormatInt(at, 10), strings.Join(all, " ")}, true
}

// At returns the secrets that sign at now, newest first as they are given, with
// the state that they have by then. A rotation is one write: what its instants
// change is computed.
func At(secrets []outbound.Secret, now time.Time) []outbound.Secret {
	valid := make([]outbound.Secret, 0, len(secrets))
	promoted := false
	for _, s := range secrets {
		over := !s.Until.IsZero() && !now.Before(s.Until)
		switch {
		case s.State == outbound.SecretNext && over:
			s.State, s.Until, promoted = outbound.SecretCurrent, time.Time{}, true
		case over:
			continue
		case s.State == outbound.SecretCurrent && promoted:
			s.State = outbound.SecretPrevious
		}
		valid = append(valid, s)
	}
	return valid
}
