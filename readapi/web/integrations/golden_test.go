package integrations

import (
	"cmp"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

var hashedAsset = regexp.MustCompile(`/assets/[0-9a-f]{16}/`)

// TestGoldenIntegrations compares each administrator page with a reviewed golden file.
func TestGoldenIntegrations(t *testing.T) {
	t.Parallel()
	a, cookie := withHooks(t)
	a.answers["GET /api/admin/keys"], a.answers["GET /api/admin/keys/key_a"] = `{"keys":[`+keyA+`,`+keyB+`,`+keyC+`]}`, keyA
	a.answers["GET /api/admin/walls"] = `{"walls":[{"id":"wall_1","label":"desk","createdAt":"2031-01-01T00:00:00.000Z"}]}`
	a.answers["GET /api/admin/users"] = `{"users":[{"id":"usr_9","label":"Ada","role":"viewer","signIn":"link","until":"2031-04-06T00:00:00.000Z","version":7},{"id":"usr_8","label":"Eve","role":"admin","signIn":"provider","disabled":true,"version":2}],"invitations":[{"id":"usr_7","label":"night desk","role":"charge","createdAt":"2031-04-05T11:50:00.000Z","expiresAt":"2031-04-05T12:50:00.000Z"}]}`
	a.answers["GET /api/admin/audit?"] = `{"items":[{"at":"2031-04-05T11:00:00.000Z","by":"usr_9","action":"key.mint","subject":"key_a","before":null,"after":"v1"}],"nextCursor":"17"}`
	for path, languages := range map[string]string{
		"": "en", "/keys": "en", "/keys/new?preset=hr": "en", "/keys/key_a/rotate": "en", "/keys/key_a/revoke": "en",
		"/webhooks": "en", "/webhooks/new": "en", "/webhooks/whk_a": "en", "/webhooks/whk_a/edit": "en", "/webhooks/whk_a/replay": "en", "/webhooks/whk_a/commands/cmd_1": "en",
		"/walls": "en", "/walls/wall_1/revoke": "en", "/users": "en es", "/users/usr_9": "en", "/users/invitations/usr_7": "en", "/audit": "en",
	} {
		for language := range strings.FieldsSeq(languages) {
			r := httptest.NewRequest("GET", "/app/integrations"+path, nil)
			r.AddCookie(cookie)
			r.Header.Set("Accept-Language", language)
			w := httptest.NewRecorder()
			a.Router.ServeHTTP(w, r)
			name := strings.Trim(strings.NewReplacer("/", "_", "?", "_", "=", "_").Replace(cmp.Or(path, "firstrun")), "_") + "_" + language + ".html"
			html := strings.ReplaceAll(hashedAsset.ReplaceAllString(w.Body.String(), "/assets/x/"), "><", ">\n<") + "\n"
			if _, main, has := strings.Cut(html, "<main"); has && path != "" { // only the file of the path "" includes the common frame
				html = "<main" + main
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || string(want) != html {
				t.Errorf("%s differs (%v); run go test ./readapi/web/integrations -update and look at it", file, err)
			}
			if strings.Contains(html, ">[") {
				t.Errorf("%s lacks a text", name)
			}
		}
	}
}
