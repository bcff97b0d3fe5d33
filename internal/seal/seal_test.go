package seal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/internal/seal"
)

var (
	first  = strings.Repeat("first key of the operator ", 2)
	second = strings.Repeat("second key of the operator", 2)
)

func ring(t interface{ Fatal(...any) }, keys ...string) *seal.Keyring {
	r, err := seal.NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOpensWhatItSealed: a value can be opened only with its name, and does not occur in its ciphertext.
func TestOpensWhatItSealed(t *testing.T) {
	r := ring(t, first)
	rapid.Check(t, func(t *rapid.T) {
		// At least six bytes, because a shorter value can occur in the ciphertext by chance.
		clear := rapid.SliceOfN(rapid.Byte(), 6, 200).Draw(t, "clear")
		name, other := rapid.String().Draw(t, "name"), rapid.String().Draw(t, "other")
		sealed := r.Seal(name, clear)
		if bytes.Contains(sealed, clear) {
			t.Fatalf("the clear value stands in what was sealed")
		}
		if bytes.Equal(sealed, r.Seal(name, clear)) {
			t.Fatalf("the same twice: the nonce repeats")
		}
		if got, err := r.Open(name, sealed); err != nil || !bytes.Equal(got, clear) {
			t.Fatalf("opens as %q, %v", got, err)
		}
		if name != other {
			if got, err := r.Open(other, sealed); !errors.Is(err, seal.ErrBroken) || got != nil {
				t.Fatalf("opens in another place: %v", err)
			}
		}
	})
}

// TestTampering changes each byte, truncates to each length, and appends a byte. The result can never be opened.
func TestTampering(t *testing.T) {
	r := ring(t, first)
	clear := []byte("whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY")
	sealed := r.Seal("north/webhook/whk_1 sec_1", clear)
	try := func(what string, at int, changed []byte) {
		t.Helper()
		if got, err := r.Open("north/webhook/whk_1 sec_1", changed); !errors.Is(err, seal.ErrBroken) && !errors.Is(err, seal.ErrKey) || got != nil {
			t.Errorf("%s %d: %q, %v", what, at, got, err)
		} else if strings.Contains(err.Error(), "whsec") {
			t.Errorf("%s %d: the error tells: %v", what, at, err)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		try("changed byte", i, changed)
		if i > 0 {
			try("cut at", i, sealed[:i])
		}
	}
	try("longer", 0, append(bytes.Clone(sealed), 0))
}

// TestKeyMixUps: a ring opens values that any of its keys sealed, seals with the newest, and reports which values still
// need an older key.
func TestKeyMixUps(t *testing.T) {
	old, both, swapped, other := ring(t, first), ring(t, second, first), ring(t, first, second), ring(t, second)
	sealed := old.Seal("n", []byte("value"))
	for name, tt := range map[string]struct {
		ring *seal.Keyring
		err  error
		old  bool
	}{
		"its own":         {old, nil, false},
		"newer beside":    {both, nil, true},
		"older beside":    {swapped, nil, false},
		"another alone":   {other, seal.ErrKey, false},
		"same text again": {ring(t, first), nil, false},
	} {
		got, err := tt.ring.Open("n", sealed)
		if !errors.Is(err, tt.err) || tt.err == nil && string(got) != "value" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if tt.ring.Has(sealed) != (tt.err == nil) {
			t.Errorf("%s: has is %t", name, tt.err != nil)
		}
		if tt.ring.Old(sealed) != tt.old {
			t.Errorf("%s: old is %t", name, !tt.old)
		}
	}
	if again := both.Seal("n", []byte("value")); both.Old(again) {
		t.Error("seals with an old key")
	} else if _, err := other.Open("n", again); err != nil {
		t.Errorf("what was sealed anew needs the old key: %v", err)
	}
}

func TestKeysOfTooFewCharacters(t *testing.T) {
	for _, keys := range [][]string{nil, {""}, {first[:31]}, {first, "short"}} {
		if _, err := seal.NewKeyring(keys...); err == nil || strings.Contains(err.Error(), "short") && len(keys) > 1 {
			t.Errorf("%d keys: %v", len(keys), err)
		}
	}
}

func TestNothingStaysNothing(t *testing.T) {
	r := ring(t, first)
	if sealed := r.Seal("n", nil); sealed != nil {
		t.Errorf("sealed %x", sealed)
	}
	if clear, err := r.Open("n", nil); clear != nil || err != nil {
		t.Errorf("opened %q, %v", clear, err)
	}
}

func FuzzOpen(f *testing.F) {
	r := ring(f, first)
	f.Add([]byte{})
	f.Add(r.Seal("n", []byte("value")))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if clear, err := r.Open("n", sealed); err == nil && len(sealed) > 0 && string(clear) != "value" {
			t.Errorf("opens as %q", clear)
		}
	})
}

// TestPurposes: a ring for one purpose opens only values for that purpose, including values that an older key sealed.
// It seals with the key that the original ring uses.
func TestPurposes(t *testing.T) {
	t.Parallel()
	const older, newer = "an older key with at least 32 characters", "a newer key with at least 32 characters"
	before, err := seal.NewKeyring(older)
	if err != nil {
		t.Fatal(err)
	}
	after, err := seal.NewKeyring(newer, older)
	if err != nil {
		t.Fatal(err)
	}
	of := func(r *seal.Keyring, purpose string) *seal.Keyring {
		t.Helper()
		ring, err := r.For(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return ring
	}
	sealed := of(before, "pages").Seal("name", []byte("value"))
	if clear, err := of(after, "pages").Open("name", sealed); err != nil || string(clear) != "value" {
		t.Errorf("by the ring of later: %q, %v", clear, err)
	}
	for name, ring := range map[string]*seal.Keyring{"the ring itself": before, "another purpose": of(before, "actor")} {
		if _, err := ring.Open("name", sealed); err == nil {
			t.Errorf("%s opens it", name)
		}
	}
	pages := of(after, "pages")
	after.Use(before.Fingerprint())
	if _, err := of(before, "pages").Open("name", pages.Seal("name", []byte("value"))); err != nil {
		t.Errorf("it seals with another key than its ring: %v", err)
	}
	macs := of(after, "subjects").MAC("ada")
	if len(macs) != 2 || string(macs[1]) != string(of(before, "subjects").MAC("ada")[0]) || string(macs[0]) == string(macs[1]) {
		t.Error("hashes of older keys are missing")
	}
	if string(of(before, "subjects").MAC("ada")[0]) == string(of(before, "subjects").MAC("bob")[0]) {
		t.Error("two values have one hash")
	}
}

func TestCheck(t *testing.T) {
	for key, good := range map[string]bool{
		"":                                          false,
		strings.Repeat("a", 31):                     false,
		strings.Repeat("a", 32):                     false,
		strings.Repeat("a", 4096):                   false,
		strings.Repeat("ab", 32):                    false,
		strings.Repeat("password", 8):               false,
		strings.Repeat("0123456789", 7):             false,
		strings.Repeat("\x00", 64):                  false,
		"93471058263915724860175390284617":          true,
		"compose-only-secrets-key-of-32-characters": true,
		"the words of somebody who likes words":     true,
	} {
		if err := seal.Check(key); (err == nil) != good {
			t.Errorf("%.40q: %v", key, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) { // like the output of openssl rand
		bytes := rapid.SliceOfN(rapid.ByteRange(0, 15), 64, 64).Draw(t, "digits")
		distinct := map[byte]bool{}
		for i, b := range bytes {
			bytes[i] = "0123456789abcdef"[b]
			distinct[b] = true
		}
		if err := seal.Check(string(bytes)); err != nil && len(distinct) > 8 {
			t.Fatal(err)
		}
		short := rapid.SliceOfN(rapid.Byte(), 1, 15).Draw(t, "short")
		if seal.Check(strings.Repeat(string(short), 32)) == nil {
			t.Fatalf("%q over and over is a key", short)
		}
	})
}
