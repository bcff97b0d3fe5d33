// Package seal keeps what must not lie about in the clear: signing secrets,
// telephone numbers, addresses, in records that many may read.
//
// A sealed value is AES-256-GCM under a key of the operator's, bound to the name
// of the place where it lies: copied to another record or another field it does
// not open. It names the key it was sealed with, so a [Keyring] seals with the
// newest key and opens with older ones for as long as they are configured.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// What can be wrong with a sealed value. Neither tells a value.
var (
	// ErrKey says that it was sealed with a key that the ring does not have.
	ErrKey = errors.New("sealed with a key that is not configured")
	// ErrBroken says that it was changed, or lies where it was not put.
	ErrBroken = errors.New("not what was sealed here")
)

// A sealed value is a version, the mark of the key, the nonce, the ciphertext.
const (
	version  = 1
	markSize = 4
	header   = 1 + markSize
)

// Keyring seals and opens. It is safe for concurrent use.
type Keyring struct {
	keys    []key // the newest first
	sealing atomic.Int32
}

type key struct {
	mark        [markSize]byte
	fingerprint Fingerprint
	aead        cipher.AEAD
}

// Fingerprint tells keys apart. It is derived of a key one way, so it may be read by
// anybody.
type Fingerprint [16]byte

// String is what operators compare: the first four bytes.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:4]) }

// Fingerprint is that of the newest key.
func (r *Keyring) Fingerprint() Fingerprint { return r.keys[0].fingerprint }

// Use has the ring seal with the key of a fingerprint. It reports whether the ring has
// that key; if not, it goes on as before.
func (r *Keyring) Use(f Fingerprint) bool {
	at := slices.IndexFunc(r.keys, func(k key) bool { return k.fingerprint == f })
	if at >= 0 {
		r.sealing.Store(int32(at)) //nolint:gosec // a handful
	}
	return at >= 0
}

// NewKeyring returns a ring that opens with all keys, and seals with the first until
// [Keyring.Use] says otherwise. A
// key is any text of at least [LeastKey] characters; what encrypts is derived from
// it (HKDF-SHA-256, RFC 5869), so a key may be words as well as random bytes.
func NewKeyring(keys ...string) (*Keyring, error) {
	ring := &Keyring{}
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
	block, err := aes.NewCipher(secret)
	if err != nil {
		return k, fmt.Errorf("derive a key: %w", err)
	}
	// 96 random bits a time: 2^32 values under one key stay far below the bound of
	// NIST SP 800-38D, and settings are few.
	if k.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return k, fmt.Errorf("derive a key: %w", err)
	}
	return k, nil
}

// Seal seals a value for the place of a name. Nothing stays nothing.
func (r *Keyring) Seal(name string, clear []byte) []byte {
	if len(clear) == 0 {
		return nil
	}
	k := &r.keys[r.sealing.Load()]
	sealed := make([]byte, 0, header+k.aead.Overhead()+len(clear))
	sealed = append(append(sealed, version), k.mark[:]...)
	return k.aead.Seal(sealed, nil, clear, []byte(name)) //nolint:gosec // no nonce: this AEAD draws its own
}

// Open returns what was sealed for the place of a name. The errors are ErrKey and
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

// Old reports whether a value was sealed with a key that is not the newest, so
// that this one must stay configured.
func (r *Keyring) Old(sealed []byte) bool {
	k, err := r.find(sealed)
	return err == nil && k != &r.keys[0]
}

// Has reports whether a value was sealed with one of the keys.
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
