package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAnotherSecretsKey changes the secrets key on real servers, following the steps in docs/keys.md. At every step,
// deliveries are signed with the partner's secret, and people are notified. At the end the old key is no longer needed.
func TestAnotherSecretsKey(t *testing.T) {
	needServers(t)
	t.Parallel() // the test waits for many processes to start
	r, allow, ca := privateReceiver(t, "north")
	gateway := &smsGateway{t: t}
	provider := httptest.NewServer(gateway)
	defer provider.Close()
	const before, after = "the first key of the tests, of 32 and more", "the second key of the tests, of 32 and more"
	s := startSystemWith(t, []string{
		allow, "SVC_SECRETS_KEY=" + before, "SVC_SMS_DRIVER=http", "SVC_SMS_URL=" + provider.URL + "/send", "SVC_SMS_TOKEN=" + gatewayToken,
	}, "north")
	s.processor("p1")
	private := [2]string{"127.0.0.1:" + mustFreePort(t), "127.0.0.1:" + mustFreePort(t)}
	var notify *node
	tell := func() {
		notify = start(t, "notify", []string{"notify", "--instance", "n1", "--private-listen", private[0], "--egress-ca-file", ca}, s.env...)
		notify.await("http://" + private[0] + "/readyz")
	}
	tell()
	key := cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "admin", "--scopes", "admin", "--rate", "0")
	d := &desk{t: t, p: s.partners[0], admin: newPartner(s.base, "north", key), args: []string{"--api", s.base, "--key", key}, receiver: r}
	d.admin.honored(t)
	restart := func(key, old string) {
		t.Helper()
		s.env = append(s.env, "SVC_SECRETS_KEY="+key, "SVC_SECRETS_KEY_OLD="+old)
		notify.stop()
		s.front.stop()
		s.front = start(t, "front", []string{"run", "ingest,read", "--listen", strings.TrimPrefix(s.base, "http://"), "--private-listen", private[1]}, s.env...)
		s.front.await("http://" + private[1] + "/readyz?exclude=lists")
		tell()
	}
	pings := 0
	works := func(step, id, secret, recipient string) {
		t.Helper()
		if out, faults, wrong := d.run("webhooks", "test", id); wrong {
			t.Fatalf("%s: the endpoint is not told: %s%s", step, out, faults)
		}
		pings++
		if ping := r.await(t, "ping", pings); !both(ping.verifies(secret)) {
			t.Errorf("%s: not signed with the secret: %v", step, ping.header)
		}
		if out, faults, wrong := d.run("alerts", "test", recipient, "--channel", "sms"); wrong {
			t.Errorf("%s: nobody is reached: %s%s", step, out, faults)
		}
	}
	secret := d.say("webhooks", "add", r.URL+"/hook")
	id := items[struct{ ID string }](t, d.say("webhooks", "list", "--json"))[0].ID
	recipient := d.say("alerts", "add", "--label", "Charge nurse", "--phone", "+15550100")
	works("at first", id, secret, recipient)

	restart(before, after)
	works("all know the new key", id, secret, recipient)
	restart(after, before)
	works("all seal with the new key", id, secret, recipient)
	secrets := append([]string{"--data", t.TempDir()}, "--json")
	status := func(wrong bool) string {
		t.Helper()
		out, faults, failed := (&desk{t: t, args: secrets}).runIn(s.env, "secrets", "status")
		if failed != wrong {
			t.Fatalf("svc secrets status: %t, %s%s", failed, out, faults)
		}
		return out
	}
	if out := status(true); strings.Count(out, `"older"`) != 2 {
		t.Errorf("before all is sealed anew: %s", out)
	}
	if out := cli(t, s.env, "secrets", "reseal"); out != "re-encrypted: 2 of 2 webhooks and recipients" {
		t.Errorf("reseal says %q", out)
	}
	if out := status(false); strings.Count(out, `"newest"`) != 2 {
		t.Errorf("after that: %s", out)
	}
	works("sealed anew", id, secret, recipient)
	restart(after, "")
	works("without the old key", id, secret, recipient)

	s.env = append(s.env, "SVC_SECRETS_KEY="+before)
	if out := status(true); strings.Count(out, `"unknown"`) != 2 {
		t.Errorf("to the old key: %s", out)
	}
	canaries(t, s.kafka.address, s.prefix, secret, "15550100", before, after)
}

// TestNotifyWithAnotherKey: an instance with the wrong secrets key, or without one, is not ready, reports why, and
// sends nothing. Later, an instance with the right key alerts people to the changes that occurred in the meantime.
func TestNotifyWithAnotherKey(t *testing.T) {
	needServers(t)
	t.Parallel() // the test waits for many processes to start
	gateway := &smsGateway{t: t}
	provider := httptest.NewServer(gateway)
	defer provider.Close()
	const right = "the right key of the tests, of 32 and more"
	s := startSystemWith(t, []string{
		"SVC_SECRETS_KEY=" + right, "SVC_SMS_DRIVER=http", "SVC_SMS_URL=" + provider.URL + "/send", "SVC_SMS_TOKEN=" + gatewayToken,
	}, "north")
	s.processor("p1")
	key := cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "admin", "--scopes", "admin", "--rate", "0")
	d := &desk{t: t, p: s.partners[0], admin: newPartner(s.base, "north", key), args: []string{"--api", s.base, "--key", key}}
	d.admin.honored(t)
	d.onDuty("north")
	private := "127.0.0.1:" + mustFreePort(t)
	for _, wrong := range []string{"another key of the tests, of 32 and more", ""} {
		node := start(t, "wrong", []string{"notify", "--instance", "n1", "--leave", "--private-listen", private}, append(slices.Clone(s.env), "SVC_SECRETS_KEY="+wrong)...)
		eventually(t, time.Minute, func() error {
			answer, err := http.Get("http://" + private + "/readyz")
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			said, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(said), "keys: ") || !strings.Contains(string(said), "secrets key") {
				return fmt.Errorf("%d %s %w", answer.StatusCode, said, err)
			}
			return nil
		})
		if wrong != "" {
			d.surge()
			var level struct{ Level string }
			into(t, d.p.get(t, "/api/v1/level").Data, &level)
			if level.Level != "red" {
				t.Fatalf("the unit is %s", level.Level)
			}
		}
		if out, faults, failed := d.run("alerts", "episodes"); !failed || !strings.Contains(faults, "view_incomplete") {
			t.Errorf("nobody has decided, and yet episodes are told:\n%s%s", out, faults)
		}
		node.stop()
	}
	notify := start(t, "right", []string{"notify", "--instance", "n1", "--private-listen", private}, s.env...)
	notify.await("http://" + private + "/readyz")
	if sms := gateway.await(t, "Test north"); !strings.HasPrefix(sms.Text, "RED") {
		t.Errorf("people are told %q", sms.Text)
	}
}
