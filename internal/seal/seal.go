// Package seal encrypts values that must not be stored in plaintext: signing secrets, telephone numbers, addresses.
//
// A sealed value is encrypted with AES-256-GCM and an operator's key, and is bound to the name of the field that
// stores it. A copy in a different record or field cannot be opened. The value identifies the key that sealed it, so
// a [Keyring] opens values that any of its keys has sealed. It seals with the newest key unless [Keyring.Use] chooses
// a different one.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// The errors that [Keyring.Open] returns. Neither contains the value.
var (
	// ErrKey means that the ring does not have the key that sealed the value.
	ErrKey = errors.New("encrypted with a key that is not configured")
	// ErrBroken means that the value was modified, or was sealed for a different record or field.
	ErrBroken = errors.New("encrypted for a different record, or modified")
)

// The layout of a sealed value is: version, mark that identifies the key, nonce, ciphertext.
const (
	version  = 1
	markSize = 4
	header   = 1 + markSize
)

// Keyring seals and opens values. It is safe for concurrent use.
type Keyring struct {
	keys    []key // newest first
	sealing *atomic.Int32
}

type key struct {
	mark        [markSize]byte
	fingerprint Fingerprint
	secret      []byte
	aead        cipher.AEAD
}

// Fingerprint identifies a key. It is a one-way hash of the key, so it may be published.
type Fingerprint [16]byte

// String returns the first four bytes in hex, for operators to compare.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:4]) }

// Fingerprint returns the fingerprint of the newest key.
func (r *Keyring) Fingerprint() Fingerprint { return r.keys[0].fingerprint }

// Use makes the ring seal with the key that has the given fingerprint. It reports whether the ring has that key; if
// not, nothing changes.
func (r *Keyring) Use(f Fingerprint) bool {
	at := slices.IndexFunc(r.keys, func(k key) bool { return k.fingerprint == f })
	if at >= 0 {
		r.sealing.Store(int32(at)) //nolint:gosec // there are only a few keys
	}
	return at >= 0
}

// NewKeyring returns a ring that opens with all keys, and seals with the first key until [Keyring.Use] chooses a
// different one. A key is any string of at least [LeastKey] characters. The encryption key is derived from this
// string (HKDF-SHA-256, RFC 5869), so the string may have any format.
func NewKeyring(keys ...string) (*Keyring, error) {
	ring := &Keyring{sealing: new(atomic.Int32)}
	for _, text := range keys {
		if err := checkLength(text); err != nil {
			return nil, fmt.Errorf("a key: %w", err)
		}
		one, err := derive(text)
		if err != nil {
			return nil, err
		}
		ring.keys = append(ring.keys, one)
	}
	if len(ring.keys) == 0 {
		return nil, errors.New("no key")
	}
	return ring, nil
}

func derive(text string) (k key, err error) {
	secret, err := hkdf.Key(sha256.New, []byte(text), nil, "svc.v1 seal", 32)
	if err != nil {
		return k, fmt.Errorf("derive a key: %w", err)
	}
	mark, err := hkdf.Key(sha256.New, []byte(text), nil, "svc.v1 seal mark", markSize)
	if err != nil {
		return k, fmt.Errorf("derive a mark: %w", err)
	}
	copy(k.mark[:], mark)
	fingerprint, err := hkdf.Key(sha256.New, []byte(text), nil, "svc.v1 fingerprint", len(k.fingerprint))
	if err != nil {
		return k, fmt.Errorf("derive a fingerprint: %w", err)
	}
	copy(k.fingerprint[:], fingerprint)
	k.secret = secret
	k.aead, err = aeadOf(secret)
	return k, err
}

func aeadOf(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	// Each nonce has 96 random bits. NIST SP 800-38D allows 2^32 values per key, and svc seals far fewer.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return aead, nil
}

// For derives a ring for values with a different purpose. Each key of the new ring is derived from a key of this
// ring, and the new ring always seals with the key that [Keyring.Use] has chosen for this ring. Neither ring can open
// values that the other has sealed.
func (r *Keyring) For(purpose string) (*Keyring, error) {
	other := &Keyring{keys: make([]key, len(r.keys)), sealing: r.sealing}
	for i, k := range r.keys {
		secret, err := hkdf.Key(sha256.New, k.secret, nil, "svc.v1 "+purpose, len(k.secret))
		if err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
		k.secret = secret
		if k.aead, err = aeadOf(secret); err != nil {
			return nil, err
		}
		other.keys[i] = k
	}
	return other, nil
}

// MAC returns a keyed hash of a value for each key of the ring, the newest first.
func (r *Keyring) MAC(value string) [][]byte {
	all := make([][]byte, len(r.keys))
	for i := range r.keys {
		mac := hmac.New(sha256.New, r.keys[i].secret)
		mac.Write([]byte(value))
		all[i] = mac.Sum(nil)
	}
	return all
}

// Seal encrypts a value for the record or field with the given name. An empty value remains empty.
func (r *Keyring) Seal(name string, clear []byte) []byte {
	if len(clear) == 0 {
		return nil
	}
	k := &r.keys[r.sealing.Load()]
	sealed := make([]byte, 0, header+k.aead.Overhead()+len(clear))
	sealed = append(append(sealed, version), k.mark[:]...)
	return k.aead.Seal(sealed, nil, clear, []byte(name)) //nolint:gosec // the nonce is nil, because this AEAD generates its own
}

// Open decrypts a value that was sealed for the record or field with the given name. The errors are ErrKey and
// ErrBroken.
func (r *Keyring) Open(name string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	k, err := r.find(sealed)
	if err != nil {
		return nil, err
	}
	clear, err := k.aead.Open(nil, nil, sealed[header:], []byte(name))
	if err != nil {
		return nil, ErrBroken
	}
	return clear, nil
}

// Old reports whether an older key in the ring sealed the value. If so, that key must remain configured.
func (r *Keyring) Old(sealed []byte) bool {
	k, err := r.find(sealed)
	return err == nil && k != &r.keys[0]
}

// Has reports whether the ring has the key that sealed the value.
func (r *Keyring) Has(sealed []byte) bool {
	_, err := r.find(sealed)
	return err == nil
}

func (r *Keyring) find(sealed []byte) (*key, error) {
	if len(sealed) <= header || sealed[0] != version {
		return nil, ErrBroken
	}
	for i := range r.keys {
		if [markSize]byte(sealed[1:header]) == r.keys[i].mark {
			return &r.keys[i], nil
		}
	}
	return nil, ErrKey
}

// LeastKey is the minimum length of a key in characters.
const LeastKey = 32

// leastPairs is the minimum number of different pairs of neighboring characters in a key. A string that repeats a
// sequence of up to 15 characters has fewer such pairs; 32 random digits have about 27.
const leastPairs = 16

// Check returns an error if a string is too weak to be a new key. It detects repetition, but not guessable words.
func Check(key string) error {
	if err := checkLength(key); err != nil {
		return err
	}
	pairs := map[[2]byte]bool{}
	for i := range len(key) - 1 {
		pairs[[2]byte{key[i], key[i+1]}] = true
	}
	if len(pairs) < leastPairs {
		return errors.New("must be random, but this key has repetitions; create a key with openssl rand -hex 32")
	}
	return nil
}

func checkLength(key string) error {
	if len(key) < LeastKey {
		return fmt.Errorf("must have at least %d characters", LeastKey)
	}
	return nil
}
