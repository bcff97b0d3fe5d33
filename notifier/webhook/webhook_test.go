package webhook

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/signature"
	"svc/notifier/sendertest"
)

// Tests with Matrix in their name check the rows of the failure matrix that concern the sender. Each such test is in
// the file that tests the row's subject.

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// TestRequest compares the request with its expected text, byte for byte.
func TestRequest(t *testing.T) {
	r := receive(t, says(ok))
	s := local(t)
	s.now = func() time.Time { return time.Unix(1772373900, 0) }
	got := send(t, s, message("http://"+r.address+"/hook?a=b%20c#part"), sending.ClassOK)
	if got.Status != http.StatusOK || got.Response != "ok" || got.Final || got.RetryAfter != 0 {
		t.Errorf("%+v", got)
	}
	want := strings.ReplaceAll(`POST /hook?a=b%20c HTTP/1.1
Host: `+r.address+`
User-Agent: svc-webhooks/1
Content-Length: 21
Content-Type: application/json
X-Svc-Signature: sha256=567670cd292942a9e6f297f2820ac7a664b7399092a393fc01e05599c4a32056
webhook-id: evt_00
webhook-signature: v1,IUEoMbvFG/Xh5djh11woVXNj1182VONLmvSsfkx5YqU=
webhook-timestamp: 1772373900

{"protocol":"svc.v1"}`, "\n", "\r\n")
	if got := r.next(t).raw; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMatrixSlow(t *testing.T) {
	release := make(chan struct{})
	r := receive(t, func(conn net.Conn) bool {
		<-release
		return says(ok)(conn)
	})
	t.Parallel()
	one := begin(t.Context(), local(t), message(r.url()))
	<-r.requests
	select {
	case <-one.done:
		t.Fatalf("it did not wait: %+v", one.result)
	case <-time.After(2500 * time.Millisecond): // longer than the threshold for slow endpoints
	}
	close(release)
	<-one.done
	if one.result.Class != sending.ClassOK {
		t.Errorf("%+v", one.result)
	}
}

func TestMatrixHangs(t *testing.T) {
	for name, begins := range map[string]string{"no answer": "", "half a status": "HTTP/1.1 2", "headers without end": "HTTP/1.1 200 OK\r\nX: "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, func(conn net.Conn) bool {
				if _, err := io.WriteString(conn, begins); err == nil {
					sendertest.Silent(conn)
				}
				return false
			})
			m := message(r.url())
			m.Webhook.TimeoutSeconds = 1
			got := send(t, local(t), m, sending.ClassTimeout)
			if got.Took < time.Second || got.Status != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestMatrixRotatedMidFlight: the secret is rotated while an attempt is in flight. That attempt is signed only with
// the old secret, and the next attempt is signed with both secrets.
func TestMatrixRotatedMidFlight(t *testing.T) {
	const next = "whsec_GBcWFRQTEhEQDw4NDAsKCQgHBgUEAwIB"
	release := make(chan struct{})
	r := receive(t, func(conn net.Conn) bool {
		<-release
		return says("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")(conn)
	})
	s := local(t)
	before := message(r.url())
	one := begin(t.Context(), s, before)
	first := <-r.requests

	rotated := *before.Webhook
	now := time.Now()
	rotated.Secrets = []subscriber.Secret{
		{ID: "sec_01", Value: next, State: subscriber.SecretNext, Until: now.Add(time.Hour)},
		{ID: "sec_00", Value: secret, State: subscriber.SecretCurrent, Until: now.Add(2 * time.Hour)},
	}
	after := before
	after.Webhook, after.Attempt = &rotated, 2
	close(release)
	<-one.done
	send(t, s, after, sending.ClassStatus)
	second := r.next(t)

	s.now = func() time.Time { return now.Add(90 * time.Minute) }
	send(t, s, after, sending.ClassStatus)
	promoted := r.next(t)
	s.now = func() time.Time { return now.Add(3 * time.Hour) }
	send(t, s, after, sending.ClassStatus)
	retired := r.next(t)

	check := func(name string, got received, at time.Time, secret string, want signature.Checked) {
		t.Helper()
		if checked := signature.Check(got.header, got.body, at, secret); checked != want {
			t.Errorf("%s: %+v, want %+v", name, checked, want)
		}
	}
	const good, wrong = signature.Good, signature.Wrong
	check("under way, old secret", first, now, secret, signature.Checked{Body: good, Standard: good})
	check("under way, new secret", first, now, next, signature.Checked{Body: wrong, Standard: wrong, Secret: -1})
	check("rotated, old secret", second, now, secret, signature.Checked{Body: good, Standard: good})
	check("rotated, new secret", second, now, next, signature.Checked{Body: wrong, Standard: good})
	check("promoted, old secret", promoted, now.Add(90*time.Minute), secret, signature.Checked{Body: wrong, Standard: good})
	check("promoted, new secret", promoted, now.Add(90*time.Minute), next, signature.Checked{Body: good, Standard: good})
	check("retired, old secret", retired, now.Add(3*time.Hour), secret, signature.Checked{Body: wrong, Standard: wrong, Secret: -1})
	check("retired, new secret", retired, now.Add(3*time.Hour), next, signature.Checked{Body: good, Standard: good})
	if string(first.body) != string(second.body) || first.header.Get("webhook-id") != second.header.Get("webhook-id") {
		t.Error("the second attempt has another id or body")
	}
}

// TestUnsigned: if there is no secret, or the secret cannot be decrypted, nothing is sent.
func TestUnsigned(t *testing.T) {
	r := receive(t, says(ok))
	m := message(r.url())
	for _, secrets := range [][]subscriber.Secret{nil, {{ID: "sec_1", State: subscriber.SecretCurrent}}} {
		m.Webhook.Secrets = secrets
		send(t, local(t), m, sending.ClassSealed)
	}
	if n := r.connected.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}
