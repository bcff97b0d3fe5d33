package commands

import "testing"

// TestWhenAKeyEnds: a key ends at its expiry or its revocation, whichever is earlier. After a rotation, the revocation
// is in the future.
func TestWhenAKeyEnds(t *testing.T) {
	const early, late = "2031-04-05T12:00:00.000Z", "2031-04-06T12:00:00.000Z"
	for name, tt := range map[string]struct{ expires, revoked, want string }{
		"never":           {"", "", ""},
		"expires":         {early, "", early},
		"revoked":         {"", early, early},
		"revoked first":   {late, early, early},
		"expires earlier": {early, late, early},
	} {
		row := keyRow{ExpiresAt: tt.expires, RevokedAt: tt.revoked}
		if got := row.ends(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
