package ingest_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/ingest"
)

// TestPseudonymsStay: pseudonyms must never change, because they are stored in the logs of installations and the
// databases of partners. The expected values were computed by an independent implementation (Python, hmac and
// base64).
func TestPseudonymsStay(t *testing.T) {
	message, err := os.ReadFile("hl7/testdata/bench_a01.hl7")
	if err != nil {
		t.Fatal(err)
	}
	const key = "0123456789abcdef0123456789abcdef"
	for name, tt := range map[string]struct{ key, hospital, kind, value, want string }{
		"visit":            {key, "stmary", "visit", "VN9001", "nj2wa4ripzfzxxzvswliwrpp"},
		"patient":          {key, "stmary", "patient", "MRN7001", "43ovq7q4igsdqgcvp5ebtmcj"},
		"another hospital": {key, "mercy", "visit", "VN9001", "6jua64f47c6tqhlj4ejqwo7u"},
		"a message":        {key, "stmary", "message", string(bytes.Trim(message, "\r\n")), "h53ycyicwktrj2xo47io2olb"},
		"a long value":     {key, "stmary", "message", strings.Repeat("x", 1000), "cjigeapyzaxjq6nwxy6balno"},
		"a long key":       {strings.Repeat("k", 100), "stmary", "visit", "", "y2rme5nquwwcadbtql47h63a"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ingest.NewPseudonyms([]byte(tt.key))
			for range 2 { // a reused state must give the same result
				if got := p.Pseudonym(tt.hospital, tt.kind, tt.value); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			}
		})
	}
}

// TestPseudonymIsHMAC: a pseudonym is the first 15 bytes, in base 32, of the HMAC-SHA-256 of hospital, kind and
// value, separated by zero bytes.
func TestPseudonymIsHMAC(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	p := ingest.NewPseudonyms(key)
	letters := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")
	rapid.Check(t, func(t *rapid.T) {
		hospital, kind := rapid.StringN(0, 80, -1).Draw(t, "hospital"), rapid.String().Draw(t, "kind")
		value := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value")
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(hospital + "\x00" + kind + "\x00"))
		mac.Write(value)
		want := "before " + letters.EncodeToString(mac.Sum(nil)[:15])
		if got := p.Append([]byte("before "), hospital, kind, value); string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
