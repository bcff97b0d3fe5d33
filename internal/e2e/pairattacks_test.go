package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/testkit/oidctest"
)

// TestTwoReadersBehindTLS uses and attacks two svc read processes behind a proxy that terminates TLS. A change that one
// process accepts must take effect on the other.
func TestTwoReadersBehindTLS(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	attacksPair(t, kafka, redis)
}

// TestTwoReadersBehindTLSOnServers repeats TestTwoReadersBehindTLS on a real Kafka and a real Redis. It empties Redis.
func TestTwoReadersBehindTLSOnServers(t *testing.T) {
	kafka, redis := ownRedis(t)
	attacksPair(t, kafka, redis)
}

// attacksPair starts a pair on a Kafka and a Redis, and tries each use and attack on it.
func attacksPair(t *testing.T, kafka, redis *server) {
	t.Helper()
	provider := oidctest.New(t, time.Now)
	p := startPair(t, kafka, redis, func(string) []string {
		return []string{
			"SVC_OIDC_ISSUER=" + provider.URL, "SVC_OIDC_CLIENT_ID=" + oidctest.ClientID, "SVC_OIDC_CLIENT_SECRET=" + oidctest.ClientSecret,
			"SVC_OIDC_ROLES=nurses=north:viewer,it=*:admin", "SVC_UNAUTHORIZED_RATE=0",
		}
	}, "north")
	for _, test := range []struct {
		name string
		try  func(*testing.T, *pair, *oidctest.Issuer)
	}{
		{"sign out", signsOut},
		{"role and lock", losesRole},
		{"other sites", otherSites},
		{"proxy headers", proxyHeaders},
		{"tampered cookies", tampersCookies},
		{"a secret is shown once", showsOnce},
		{"a lock stays", locksStay},
		{"fresh sign-in", staysFresh},
		{"links work once", linksWorkOnce},
		{"a restarted reader", endsForRestarted},
		{"live streams", limitsStreams},
		{"records of refusals", recordsRefusals},
		{"call-backs", callsBackOnce},
		{"concurrent creation", createsConcurrently},
	} {
		t.Run(test.name, func(t *testing.T) { test.try(t, p, provider) })
	}
}

// signsOut: a person uses the pages on both readers. Signing out on one reader ends the session on both.
func signsOut(t *testing.T, p *pair, _ *oidctest.Issuer) {
	v := p.visitor(t)
	kept := p.signIn(t, v, "viewer")
	if !kept.Secure || !kept.HttpOnly || kept.SameSite != http.SameSiteLaxMode || kept.Path != "/" || kept.Domain != "" {
		t.Errorf("cookie %+v", kept)
	}
	for _, path := range []string{"/app", "/app/rooms/1", "/app/trends", "/app/print", "/app/sessions", "/app/units"} {
		for reader := range p.direct {
			got := v.get(reader, path)
			if got.status >= 400 || got.header.Get("Strict-Transport-Security") == "" {
				t.Errorf("%s on reader %d: %d %v", path, reader, got.status, got.header)
			}
			for _, c := range got.cookies {
				if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
					t.Errorf("%s sets the cookie %+v", path, c)
				}
			}
		}
	}
	first, second := v.follow(0), v.follow(1)
	if got := v.post(0, "/signout", nil); got.status != http.StatusSeeOther {
		t.Fatalf("signed out: %d %s", got.status, got.body)
	}
	closes(t, "sign-out", first, second)
	p.ends(t, kept)
	p.redisClient().FlushAll(t.Context())
	p.ends(t, kept)
}

// losesRole: if an administrator changes a user's role, disables a user or ends the user's sessions, the change takes
// effect on both readers.
func losesRole(t *testing.T, p *pair, _ *oidctest.Issuer) {
	for _, change := range []string{`{"role":"viewer"}`, `{"disabled":true}`, `{"endSessions":true}`} {
		v := p.visitor(t)
		kept := p.signIn(t, v, "charge")
		first, second := v.follow(0), v.follow(1)
		id := p.newestUser(t)
		if a, err := p.admin.do(http.MethodPatch, "/api/admin/users/"+id, "application/json", change); err != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %v %v", change, err, a)
		}
		closes(t, change, first, second)
		p.ends(t, kept)
	}
}

// listed is a user in the administrator's list of users.
type listed struct {
	ID, Label, SignIn, Role string
	Disabled                bool
	Version                 int64
	SignedInAt              time.Time
}

// people returns the users of the hospital.
func (p *pair) people(t testing.TB) []listed {
	t.Helper()
	a := p.admin.get(t, "/api/admin/users")
	var list struct{ Users []listed }
	if into(t, a.Data, &list); len(list.Users) == 0 {
		t.Fatalf("nobody: %v", a)
	}
	return list.Users
}

// newestUser returns the id of the user who signed in last, once the list has the last sign-in by a link.
func (p *pair) newestUser(t testing.TB) string {
	t.Helper()
	var newest listed
	eventually(t, 20*time.Second, func() error {
		newest = slices.MaxFunc(p.people(t), func(a, b listed) int { return a.SignedInAt.Compare(b.SignedInAt) })
		if newest.SignedInAt.Before(p.linked) {
			return fmt.Errorf("the last sign-in that is listed was at %v, before %v", newest.SignedInAt, p.linked)
		}
		return nil
	})
	return newest.ID
}

// otherSites: a form from another site has no effect on either reader.
func otherSites(t *testing.T, p *pair, _ *oidctest.Issuer) {
	v := p.visitor(t)
	kept := p.signIn(t, v, "admin")
	for _, path := range []string{"/signout", "/app/staffing", "/app/sessions/end", "/app/integrations/keys/new", "/app/integrations/users", "/oidc/start"} {
		for name, headers := range map[string][]string{
			"another site":   {"Sec-Fetch-Site", "cross-site"},
			"a sibling":      {"Sec-Fetch-Site", "same-site"},
			"another origin": {"Origin", "https://evil.example"},
			"plain HTTP":     {"Origin", strings.Replace(v.base, "https", "http", 1) + "0"},
			"no origin":      {"Origin", "null"},
			"nothing":        {},
		} {
			form := url.Values{"nurses": {"1"}, "name": {"evil"}, "scopes": {"admin"}, "label": {"evil"}, "role": {"admin"}, "ttl": {"1h"}}
			got, err := v.ask(-1, http.MethodPost, path, form, headers...)
			if err != nil || got.status != http.StatusForbidden {
				t.Errorf("%s by %s: %v %+v", path, name, err, got)
			}
		}
	}
	for reader := range p.direct {
		if got := p.opens(t, reader, "/app", kept); got.status != http.StatusOK {
			t.Errorf("the session has ended: %d", got.status)
		}
	}
	var unit struct{ NursesOnDuty int }
	if into(t, p.partners[0].readUnit(t).Data, &unit); unit.NursesOnDuty != 5 {
		t.Errorf("%d nurses on duty", unit.NursesOnDuty)
	}
	if a := p.admin.get(t, "/api/admin/keys"); strings.Contains(string(a.raw), "evil") {
		t.Errorf("a key was made: %v", a)
	}
}

// proxyHeaders: svc uses the client address that the proxy saw, and links use the public address, regardless of the
// headers that a client sends.
func proxyHeaders(t *testing.T, p *pair, _ *oidctest.Issuer) {
	v := p.visitor(t)
	p.signIn(t, v, "admin")
	const forged, host = "203.0.113.9", "evil.example"
	for reader := range p.direct {
		v.get(reader, "/app/trends", "X-Forwarded-For", forged, "Forwarded", "for="+forged)
		form := url.Values{"label": {"lobby"}}
		made, err := v.ask(reader, http.MethodPost, "/app/integrations/walls", form,
			"Sec-Fetch-Site", "same-origin", "X-Forwarded-For", forged, "X-Forwarded-Host", host, "Forwarded", "host="+host)
		if err != nil || made.status != http.StatusSeeOther {
			t.Fatalf("%v %+v", err, made)
		}
		if got := v.get(reader, made.header.Get("Location")); !strings.Contains(got.body, p.proxy.URL+"/board/") || strings.Contains(got.body, host) {
			t.Errorf("the link of a wall is not shown with the public address: %s", got.body)
		}
		if log := p.readers[reader].logged(); strings.Contains(log, forged) || !strings.Contains(log, seenByProxy) {
			t.Errorf("the log of reader %d has a forged address, or not the one that the proxy saw", reader)
		}
	}
}

// tampersCookies: a cookie with any changed character opens nothing.
func tampersCookies(t *testing.T, p *pair, _ *oidctest.Issuer) {
	kept := p.signIn(t, p.visitor(t), "admin")
	for at := range len(kept.Value) - 1 { // some bits of the last character are unused
		if at%7 != 0 {
			continue
		}
		other := "A"
		if kept.Value[at] == 'A' {
			other = "B"
		}
		spoiled := &http.Cookie{Name: kept.Name, Value: kept.Value[:at] + other + kept.Value[at+1:]}
		if got := p.opens(t, at%2, "/app", spoiled); got.status == http.StatusOK {
			t.Errorf("a cookie with another character at %d opens the unit", at)
		}
	}
	for reader := range p.direct {
		if got := p.opens(t, reader, "/app", &http.Cookie{Name: "svc-dev", Value: kept.Value}); got.status == http.StatusOK {
			t.Error("a cookie without the prefix __Host- opens the unit")
		}
		if got := p.opens(t, reader, "/app", kept); got.status != http.StatusOK {
			t.Errorf("the cookie itself: %d", got.status)
		}
	}
}

// showsOnce: a new key is shown once, even if a browser requests the page several times at once, from both readers,
// with the same cookies.
func showsOnce(t *testing.T, p *pair, _ *oidctest.Issuer) {
	v := p.visitor(t)
	session := p.signIn(t, v, "admin")
	made := v.post(-1, "/app/integrations/keys/new", url.Values{"name": {"lab"}, "scopes": {"ingest:hl7"}, "rate": {"5"}})
	if made.status != http.StatusSeeOther {
		t.Fatalf("%d %s", made.status, made.body)
	}
	kept := session.Name + "=" + session.Value
	for _, c := range made.cookies {
		if strings.HasSuffix(c.Name, "-flash") {
			kept += "; " + c.Name + "=" + c.Value
		}
	}
	shown := make([]bool, 12)
	var all sync.WaitGroup
	for i := range shown {
		all.Go(func() {
			got, err := p.visitor(t).ask(i%2, http.MethodGet, made.header.Get("Location"), nil, "Cookie", kept)
			if err != nil {
				t.Error(err)
				return
			}
			shown[i] = strings.Contains(got.body, "svc_") && strings.Contains(got.body, "curl")
		})
	}
	all.Wait()
	if n := len(slices.DeleteFunc(shown, func(b bool) bool { return !b })); n != 1 {
		t.Errorf("the secret was shown %d times", n)
	}
}

// provided begins a sign-in at the provider and completes it on a reader. The token has the given claims.
func (p *pair) provided(t testing.TB, v *visitor, i *oidctest.Issuer, form url.Values, claims map[string]any) *visited {
	t.Helper()
	begun := v.post(-1, "/oidc/start", form)
	to, err := url.Parse(strings.TrimPrefix(begun.header.Get("Refresh"), "0;url="))
	if err != nil || begun.status != http.StatusOK {
		t.Fatalf("begun: %d %v", begun.status, err)
	}
	i.Lock()
	i.Claims, i.Codes["c1"] = claims, to.Query()
	i.Unlock()
	return v.get(-1, "/oidc/callback?code=c1&state="+url.QueryEscape(to.Query().Get("state")))
}

// locksStay: an administrator disables a person who signs in through the provider, and ends that person's sessions.
// Later sign-ins, with or without the groups, undo neither change.
func locksStay(t *testing.T, p *pair, i *oidctest.Issuer) {
	v := p.visitor(t)
	groups := func(names ...string) map[string]any {
		return map[string]any{"sub": "mallory", "groups": names, "auth_time": time.Now().Unix()}
	}
	in := p.provided(t, v, i, nil, groups("it"))
	at := slices.IndexFunc(in.cookies, func(c *http.Cookie) bool { return c.Name == "__Host-svc" })
	if in.status != http.StatusSeeOther || at < 0 {
		t.Fatalf("%d %s", in.status, in.body)
	}
	kept := in.cookies[at]
	eventually(t, 20*time.Second, func() error {
		for reader := range p.direct {
			if got := v.get(reader, "/app/integrations"); got.status != http.StatusOK {
				return fmt.Errorf("reader %d: %d", reader, got.status)
			}
		}
		return nil
	})
	person := func() listed {
		t.Helper()
		all := p.people(t)
		return all[slices.IndexFunc(all, func(u listed) bool { return u.SignIn == "provider" && u.Label == "AdaL." })]
	}
	before := person()
	a, err := p.admin.do(http.MethodPatch, "/api/admin/users/"+before.ID, "application/json", `{"disabled":true,"endSessions":true}`)
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%v %v", err, a)
	}
	p.ends(t, kept)
	for _, claims := range []map[string]any{groups(), groups("it"), groups("nurses"), groups(), groups("it")} {
		w := p.visitor(t)
		got := p.provided(t, w, i, nil, claims)
		for reader := range p.direct {
			if in := w.get(reader, "/app"); in.status == http.StatusOK {
				t.Errorf("locked, with the groups %v: %d, then in", claims["groups"], got.status)
			}
		}
		p.ends(t, kept)
		if now := person(); !now.Disabled || now.Version <= before.Version {
			t.Errorf("with the groups %v: %+v", claims["groups"], now)
		}
	}
}

// staysFresh: actions that grant permissions or change addresses need a session whose auth_time is within the last
// hour. A link cannot start the sign-in that renews auth_time, and a sign-in with an old auth_time is refused.
func staysFresh(t *testing.T, p *pair, i *oidctest.Issuer) {
	v := p.visitor(t)
	claims := func(age time.Duration) map[string]any {
		return map[string]any{"sub": "grace", "groups": []string{"it"}, "auth_time": time.Now().Add(-age).Unix()}
	}
	if got := p.provided(t, v, i, nil, claims(6*time.Hour)); got.status != http.StatusSeeOther {
		t.Fatalf("%d %s", got.status, got.body)
	}
	id := p.newestUser(t)
	refused := func(when string) {
		t.Helper()
		for path, form := range map[string]url.Values{
			"/app/integrations/keys/new":     {"name": {"stale"}, "scopes": {"admin"}, "rate": {"5"}},
			"/app/integrations/users":        {"label": {"stale"}, "role": {"admin"}, "ttl": {"1h"}},
			"/app/integrations/users/" + id:  {"role": {"admin"}},
			"/app/integrations/webhooks/new": {"url": {"https://evil.example/stale"}},
			"/app/integrations/walls":        {"label": {"stale"}},
			"/app/sessions/end":              {},
		} {
			for reader := range p.direct {
				if got := v.post(reader, path, form); got.status != http.StatusForbidden {
					t.Errorf("%s: %s on reader %d: %d", when, path, reader, got.status)
				}
			}
		}
	}
	refused("after six hours")
	for _, site := range []string{"cross-site", "same-site", "same-origin", "none"} {
		got := v.get(-1, "/oidc/start?again=1", "Sec-Fetch-Site", site)
		if got.status < 400 || len(got.cookies) > 0 || got.header.Get("Refresh") != "" {
			t.Errorf("a link of %s begins a sign-in: %d", site, got.status)
		}
	}
	if got := p.provided(t, v, i, url.Values{"again": {"1"}}, claims(6*time.Hour)); got.status != http.StatusForbidden {
		t.Errorf("the provider did not ask again: %d", got.status)
	}
	refused("after a provider that did not ask again")
	if got := p.provided(t, v, i, url.Values{"again": {"1"}}, claims(0)); got.status != http.StatusSeeOther {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for reader := range p.direct {
		if got := v.get(reader, "/app/integrations/keys/new"); got.status != http.StatusOK {
			t.Errorf("after another sign-in: reader %d answers %d", reader, got.status)
		}
	}
	if a := p.admin.get(t, "/api/admin/keys"); strings.Contains(string(a.raw), "stale") {
		t.Errorf("a key was made: %v", a)
	}
}

// createsConcurrently: concurrent requests to both readers create exactly the maximum number of walls, invitations and
// keys of a hospital.
func createsConcurrently(t *testing.T, p *pair, _ *oidctest.Issuer) {
	for _, limited := range []struct {
		most       int // docs/limits.md
		path, body string
		list       string
	}{
		{50, "walls", `{"label":"wall %d"}`, "walls"},
		{200, "users", `{"label":"person %d","role":"viewer"}`, "invitations"},
		{200, "keys", `{"name":"key %d","scopes":["read:status"]}`, "keys"},
	} {
		if limited.list == "invitations" { // links that were created on the command line count, too
			var log struct{ Items []struct{} }
			into(t, p.admin.get(t, "/api/admin/audit?action=link.make&limit=200").Data, &log)
			limited.most -= len(log.Items)
		}
		t.Run(limited.list, func(t *testing.T) {
			p.createConcurrently(t, "/api/admin/"+limited.path, limited.body, limited.list, limited.most)
		})
	}
}

func (p *pair) createConcurrently(t *testing.T, path, body, list string, most int) {
	t.Helper()
	count := func() int {
		t.Helper()
		var all map[string]json.RawMessage
		into(t, p.admin.get(t, path).Data, &all)
		var rows []struct{ Status string }
		if err := json.Unmarshal(all[list], &rows); err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(rows, func(r struct{ Status string }) bool { return r.Status != "" && r.Status != "active" }))
	}
	add := func(i int) *answer {
		a, err := p.admin.do(http.MethodPost, path, "application/json", fmt.Sprintf(body, i), toReader, fmt.Sprint(i%2))
		if err != nil {
			t.Error(err)
		}
		return a
	}
	for i := 0; count() < most-8; i++ {
		if a := add(i); a.status != http.StatusOK && a.status != http.StatusServiceUnavailable {
			t.Fatal(a)
		}
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() { add(i) })
	}
	all.Wait()
	for i := 0; count() < most && i < 100; i++ { // replaces the requests that were refused temporarily
		add(i)
	}
	for reader := range p.direct {
		if a := add(reader); a.status == http.StatusOK {
			t.Errorf("one more: %v", a)
		}
	}
	if n := count(); n != most {
		t.Errorf("%d, want %d", n, most)
	}
}
