package e2e

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/testkit/runtimes"
)

// keycloakRealm has one person, who is in two groups. Keycloak imports the realm with the address of the pages filled
// in.
const keycloakRealm = `{"realm": "health", "enabled": true, "sslRequired": "none",
	"groups": [{"name": "ob-admins"}, {"name": "visitors"}],
	"users": [{"username": "ada", "enabled": true, "firstName": "Ada", "lastName": "L.", "email": "ada@login.example", "emailVerified": true,
		"groups": ["/ob-admins", "/visitors"], "credentials": [{"type": "password", "value": "correct horse"}]}],
	"clients": [{"clientId": "svc", "secret": "keycloak-secret", "enabled": true, "protocol": "openid-connect", "standardFlowEnabled": true,
		"redirectUris": ["%s/oidc/callback"],
		"protocolMappers": [{"name": "groups", "protocol": "openid-connect", "protocolMapper": "oidc-group-membership-mapper",
			"config": {"claim.name": "groups", "full.path": "false", "id.token.claim": "true"}}]}]}`

// startKeycloak starts a Keycloak in development mode, and returns the address of its realm.
func startKeycloak(t *testing.T, public string) (issuer string) {
	t.Helper()
	needReaders(t)
	installed, err := filepath.Glob(filepath.Join(runtimes.Maven(t, filepath.Join("testdata", "keycloak")), "target", "lib", "keycloak-*"))
	if err != nil || len(installed) != 1 {
		t.Fatal(installed, err)
	}
	home := filepath.Join(t.TempDir(), "keycloak") // a copy, because Keycloak writes into the folder
	if err := os.CopyFS(home, os.DirFS(installed[0])); err != nil {
		t.Fatal(err)
	}
	realm := filepath.Join(home, "data", "import", "health.json")
	if err := os.MkdirAll(filepath.Dir(realm), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(realm, fmt.Appendf(nil, keycloakRealm, public), 0o600); err != nil {
		t.Fatal(err)
	}
	base := "http://127.0.0.1:" + mustFreePort(t)
	at, _ := url.Parse(base) //nolint:errcheck // the address was made above
	startProgram(t, "keycloak", "sh", []string{
		filepath.Join(home, "bin", "kc.sh"), "start-dev", "--http-host=127.0.0.1", "--http-port=" + at.Port(), "--import-realm",
	}, "JAVA_OPTS_KC_HEAP=-Xms64m -Xmx512m", "JAVA_OPTS_APPEND=-XX:TieredStopAtLevel=1").awaitFor(5*time.Minute, base+"/realms/health/.well-known/openid-configuration")
	return base + "/realms/health"
}

// loopbackJar is a cookie jar that sends Secure cookies over plain HTTP to loopback, as browsers do.
type loopbackJar struct{ http.CookieJar }

func secured(u *url.URL) *url.URL {
	s := *u
	s.Scheme = "https"
	return &s
}

func (j loopbackJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	j.CookieJar.SetCookies(secured(u), cookies)
}
func (j loopbackJar) Cookies(u *url.URL) []*http.Cookie { return j.CookieJar.Cookies(secured(u)) }

// keycloakForm matches the target of the form on Keycloak's sign-in page.
var keycloakForm = regexp.MustCompile(`<form id="kc-form-login"[^>]* action="([^"]+)"`)

// askKeycloak begins a sign-in on the pages, and follows redirects until Keycloak shows its form or redirects back to
// svc. If Keycloak shows its form, form is the target of the form; otherwise, form is empty, and back is the address
// of the redirect.
func (v *visitor) askKeycloak(begin url.Values) (form, back string) {
	v.t.Helper()
	begun := v.post(-1, "/oidc/start", begin)
	to := strings.TrimPrefix(begun.header.Get("Refresh"), "0;url=")
	if begun.status != http.StatusOK || to == "" {
		v.t.Fatalf("begun: %d %s", begun.status, begun.body)
	}
	for range 5 {
		got := v.get(-1, to)
		if found := keycloakForm.FindStringSubmatch(got.body); found != nil {
			return html.UnescapeString(found[1]), ""
		}
		if to = got.header.Get("Location"); to == "" {
			v.t.Fatalf("Keycloak answers %d: %s", got.status, got.body)
		}
		if strings.HasPrefix(to, v.base) {
			return "", to
		}
	}
	v.t.Fatalf("Keycloak leads to %s", to)
	return "", ""
}

// proves submits a password in Keycloak's form, and returns the address of the redirect.
func (v *visitor) proves(form, password string) (back string) {
	v.t.Helper()
	if form == "" {
		v.t.Fatal("Keycloak does not ask for the password")
	}
	got, err := v.ask(-1, http.MethodPost, form, url.Values{"username": {"ada"}, "password": {password}})
	if err != nil {
		v.t.Fatal(err)
	}
	return got.header.Get("Location")
}

// TestKeycloak signs a person in through Keycloak. The first sign-in uses Keycloak's form. After a sign-out from svc,
// the next sign-in needs no form, because the Keycloak session continues; a fresh sign-in needs the form again. Once
// the user is disabled, the Keycloak session no longer opens the pages.
func TestKeycloak(t *testing.T) {
	needReaders(t)
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	p := startPair(t, kafka, redis, func(public string) []string {
		return []string{
			"SVC_OIDC_ISSUER=" + startKeycloak(t, public), "SVC_OIDC_CLIENT_ID=svc", "SVC_OIDC_CLIENT_SECRET=keycloak-secret",
			"SVC_OIDC_ROLES=ob-admins=north:admin",
		}
	}, "north")
	v := p.visitor(t)
	v.http.Jar = loopbackJar{v.http.Jar}
	form, _ := v.askKeycloak(nil)
	if back := v.proves(form, "wrong"); strings.HasPrefix(back, v.base) {
		t.Fatalf("a wrong password leads to %s", back)
	}
	form, _ = v.askKeycloak(nil)
	session := func(got *visited) *http.Cookie {
		t.Helper()
		i := slices.IndexFunc(got.cookies, func(c *http.Cookie) bool { return c.Name == "__Host-svc" && c.Value != "" })
		if got.status != http.StatusSeeOther || i < 0 {
			t.Fatalf("not signed in: %d %s", got.status, got.body)
		}
		return got.cookies[i]
	}
	kept := session(v.get(-1, v.proves(form, "correct horse")))
	for reader := range p.direct { // a recent auth_time counts as a fresh sign-in
		for _, path := range []string{"/app", "/app/integrations/keys/new"} {
			eventually(t, 20*time.Second, func() error {
				if got := v.get(reader, path); got.status != http.StatusOK {
					return fmt.Errorf("%s on reader %d: %d", path, reader, got.status)
				}
				return nil
			})
		}
	}
	if people := p.people(t); len(people) != 1 || people[0].SignIn != "provider" || people[0].Role != "admin" || people[0].Label != "Ada L." {
		t.Errorf("people %+v", people)
	}

	// After a sign-out from svc, Keycloak's session continues: Keycloak redirects back without showing its form.
	if got := v.post(0, "/signout", nil); got.status != http.StatusSeeOther {
		t.Fatalf("signed out: %d", got.status)
	}
	p.ends(t, kept)
	form, back := v.askKeycloak(nil)
	if form != "" {
		t.Fatal("Keycloak asks for the password although its session goes on")
	}
	kept = session(v.get(-1, back))
	// For a fresh sign-in, Keycloak must show its form.
	form, _ = v.askKeycloak(url.Values{"again": {"1"}})
	again := session(v.get(-1, v.proves(form, "correct horse")))
	p.ends(t, kept) // a new session of the same browser ends the previous one
	kept = again

	id := p.newestUser(t)
	a, err := p.admin.do(http.MethodPatch, "/api/admin/users/"+id, "application/json", `{"disabled":true}`)
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%v %v", err, a)
	}
	p.ends(t, kept)
	if _, back = v.askKeycloak(nil); back == "" {
		t.Fatal("Keycloak asks for the password although its session goes on")
	}
	got := v.get(-1, back)
	for reader := range p.direct {
		if in := v.get(reader, "/app"); in.status == http.StatusOK {
			t.Errorf("locked, %d from Keycloak, then in", got.status)
		}
	}
}
