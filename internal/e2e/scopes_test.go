package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi/access"
)

// unknown matches the unique part of an id.
var unknown = regexp.MustCompile(`[0-9a-f]{8,}`)

// TestScopes sends every operation of the document with every kind of key that must not be accepted: no key, a
// malformed, unknown, expired or revoked key, a key with any scope but the required one, and a key of another
// hospital with all scopes.
func TestScopes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	mint := func(hospital, scopes string, more ...string) string {
		return cli(t, nil, append([]string{"keys", "mint", "--data", dir, "--hospital", hospital, "--name", "scopes " + scopes, "--scopes", scopes, "--rate", "0"}, more...)...)
	}
	cli(t, nil, "hospitals", "create", "--data", dir, "--id", "other", "--name", "Other", "--timezone", "America/Chicago")
	ours := newPartner(d.BaseURL, d.HospitalID, mint(d.HospitalID, "all,admin", "--name", "contract"))
	none := map[string]string{
		"no key": "", "no token": "svc_x", "unknown": "svc_" + strings.Repeat("0", 64),
		"expired": mint(d.HospitalID, "all,admin", "--expires", "1s"),
	}
	var ended struct{ ID, Key string }
	into(t, []byte(mint(d.HospitalID, "all,admin", "--json")), &ended)
	cli(t, nil, "keys", "revoke", "--data", dir, ended.ID)
	none["revoked"] = ended.Key
	scoped := map[string]*partner{}
	for _, scope := range append(access.Scopes(), access.Admin) {
		scoped[string(scope)] = newPartner(d.BaseURL, d.HospitalID, mint(d.HospitalID, string(scope)))
	}
	foreign := newPartner(d.BaseURL, "other", mint("other", "all,admin"))
	eventually(t, 10*time.Second, func() error {
		for _, p := range append([]*partner{ours, foreign}, scoped["admin"]) {
			if a, err := p.do("GET", "/api/admin/keys", "", ""); err != nil || a.status != http.StatusOK {
				return fmt.Errorf("a key is not honored yet: %w", err)
			}
		}
		for name, key := range none {
			if a, err := newPartner(d.BaseURL, "", key).do("GET", "/api/v1/level", "", ""); err != nil || a.status != http.StatusUnauthorized {
				return fmt.Errorf("%s: %w, %d", name, err, a.status)
			}
		}
		return nil
	})
	ids, _ := furnished(t, d, ours)
	const canary = "CANARY-LDR"
	ours.accepted(t, "census", `{"rooms":[{"roomId":1,"roomLabel":"`+canary+`","status":"occupied","primaryFactor":"labor-standard"}]}`)
	secret := []string{canary, ids["MAPPING"], ids["WEBHOOK"], ids["DELIVERY"], ids["COMMAND"], ids["EPISODE"]}

	var refusal []byte // the answer to a malformed key, which is the same for every request
	asked := 0
	ours.described(t).each(func(method, path string, o *operation) {
		if len(o.Security) == 0 || o.Security[0]["key"] == nil {
			return
		}
		target := path
		for prefix, id := range map[string]string{
			"/api/admin/dead-letters/": ids["DEAD_LETTER"], "/api/admin/terminology/{id}": ids["MAPPING"], "/api/admin/webhooks/": ids["WEBHOOK"],
			"/api/v1/webhooks/": ids["WEBHOOK"], "/api/admin/deliveries/": ids["DELIVERY"], "/api/admin/commands/": ids["COMMAND"],
			"/api/admin/alerts/episodes/": ids["EPISODE"],
		} {
			if strings.HasPrefix(path, prefix) {
				target = strings.ReplaceAll(path, "{id}", id)
			}
		}
		target = o.target(target)
		kind, body := "", ""
		for taken, media := range o.RequestBody.Content {
			for _, example := range media.Examples {
				kind, body = taken, text(example.Value)
			}
		}
		ask := func(by *partner, want int) *answer {
			t.Helper()
			asked++
			a, err := by.do(strings.ToUpper(method), target, kind, body)
			if err != nil || want != 0 && a.status != want {
				t.Errorf("%s %s: %v %d, want %d: %s", method, path, err, a.status, want, a.raw)
			}
			return a
		}
		for name, key := range none {
			a := ask(newPartner(d.BaseURL, "", key), http.StatusUnauthorized)
			if refusal == nil {
				refusal = a.raw
			}
			if !bytes.Equal(a.raw, refusal) || a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s with %s says something else than others: %s", method, path, name, a.raw)
			}
		}
		for scope, by := range scoped {
			if o.Scope != "" && scope != o.Scope {
				if a := ask(by, http.StatusForbidden); a.Error.Code != "forbidden_scope" || !strings.Contains(a.Error.Message, o.Scope) {
					t.Errorf("%s %s with %s: %s", method, path, scope, a.raw)
				}
			}
		}
		a := ask(foreign, 0)
		if found := target; a.status == http.StatusNotFound && target != path {
			// The answer must be the same as for an id that does not exist.
			target = unknown.ReplaceAllStringFunc(target, func(id string) string { return strings.Repeat("0", len(id)) })
			if nobodys := ask(foreign, http.StatusNotFound); target != found && !bytes.Equal(nobodys.raw, a.raw) {
				t.Errorf("%s %s of another hospital: %s\nof nobody: %s", method, path, a.raw, nobodys.raw)
			}
			target = found
		}
		if a.status >= http.StatusInternalServerError {
			t.Errorf("%s %s of another hospital: %d %s", method, path, a.status, a.raw)
		}
		if a.OK && a.Meta.HospitalID != "other" {
			t.Errorf("%s %s answers another hospital for %s", method, path, a.Meta.HospitalID)
		}
		for _, word := range secret {
			if bytes.Contains(a.raw, []byte(word)) {
				t.Errorf("%s %s tells another hospital %s: %s", method, path, word, a.raw)
			}
		}
	})
	if asked < 800 {
		t.Errorf("asked %d times", asked)
	}
	// No request from the other hospital may have an effect on this one.
	for _, path := range []string{"/api/admin/webhooks/" + ids["WEBHOOK"], "/api/admin/deliveries/" + ids["DELIVERY"]} {
		ours.get(t, path)
	}
	if a := ours.get(t, "/api/v1/unit-state"); a.status != http.StatusOK || !bytes.Contains(a.raw, []byte(canary)) {
		t.Errorf("the unit is another: %s", a.raw)
	}
}
