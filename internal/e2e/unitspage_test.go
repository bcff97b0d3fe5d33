package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/testkit/oidctest"
)

// TestPagesOfSeveralHospitals inspects the pages of a supervisor in both languages: the list of hospitals, the pages
// of one hospital, and the unit page of a hospital that has a long name and no data.
func TestPagesOfSeveralHospitals(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	provider := oidctest.New(t, time.Now)
	p := startPair(t, kafka, redis, func(string) []string {
		return []string{
			"SVC_OIDC_ISSUER=" + provider.URL, "SVC_OIDC_CLIENT_ID=" + oidctest.ClientID, "SVC_OIDC_CLIENT_SECRET=" + oidctest.ClientSecret,
			"SVC_OIDC_ROLES=it=*:admin", "SVC_UNAUTHORIZED_RATE=0",
		}
	}, "north", "south", "university-hospital-of-the-southwest")
	red := p.partners[1]
	red.accepted(t, "census", census(t, 12, "labor-standard+high-eclampsia", "csection-intraop", "pp-couplet", "empty"))
	red.accepted(t, "staffing", staffing(3, false))
	for _, language := range []string{"en-US", "es-MX"} {
		visitor := p.visitor(t)
		in := p.provided(t, visitor, provider, nil, map[string]any{"sub": "super" + language, "groups": []string{"it"}, "auth_time": time.Now().Unix()})
		if in.status != http.StatusSeeOther {
			t.Fatalf("%d %s", in.status, in.body)
		}
		var cookies []map[string]any
		for _, c := range in.cookies {
			if c.MaxAge >= 0 {
				cookies = append(cookies, map[string]any{"name": c.Name, "value": c.Value, "url": p.proxy.URL, "secure": true, "httpOnly": true, "sameSite": "Lax"})
			}
		}
		as := windows[1]
		as.language = language
		v := b.window(t, p.proxy.URL, as, cookies...)
		v.translated = language != "en-US"
		for _, path := range []string{
			"/app/units", "/app/u/south", "/app/u/south/rooms/1", "/app/u/south/trends", "/app/u/south/print",
			"/app/u/south/integrations", "/app/u/university-hospital-of-the-southwest", "/app/sessions",
		} {
			eventually(t, 30*time.Second, func() error { // until the reader knows the session
				if status, at := v.visit(path); status != http.StatusOK || !strings.HasPrefix(at, path) {
					return fmt.Errorf("%s: %d at %s", path, status, at)
				}
				return nil
			})
			v.complaints()
			v.inspect("several-" + language[:2] + strings.ReplaceAll(path, "/", "-"))
		}
	}
}
