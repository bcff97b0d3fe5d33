package keys_test

import (
	"fmt"
	"testing"

	"svc/internal/admin/keys"
	"svc/internal/httpapi/access"
)

// TestKeysOfAHospitalAreBounded: a hospital with 200 valid keys cannot get another one, except by one rotation. The
// keys of other hospitals and keys that have ended do not count.
func TestKeysOfAHospitalAreBounded(t *testing.T) {
	h := open(t)
	for n := range keys.Most + 50 { // keys of a different hospital, and keys that have ended
		key, _ := access.Mint(access.Key{Hospital: "south", Scopes: access.Scopes()}, h.now)
		if n%2 == 0 {
			key, _ = access.Mint(access.Key{Hospital: "north", Scopes: access.Scopes()}, h.now)
			key.RevokedAt = h.now
		}
		h.register.SetKey(key)
	}
	there := 0
	for _, key := range h.register.Keys("north") {
		if key.Valid(h.now) {
			there++
		}
	}
	var last row
	for n := range keys.Most - there {
		last, _ = h.ask("admin", "POST", "/api/admin/keys", fmt.Sprintf(`{"name":"n%d","scopes":["all"]}`, n), 200)
	}
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 422)
	last, _ = h.ask("admin", "POST", "/api/admin/keys/"+last.ID+"/rotate", `{"overlap":"1h"}`, 200)
	h.ask("admin", "POST", "/api/admin/keys/"+last.ID+"/rotate", `{"overlap":"1h"}`, 422)
	h.ask("admin", "DELETE", "/api/admin/keys/"+last.ID, "", 200)
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 422) // the rotated key is valid for another hour
	h.now = h.now.Add(2 * 3600e9)
	h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 200)
}

// TestOnlyTheCommandLineMakesKeysWithoutALimit: over HTTP, a rate of 0 is out of range.
func TestOnlyTheCommandLineMakesKeysWithoutALimit(t *testing.T) {
	h := open(t)
	for _, rate := range []string{"0", "0.0", "-0", "-1"} {
		h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"],"rate":`+rate+`}`, 400)
	}
	if made, _ := h.ask("admin", "POST", "/api/admin/keys", `{"name":"n","scopes":["all"]}`, 200); made.Rate != access.DefaultRate {
		t.Errorf("%+v", made)
	}
}
