package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/testkit/oidctest"
)

// linksWorkOnce: many browsers use the same link at the same time, on both readers, and exactly one of them is signed
// in. The test does this with a person's sign-in link and with the link of a wall display.
func linksWorkOnce(t *testing.T, p *pair, _ *oidctest.Issuer) {
	a, err := p.admin.do(http.MethodPost, "/api/admin/walls", "application/json", `{"label":"once"}`)
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%v %v", err, a)
	}
	var wall struct{ ID, URL string }
	into(t, a.Data, &wall)
	person := cli(t, p.env, "admin", "link", "--hospital", p.admin.hospital, "--role", "viewer", "--label", "once")
	for cookie, link := range map[string]string{"__Host-svc": person, "__Host-svc-wall": wall.URL} {
		eventually(t, 20*time.Second, func() error { // until both readers know the link
			for reader := range p.direct {
				if got := p.visitor(t).get(reader, link); got.status != http.StatusOK {
					return fmt.Errorf("%s: %d", cookie, got.status)
				}
			}
			return nil
		})
		var all sync.WaitGroup
		in := make([]bool, 8)
		for i := range in {
			v := p.visitor(t)
			all.Go(func() {
				got, err := v.ask(i%2, http.MethodPost, link, nil, "Sec-Fetch-Site", "same-origin", "Origin", v.base)
				if err != nil {
					t.Error(err)
					return
				}
				in[i] = slices.ContainsFunc(got.cookies, func(c *http.Cookie) bool { return c.Name == cookie && c.MaxAge >= 0 && c.Value != "" })
				if !in[i] && got.status != http.StatusGone && got.status != http.StatusNotFound {
					t.Errorf("%s: used before, and answered with %d", cookie, got.status)
				}
			})
		}
		all.Wait()
		if n := len(slices.DeleteFunc(in, func(b bool) bool { return !b })); n != 1 {
			t.Errorf("%s: %d browsers are signed in by one link", cookie, n)
		}
	}
	if a, err := p.admin.do(http.MethodDelete, "/api/admin/walls/"+wall.ID, "", ""); err != nil || a.status != http.StatusOK {
		t.Errorf("%v %v", err, a)
	}
}

// endsForRestarted: a session that was ended before a reader started stays ended on that reader.
func endsForRestarted(t *testing.T, p *pair, _ *oidctest.Issuer) {
	v := p.visitor(t)
	kept := p.signIn(t, v, "charge")
	if got := v.post(0, "/signout", nil); got.status != http.StatusSeeOther {
		t.Fatalf("signed out: %d", got.status)
	}
	open := p.visitor(t)
	stays := p.signIn(t, open, "viewer")
	restarted, at := p.role("read", "SVC_INGEST_URL="+p.base)
	p.direct = append(p.direct, at)
	defer func() {
		p.direct = p.direct[:2]
		restarted.stop()
	}()
	p.ends(t, kept)
	if got := p.opens(t, 2, "/app", stays); got.status != http.StatusOK {
		t.Errorf("an open session on a new reader: %d", got.status)
	}
}

// limitsStreams: one person's live streams are limited; another person is not affected.
func limitsStreams(t *testing.T, p *pair, _ *oidctest.Issuer) {
	const most = 20 // docs/limits.md
	greedy, other := p.visitor(t), p.visitor(t)
	p.signIn(t, greedy, "viewer")
	p.signIn(t, other, "viewer")
	for range most {
		greedy.follow(0)
	}
	got, err := greedy.send(0, http.MethodGet, greedy.base+"/app/events", nil, nil)
	if err != nil || got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("one more stream: %v %+v", err, got)
	}
	other.follow(0)
}

// recordsRefusals: a refused action and a refused sign-in each leave an audit record, which both readers list. The
// log line of a refused action names the hospital and the person.
func recordsRefusals(t *testing.T, p *pair, i *oidctest.Issuer) {
	v := p.visitor(t)
	p.signIn(t, v, "viewer")
	viewer := p.newestUser(t)
	for reader := range p.direct {
		if got := v.post(reader, "/app/integrations/keys/new", url.Values{"name": {"evil"}, "scopes": {"admin"}}); got.status != http.StatusForbidden {
			t.Errorf("reader %d: %d", reader, got.status)
		}
		wanted := []string{`"status":403`, `"hospital":"` + p.admin.hospital + `"`, viewer}
		eventually(t, 10*time.Second, func() error {
			for line := range strings.Lines(p.readers[reader].logged()) {
				if !slices.ContainsFunc(wanted, func(part string) bool { return !strings.Contains(line, part) }) {
					return nil
				}
			}
			return fmt.Errorf("no line of reader %d has %q", reader, wanted)
		})
	}
	claims := func(groups ...string) map[string]any {
		return map[string]any{"sub": "trudy", "groups": groups, "auth_time": time.Now().Unix()}
	}
	if in := p.provided(t, p.visitor(t), i, nil, claims("it")); in.status != http.StatusSeeOther {
		t.Fatalf("%d %s", in.status, in.body)
	}
	var trudy string
	eventually(t, 20*time.Second, func() error {
		if trudy = p.newestUser(t); trudy == viewer {
			return fmt.Errorf("the newest user is still %s", trudy)
		}
		return nil
	})
	if in := p.provided(t, p.visitor(t), i, nil, claims("nobody")); in.status != http.StatusForbidden {
		t.Fatalf("without a role: %d %s", in.status, in.body)
	}
	for reader := range p.direct {
		eventually(t, 20*time.Second, func() error {
			a, err := p.admin.do(http.MethodGet, "/api/admin/audit?limit=200", "", "", toReader, fmt.Sprint(reader))
			if err != nil {
				return err
			}
			var log struct {
				Items []struct{ By, Action, Reason string }
			}
			into(t, a.Data, &log)
			has := func(by, action string) bool {
				return slices.ContainsFunc(log.Items, func(r struct{ By, Action, Reason string }) bool { return r.By == by && r.Action == action })
			}
			if !has(viewer, "act.refuse") || !has(trudy, "session.refuse") {
				return fmt.Errorf("reader %d: refused act %t, refused sign-in %t", reader, has(viewer, "act.refuse"), has(trudy, "session.refuse"))
			}
			return nil
		})
	}
}

// callsBackOnce: 20 callbacks with a guessed code repeat the state and the cookies of one sign-in, on both readers.
// svc must refuse all of them. Together, the two readers may request at most two tokens from the provider.
func callsBackOnce(t *testing.T, p *pair, i *oidctest.Issuer) {
	v := p.visitor(t)
	begun := v.post(-1, "/oidc/start", nil)
	to, err := url.Parse(strings.TrimPrefix(begun.header.Get("Refresh"), "0;url="))
	if err != nil || begun.status != http.StatusOK {
		t.Fatalf("begun: %d %v", begun.status, err)
	}
	var kept []string
	for _, c := range begun.cookies {
		kept = append(kept, c.Name+"="+c.Value)
	}
	i.Lock()
	before := i.Tokens
	i.Unlock()
	for n := range 20 {
		got := p.visitor(t).get(n%2, "/oidc/callback?code=guess&state="+url.QueryEscape(to.Query().Get("state")), "Cookie", strings.Join(kept, "; "))
		if got.status < 400 {
			t.Errorf("call-back %d: %d", n, got.status)
		}
	}
	i.Lock()
	defer i.Unlock()
	if calls := i.Tokens - before; calls > len(p.direct) {
		t.Errorf("20 call-backs with one cookie made %d token calls", calls)
	}
}

// TestTriesOfLinksAreLimited: a client address that tries many links (of alerts, people or wall displays) must wait,
// and a page says so.
func TestTriesOfLinksAreLimited(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	s := startEmbedded(t, func(string) string { return "" }, "north")
	s.processor("p1")
	private := "127.0.0.1:" + mustFreePort(t)
	start(t, "notify", []string{"notify", "--instance", "n1", "--private-listen", private, "--public-url", s.base}, s.env...)
	eventually(t, time.Minute, func() error { // until the lists of alerts can be read
		answer, err := http.Get(s.base + "/a/000000000000")
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			return fmt.Errorf("an unknown link is answered with %d", answer.StatusCode)
		}
		return nil
	})
	paths := []string{"/a/%012d", "/signin/%064d", "/board/%064d"}
	var all sync.WaitGroup
	var limited [3]atomic.Int64 // per path
	for worker := range 8 {
		all.Go(func() {
			for n := worker; n < 3000; n += 8 {
				answer, err := http.Get(s.base + fmt.Sprintf(paths[n%3], n))
				if err != nil {
					t.Error(err)
					return
				}
				answer.Body.Close()
				if answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") != "" {
					limited[n%3].Add(1)
				}
			}
		})
	}
	all.Wait()
	for i, path := range paths {
		if n := limited[i].Load(); n < 100 {
			t.Errorf("%d of 1000 tries of %s were answered with 429", n, path)
		}
	}
}
