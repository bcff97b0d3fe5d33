package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"sync"
	"sync/atomic"
)

// Pseudonyms makes keyed pseudonyms of identifiers. Whoever lacks the key can
// neither undo one nor test a guess.
//
// Each is an HMAC-SHA-256, also that of all bytes of a message. Where the processor
// has no instructions for SHA-256, its bare compressions are half of the time of a
// message (BenchmarkFacts). BLAKE2b for those bytes saved a sixth there, and would be
// slower where it has them; a cache from identifier to pseudonym would save less, and
// keep identifiers of patients in memory for it. Nothing is remembered between two
// values. A short one is two compressions already, for crypto/hmac keeps the two states
// of the key ready; to take those up and to pad by hand saved a tenth of it, and would
// lean on a form of the state that is not documented.
type Pseudonyms struct {
	idle *sync.Pool
	key  *atomic.Pointer[[]byte]
}

// NewPseudonyms returns the maker for a key. Another key makes other pseudonyms:
// it must stay the same as long as what was made with it is kept.
func NewPseudonyms(key []byte) Pseudonyms {
	p := Pseudonyms{&sync.Pool{}, &atomic.Pointer[[]byte]{}}
	p.idle.New = func() any { return &keyed{mac: hmac.New(sha256.New, *p.key.Load())} }
	p.Begin(key)
	return p
}

// Begin sets the key of all copies of the maker. It is called before the first
// pseudonym is made, and never after.
func (p Pseudonyms) Begin(key []byte) { p.key.Store(&key) }

// keyed is the state of the function under the key. It is kept and used again:
// taking up the key takes as long as a short pseudonym.
type keyed struct {
	mac hash.Hash
	buf []byte // never has a value in it: what is idle keeps no message
}

// pseudonymBytes is how much of the digest is kept: with 120 bits two of a
// billion identifiers coincide with a chance below 1 in 10^18.
const pseudonymBytes = 15

var pseudonymText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Append appends the pseudonym of a value in a hospital: 24 letters and digits.
// Hospital and kind are part of what is authenticated, so the same value of two
// hospitals, or of two kinds, has nothing in common.
func (p Pseudonyms) Append(dst []byte, hospital, kind string, value []byte) []byte {
	k := p.idle.Get().(*keyed) //nolint:errcheck,forcetypeassert // nothing else is in there
	k.buf = append(k.buf[:0], hospital...)
	k.buf = append(k.buf, 0)
	k.buf = append(k.buf, kind...)
	k.buf = append(k.buf, 0)
	k.mac.Reset()
	k.mac.Write(k.buf)
	k.mac.Write(value)
	k.buf = k.mac.Sum(k.buf[:0])
	dst = pseudonymText.AppendEncode(dst, k.buf[:pseudonymBytes])
	p.idle.Put(k)
	return dst
}

// Of returns the pseudonym as by Append.
func (p Pseudonyms) Of(hospital, kind, value string) string {
	var text [pseudonymBytes / 5 * 8]byte
	return string(p.Append(text[:0], hospital, kind, []byte(value)))
}

// in returns the maker bound to one hospital.
func (p Pseudonyms) in(hospital string) func(kind, value string) string {
	return func(kind, value string) string { return p.Of(hospital, kind, value) }
}
