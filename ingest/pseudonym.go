package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
)

// Pseudonyms makes keyed pseudonyms of identifiers. Whoever lacks the key can
// neither undo one nor test a guess.
type Pseudonyms struct{ key []byte }

// NewPseudonyms returns the maker for a key. Another key makes other pseudonyms:
// it must stay the same as long as what was made with it is kept.
func NewPseudonyms(key []byte) Pseudonyms { return Pseudonyms{key} }

// pseudonymBytes is how much of the digest is kept: with 120 bits two of a
// billion identifiers coincide with a chance below 1 in 10^18.
const pseudonymBytes = 15

var pseudonymText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Of returns the pseudonym of a value in a hospital: 24 letters and digits.
// Hospital and kind are part of what is authenticated, so the same value of two
// hospitals, or of two kinds, has nothing in common.
func (p Pseudonyms) Of(hospital, kind, value string) string {
	mac := hmac.New(sha256.New, p.key)
	for _, part := range []string{hospital, kind} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	mac.Write([]byte(value))
	var sum [sha256.Size]byte
	return pseudonymText.EncodeToString(mac.Sum(sum[:0])[:pseudonymBytes])
}

// in returns the maker bound to one hospital.
func (p Pseudonyms) in(hospital string) func(kind, value string) string {
	return func(kind, value string) string { return p.Of(hospital, kind, value) }
}
