package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTwoAdministrators: two administrators, each on a different instance, read the same object and change it at the
// same time. With an If-Match header, exactly one of the two changes succeeds; without it, both may succeed.
// Afterwards, both instances return the same object, and all its changed fields are from one change.
func TestTwoAdministrators(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	s.processor("one")
	listen, private := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
	env := append([]string{"SVC_SECRETS_KEY=" + "a key for tests, 32 characters and more"}, s.env...)
	other := start(t, "other", []string{"run", "ingest,read", "--listen", listen, "--private-listen", private}, env...)
	other.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	s.front.kill()
	s.front = start(t, "front", []string{"run", "ingest,read", "--listen", strings.TrimPrefix(s.base, "http://"), "--private-listen", "127.0.0.1:" + mustFreePort(t)}, env...)
	s.front.await(s.base + "/healthz")
	key := cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "administrator", "--scopes", "admin", "--rate", "0")
	admins := [2]*partner{newPartner(s.base, "north", key), newPartner("http://"+listen, "north", key)}
	for _, admin := range admins {
		eventually(t, 60*time.Second, func() error { // until the key is accepted and a processor runs
			a, err := admin.do(http.MethodPut, "/api/admin/settings", "application/json", `{"timezone":"UTC"}`)
			if err != nil || a.status != http.StatusOK {
				return fmt.Errorf("%w %+v", err, a)
			}
			return nil
		})
	}
	// both sends one request to each instance at the same time, and repeats a request that gets a 503.
	both := func(method, path, tag string, body func(who int) string) (all [2]*answer) {
		t.Helper()
		var together sync.WaitGroup
		for who, admin := range admins {
			together.Go(func() {
				var err error
				for range 20 {
					if all[who], err = admin.do(method, path, "application/json", body(who), "If-Match", tag); err != nil {
						t.Errorf("%s %s: %v", method, path, err)
						return
					}
					if all[who].status != http.StatusServiceUnavailable { // a 503 means that a concurrent change won
						return
					}
				}
			})
		}
		together.Wait()
		return all
	}
	// shown waits until both instances return the same answer, and returns it.
	shown := func(path string) (tag string, a *answer) {
		t.Helper()
		eventually(t, 5*time.Second, func() error {
			here, there := admins[0].get(t, path), admins[1].get(t, path)
			if here.status != http.StatusOK || string(here.Data) != string(there.Data) {
				return fmt.Errorf("%s: %s, and there %s", path, here.raw, there.raw)
			}
			tag, a = here.header.Get("ETag"), here
			return nil
		})
		return tag, a
	}
	const rounds = 6
	winners := [2]int{}
	won := func(what string, all [2]*answer) int {
		t.Helper()
		if (all[0].status == http.StatusOK) == (all[1].status == http.StatusOK) || all[0].status+all[1].status != http.StatusOK+http.StatusPreconditionFailed {
			t.Errorf("%s: %d %s and %d %s, want 200 and 412", what, all[0].status, all[0].raw, all[1].status, all[1].raw)
			return 0
		}
		who := 0
		if all[1].status == http.StatusOK {
			who = 1
		}
		winners[who]++
		return who
	}

	var made struct{ ID string }
	shown("/api/admin/settings") // until each instance has the other's change; an instance without it would refuse the next change
	into(t, admins[0].changed(t, http.MethodPost, "webhooks", `{"url":"https://partner.example/hook"}`).Data, &made)
	for round := range rounds {
		tag, _ := shown("/api/admin/webhooks/" + made.ID)
		rate := func(who int) string { return fmt.Sprintf(`{"ratePerSecond":%d}`, 1+2*round+who) }
		who := won("webhook", both(http.MethodPatch, "/api/admin/webhooks/"+made.ID, tag, rate))
		if _, a := shown("/api/admin/webhooks/" + made.ID); !strings.Contains(string(a.raw), fmt.Sprintf(`"ratePerSecond":%d,`, 1+2*round+who)) {
			t.Errorf("webhook: %d won, and there is %s", who, a.raw)
		}
	}
	into(t, admins[0].changed(t, http.MethodPost, "keys", `{"name":"shared","scopes":["read:status"]}`).Data, &made)
	for range rounds / 2 {
		_, before := shown("/api/admin/keys")
		tag, _ := shown("/api/admin/keys/" + made.ID)
		who := won("rotation", both(http.MethodPost, "/api/admin/keys/"+made.ID+"/rotate", tag, func(int) string { return `{"overlap":"1h"}` }))
		_, after := shown("/api/admin/keys")
		if n := strings.Count(string(after.raw), `"id"`) - strings.Count(string(before.raw), `"id"`); n != 1 {
			t.Errorf("rotation: %d won, and there are %d more keys", who, n)
		}
		var list struct{ Keys []struct{ ID string } }
		into(t, after.Data, &list)
		made.ID = list.Keys[len(list.Keys)-1].ID
	}
	// All fields of the settings share one version. In each round, both requests change it.
	zonesOf := [2][2]string{{"America/New_York", "America/Denver"}, {"America/Chicago", "America/Los_Angeles"}}
	for round := range rounds {
		zones := zonesOf[round%2]
		var settings struct {
			Version                              int64
			Timezone                             string
			StaffingFromRoster, TrustA08Location bool
			Complete                             bool
		}
		_, a := shown("/api/admin/settings")
		into(t, a.Data, &settings)
		who := won("settings", both(http.MethodPut, "/api/admin/settings", fmt.Sprintf(`"%d"`, settings.Version), func(who int) string {
			return fmt.Sprintf(`{"timezone":%q,"staffingFromRoster":%t,"trustA08Location":%t}`, zones[who], who == 0, who == 1)
		}))
		_, a = shown("/api/admin/settings")
		into(t, a.Data, &settings)
		if settings.Timezone != zones[who] || settings.StaffingFromRoster != (who == 0) || settings.TrustA08Location != (who == 1) || !settings.Complete {
			t.Errorf("settings: %d won, and there is %s", who, a.raw)
		}
	}
	// Without an If-Match header, the later of two changes wins as a whole: the fields of the two changes are never
	// mixed.
	for range rounds / 2 {
		zones := zonesOf[0]
		both(http.MethodPut, "/api/admin/settings", "", func(who int) string {
			return fmt.Sprintf(`{"timezone":%q,"staffingFromRoster":%t}`, zones[who], who == 0)
		})
		eventually(t, 5*time.Second, func() error {
			_, a := shown("/api/admin/settings")
			if whole := strings.Contains(string(a.raw), `"staffingFromRoster":`+fmt.Sprint(strings.Contains(string(a.raw), zones[0]))); !whole || !strings.Contains(string(a.raw), `"complete":true`) {
				return fmt.Errorf("half of one and half of the other: %s", a.raw)
			}
			return nil
		})
	}
	t.Logf("the first instance won %d times, the second %d", winners[0], winners[1])
}

// changed makes an administrative change (not an observation) and expects success.
func (p *partner) changed(t testing.TB, method, path, body string) *answer {
	t.Helper()
	a, err := p.do(method, "/api/admin/"+path, "application/json", body)
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%s %s: %v %+v", method, path, err, a)
	}
	return a
}
