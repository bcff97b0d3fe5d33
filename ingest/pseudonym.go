package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"sync"
	"sync/atomic"
)

// Pseudonyms creates keyed pseudonyms of identifiers. Without the key, a pseudonym cannot be reversed and a guess
// cannot be tested.
//
// Each pseudonym is an HMAC-SHA-256, even the one made from all bytes of a message. On a CPU without SHA-256
// instructions, the compression function alone takes half of the time needed for a message (BenchmarkFacts).
//
// Three alternatives were rejected. Using BLAKE2b for messages saved a sixth of the time on such a CPU, but would be
// slower on a CPU with SHA-256 instructions. A cache from identifier to pseudonym would save less, and would keep
// patient identifiers in memory. crypto/hmac caches the two states of the key, so a short value already needs only
// two compressions; caching the states in our own code saved another tenth, but depends on an undocumented encoding
// of the state.
type Pseudonyms struct {
	idle *sync.Pool
	key  *atomic.Pointer[[]byte]
}

// NewPseudonyms returns Pseudonyms with the given key. A different key yields different pseudonyms, so the key must
// not change while any of its pseudonyms are stored.
func NewPseudonyms(key []byte) Pseudonyms {
	p := Pseudonyms{&sync.Pool{}, &atomic.Pointer[[]byte]{}}
	p.idle.New = func() any { return &keyed{mac: hmac.New(sha256.New, *p.key.Load())} }
	p.Begin(key)
	return p
}

// Begin sets the key of p and of all its copies. It must not be called after the first pseudonym has been made.
func (p Pseudonyms) Begin(key []byte) { p.key.Store(&key) }

// keyed is a reusable HMAC state. Setting up the key takes as long as computing a short pseudonym.
type keyed struct {
	mac hash.Hash
	buf []byte // never holds a value: an idle state must not retain a message
}

// pseudonymBytes is the number of digest bytes in a pseudonym. With 120 bits, the probability that any two of a
// billion identifiers collide is below 1 in 10^18.
const pseudonymBytes = 15

var pseudonymText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Append appends the pseudonym of a value in a hospital: 24 letters and digits. The pseudonym also depends on the
// hospital and the kind, so the same value has unrelated pseudonyms in two hospitals and as two kinds.
func (p Pseudonyms) Append(dst []byte, hospital, kind string, value []byte) []byte {
	k := p.idle.Get().(*keyed) //nolint:errcheck,forcetypeassert // no other type is stored
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

// Pseudonym returns the pseudonym that [Pseudonyms.Append] would append.
func (p Pseudonyms) Pseudonym(hospital, kind, value string) string {
	var text [pseudonymBytes / 5 * 8]byte
	return string(p.Append(text[:0], hospital, kind, []byte(value)))
}

// forHospital returns Pseudonym bound to one hospital.
func (p Pseudonyms) forHospital(hospital string) func(kind, value string) string {
	return func(kind, value string) string { return p.Pseudonym(hospital, kind, value) }
}
