package seal_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/internal/seal"
)

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
