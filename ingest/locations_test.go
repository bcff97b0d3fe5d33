package ingest_test

import (
	"net/http"
	"strings"
	"testing"

	"svc/internal/httpapi/access"
)

// TestLocationsAtOnce: a location table is accepted or refused as a whole, and each fault names the row.
func TestLocationsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"two rows":       {`{"locations":[{"pointOfCare":"A"},{"pointOfCare":"B","room":"1","roomId":9}]}`, 200, `"ids":["`},
		"one row":        {`{"pointOfCare":"A","outside":true}`, 200, `"ids":["`},
		"no rows":        {`{"locations":[]}`, 400, `"path":"locations","rule":"minItems:1"`},
		"no list":        {`{"locations":7}`, 400, `"path":"locations"`},
		"one is wrong":   {`{"locations":[{"pointOfCare":"A"},{"bed":"1"}]}`, 422, `"path":"locations[1].pointOfCare","rule":"required"`},
		"twice the same": {`{"locations":[{"pointOfCare":"A"},{"pointOfCare":"A","outside":true}]}`, 422, `"path":"locations[1]","rule":"unique"`},
		"outside a room": {`{"locations":[{"pointOfCare":"A","roomId":3,"outside":true}]}`, 422, `"path":"locations[0].outside","rule":"withoutRoomId"`},
		"an odd factor":  {`{"locations":[{"pointOfCare":"A","primaryFactor":"no-such"}]}`, 422, `"path":"locations[0].primaryFactor"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			admin, secret := access.Mint(access.Key{Hospital: "stmary", Scopes: []access.Scope{access.Admin}}, now)
			register := access.NewRegister(d.config.Shell.Now)
			register.SetKey(admin)
			d.config.Shell.Lookup = register.Lookup
			d.Handler = mounted(d.config)
			r := request("", strings.NewReader(c.body), "Authorization", "Bearer "+secret)
			r.Method, r.URL.Path = http.MethodPost, "/api/admin/locations"
			if a := d.do(t, r); a.status != c.status || !strings.Contains(a.raw, c.says) {
				t.Errorf("%d %s, want %d with %s", a.status, a.raw, c.status, c.says)
			}
		})
	}
}
