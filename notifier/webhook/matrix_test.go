package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/signature"
	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
	"svc/notifier/sendertest"
)

// The rows of the failure matrix that are the sender's.

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// TestRequest holds the request byte for byte.
func TestRequest(t *testing.T) {
	r := receive(t, says(ok))
	s := local(t)
	s.now = func() time.Time { return time.Unix(1772373900, 0) }
	got := send(t, s, message("http://"+r.address+"/hook?a=b%20c#part"), outbound.ClassOK)
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
	one := begin(t.Context(), local(t), message(r.url()))
	<-r.requests
	select {
	case <-one.done:
		t.Fatalf("it did not wait: %+v", one.result)
	default:
	}
	close(release)
	<-one.done
	if one.result.Class != outbound.ClassOK {
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
			got := send(t, local(t), m, outbound.ClassTimeout)
			if got.Took < time.Second || got.Status != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestMatrixStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		head  string
		class outbound.Class
		after time.Duration
		final bool
	}{
		"200":                        {"200 OK", outbound.ClassOK, 0, false},
		"201":                        {"201 Created", outbound.ClassOK, 0, false},
		"202":                        {"202 Accepted\r\nRetry-After: 9", outbound.ClassOK, 0, false},
		"299":                        {"299 Fine", outbound.ClassOK, 0, false},
		"500":                        {"500 Internal Server Error", outbound.ClassStatus, 0, false},
		"500 with Retry-After":       {"500 Internal Server Error\r\nRetry-After: 9", outbound.ClassStatus, 0, false},
		"503":                        {"503 Service Unavailable", outbound.ClassStatus, 0, false},
		"503, Retry-After 30":        {"503 Service Unavailable\r\nRetry-After: 30", outbound.ClassStatus, 30 * time.Second, false},
		"429":                        {"429 Too Many Requests", outbound.ClassThrottled, 0, false},
		"429, Retry-After 600":       {"429 Too Many Requests\r\nRetry-After: 600", outbound.ClassThrottled, 600 * time.Second, false},
		"429, Retry-After a date":    {"429 Too Many Requests\r\nRetry-After: Sun, 01 Mar 2026 14:15:00 GMT", outbound.ClassThrottled, 600 * time.Second, false},
		"429, Retry-After past":      {"429 Too Many Requests\r\nRetry-After: Sun, 01 Mar 2026 14:00:00 GMT", outbound.ClassThrottled, 0, false},
		"429, Retry-After a day":     {"429 Too Many Requests\r\nRetry-After: 86400", outbound.ClassThrottled, time.Hour, false},
		"429, Retry-After a year on": {"429 Too Many Requests\r\nRetry-After: Mon, 01 Mar 2027 14:15:00 GMT", outbound.ClassThrottled, time.Hour, false},
		"429, Retry-After too large": {"429 Too Many Requests\r\nRetry-After: 99999999999999999999999", outbound.ClassThrottled, time.Hour, false},
		"429, Retry-After below 0":   {"429 Too Many Requests\r\nRetry-After: -5", outbound.ClassThrottled, 0, false},
		"429, Retry-After a word":    {"429 Too Many Requests\r\nRetry-After: later", outbound.ClassThrottled, 0, false},
		"410":                        {"410 Gone", outbound.ClassGone, 0, true},
		"400":                        {"400 Bad Request", outbound.ClassStatus, 0, false},
		"401":                        {"401 Unauthorized\r\nWWW-Authenticate: Basic", outbound.ClassStatus, 0, false},
		"404":                        {"404 Not Found", outbound.ClassStatus, 0, false},
		"101":                        {"101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x", outbound.ClassStatus, 0, false},
		"302":                        {"302 Found", outbound.ClassRedirect, 0, false},
		"304":                        {"304 Not Modified", outbound.ClassRedirect, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, says("HTTP/1.1 "+tt.head+"\r\nContent-Length: 0\r\n\r\n"))
			s := local(t)
			s.now = func() time.Time { return time.Date(2026, 3, 1, 14, 5, 0, 0, time.UTC) }
			got := send(t, s, message(r.url()), tt.class)
			if got.RetryAfter != tt.after || got.Final != tt.final || fmt.Sprint(got.Status) != tt.head[:3] {
				t.Errorf("%+v, want Retry-After %v, final %v", got, tt.after, tt.final)
			}
		})
	}
}

// TestMatrixRedirect: nothing is followed, wherever it leads, by whatever status.
func TestMatrixRedirect(t *testing.T) {
	elsewhere := receive(t, says(ok))
	locations := []string{elsewhere.url(), "//" + elsewhere.address + "/", "/again"}
	for _, c := range egresstest.Corpus(t) {
		locations = append(locations, c.URL)
	}
	var answer string
	r := receive(t, func(conn net.Conn) bool { return says(answer)(conn) })
	s := local(t)
	for i, location := range locations {
		status := []int{301, 302, 303, 307, 308}[i%5]
		answer = fmt.Sprintf("HTTP/1.1 %d Elsewhere\r\nLocation: %s\r\nRefresh: 0; url=%s\r\nContent-Length: 0\r\n\r\n", status, location, location)
		if got := send(t, s, message(r.url()), outbound.ClassRedirect); got.Status != status {
			t.Errorf("%+v", got)
		}
		r.next(t)
		r.untouched(t)
	}
	elsewhere.untouched(t)
}

// TestMatrixTLS: whatever is wrong with TLS, nothing of the request is sent.
func TestMatrixTLS(t *testing.T) {
	a := newAuthority(t)
	good := func() *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{a.issue("partner.test", nil)}, MinVersion: tls.VersionTLS12}
	}
	for name, tt := range map[string]struct {
		config *tls.Config
		word   string
	}{
		"untrusted":       {&tls.Config{Certificates: []tls.Certificate{newAuthority(t).issue("partner.test", nil)}}, "certificate_untrusted"},
		"of another name": {&tls.Config{Certificates: []tls.Certificate{a.issue("other.test", nil)}}, "certificate_of_another_name"},
		"expired": {&tls.Config{Certificates: []tls.Certificate{a.issue("partner.test", func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		})}}, "certificate_expired"},
		"for clients only": {&tls.Config{Certificates: []tls.Certificate{a.issue("partner.test", func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		})}}, "certificate_invalid"},
		"TLS 1.1":                        {&tls.Config{Certificates: good().Certificates, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "handshake_failed"},
		"wants a certificate of clients": {&tls.Config{Certificates: good().Certificates, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, "handshake_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := receiveTLS(t, tt.config, says(ok))
			s := partner(t, a)
			if got := send(t, s, message("https://partner.test:"+r.port(t)+"/"), outbound.ClassTLS); got.Response != tt.word {
				t.Errorf("%+v, want %s", got, tt.word)
			}
			if r.connected.Load() == 0 {
				t.Error("nothing was connected: the test shows nothing")
			}
			r.untouched(t)
		})
	}
	for name, tt := range map[string]struct {
		serve func(net.Conn)
		class outbound.Class
		word  string
	}{
		"no TLS":            {func(conn net.Conn) { says("220 mail.partner.test ESMTP\r\n")(conn); sendertest.Silent(conn) }, outbound.ClassTLS, "no_tls"},
		"reset in between":  {func(conn net.Conn) { hear(conn); sendertest.Reset(conn) }, outbound.ClassTLS, "handshake_failed"},
		"closed in between": {hear, outbound.ClassTLS, "handshake_failed"},
		"silent":            {sendertest.Silent, outbound.ClassTimeout, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := partner(t, a)
			_, port, err := net.SplitHostPort(sendertest.Listen(t, tt.serve))
			if err != nil {
				t.Fatal(err)
			}
			if got := send(t, s, message("https://partner.test:"+port+"/"), tt.class); got.Response != tt.word {
				t.Errorf("%+v, want %q", got, tt.word)
			}
		})
	}
	t.Run("right, and kept", func(t *testing.T) {
		r := receiveTLS(t, good(), says(ok))
		s := partner(t, a)
		for range 3 {
			send(t, s, message("https://partner.test:"+r.port(t)+"/"), outbound.ClassOK)
		}
		if n := r.connected.Load(); n != 1 {
			t.Errorf("%d connections for three events", n)
		}
	})
}

// hear waits for the first word of the other side.
func hear(conn net.Conn) {
	if _, err := conn.Read(make([]byte, 20)); err != nil {
		conn.Close()
	}
}

func TestMatrixNoSuchName(t *testing.T) {
	s := partner(t, newAuthority(t))
	send(t, s, message("https://nowhere.test/"), outbound.ClassDNS)
}

// TestMatrixRebinding: the name was good when the endpoint was made, and is this
// machine when it is called. A receiver stands there, and nobody connects.
func TestMatrixRebinding(t *testing.T) {
	r := receive(t, says(ok))
	names := &egresstest.Names{}
	names.Set("rebind.test", netip.MustParseAddr("10.20.0.5"))
	allow, err := egress.ParseAllow("mercy=10.20.0.0/16:" + r.port(t))
	if err != nil {
		t.Fatal(err)
	}
	guard := egress.New(egress.Config{Allow: allow, Resolver: names.Resolver()})
	s := New(Config{Guard: guard, Now: time.Now})
	m := message("https://rebind.test:" + r.port(t) + "/")
	if err := guard.Check(t.Context(), "mercy", m.Webhook.URL); err != nil {
		t.Fatal(err)
	}
	names.Set("rebind.test", netip.MustParseAddr("127.0.0.1"))
	if got := send(t, s, m, outbound.ClassBlocked); got.Final || got.Response != string(egress.AddressRefused) {
		t.Errorf("%+v", got)
	}
	if n := r.connected.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// TestCorpusIsBlocked sends to every endpoint of the corpus, with a stop behind
// whatever the dialers ask: where the guard fails, or is not asked, no packet
// leaves either.
func TestCorpusIsBlocked(t *testing.T) {
	allow, err := egress.ParseAllow(egresstest.Allow)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range egresstest.Corpus(t) {
		t.Run(c.URL, func(t *testing.T) {
			names := &egresstest.Names{}
			guard := egress.New(egress.Config{Allow: allow, Resolver: names.Resolver()})
			c.Settle(names, true)
			s := New(Config{Guard: guard, Now: time.Now})
			neverConnect(s)
			want, word := outbound.ClassBlocked, string(c.Reason)
			if c.Reason == egress.NameUnresolved {
				want, word = outbound.ClassDNS, ""
			}
			if got := send(t, s, message(c.URL), want); got.Response != word || got.Final {
				t.Errorf("%+v, want %q", got, word)
			}
		})
	}
}

// neverConnect lets the dialers of a sender go as far as the first packet.
func neverConnect(s *Sender) {
	for _, d := range s.dialers {
		ask := d.ControlContext
		d.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
			if ask != nil {
				if err := ask(ctx, network, address, c); err != nil {
					return err
				}
			}
			return errors.New("would connect")
		}
	}
}

// TestMatrixHugeAnswer: a success stays one, whatever follows its headers, and
// the connection is closed in the receiver's face.
func TestMatrixHugeAnswer(t *testing.T) {
	stopped := make(chan struct{}, 10)
	a := newAuthority(t)
	for name, answer := range map[string]func(net.Conn){
		"without end": func(conn net.Conn) {
			says("HTTP/1.1 200 OK\r\n\r\n")(conn)
			for says(strings.Repeat("x", 4096))(conn) {
			}
		},
		"shorter than it says": func(conn net.Conn) { says("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nfirst")(conn) },
		"drop by drop": func(conn net.Conn) {
			says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst")(conn)
			sendertest.Silent(conn)
		},
		"broken chunks": func(conn net.Conn) { says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfirst")(conn) },
		"compressed, as a bomb": func(conn net.Conn) {
			says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08")(conn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, func(conn net.Conn) bool {
				answer(conn)
				stopped <- struct{}{}
				return false
			})
			s := partner(t, a)
			got := send(t, s, message(r.url()), outbound.ClassOK)
			if n := len([]rune(got.Response)); n > outbound.MaxResponseKept {
				t.Errorf("%d characters kept", n)
			}
			<-stopped // it could not go on writing or waiting
		})
	}
	t.Run("headers without end", func(t *testing.T) {
		r := receive(t, func(conn net.Conn) bool {
			says("HTTP/1.1 200 OK\r\n")(conn)
			for says("X-More: " + strings.Repeat("x", 1000) + "\r\n")(conn) {
			}
			return false
		})
		send(t, local(t), message(r.url()), outbound.ClassReset)
	})
}

// TestMatrixRotatedMidFlight: an attempt is under way when the secret is
// rotated; it ends as it began, and the next is signed anew, with both.
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
	rotated.Secrets = []outbound.Secret{
		{ID: "sec_01", Value: next, State: outbound.SecretNext, Until: now.Add(time.Hour)},
		{ID: "sec_00", Value: secret, State: outbound.SecretCurrent, Until: now.Add(2 * time.Hour)},
	}
	after := before
	after.Webhook, after.Attempt = &rotated, 2
	close(release)
	<-one.done
	send(t, s, after, outbound.ClassStatus)
	second := r.next(t)

	s.now = func() time.Time { return now.Add(90 * time.Minute) }
	send(t, s, after, outbound.ClassStatus)
	promoted := r.next(t)
	s.now = func() time.Time { return now.Add(3 * time.Hour) }
	send(t, s, after, outbound.ClassStatus)
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

// TestUnsigned: without a secret nothing is sent.
func TestUnsigned(t *testing.T) {
	r := receive(t, says(ok))
	m := message(r.url())
	m.Webhook.Secrets = nil
	send(t, local(t), m, outbound.ClassBlocked)
	if n := r.connected.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// TestKeptConnectionThatEnds: a receiver that closes connections between events,
// as most do after some seconds, costs no attempt.
func TestKeptConnectionThatEnds(t *testing.T) {
	r := receive(t, func(conn net.Conn) bool { says(ok)(conn); return false })
	s := local(t)
	for range 50 {
		send(t, s, message(r.url()), outbound.ClassOK)
	}
}

// TestTransportsAreApart: the connection of a hospital with an allow list serves
// no other.
func TestTransportsAreApart(t *testing.T) {
	r := receive(t, says(ok))
	allow, err := egress.ParseAllow("mercy=10.20.0.0/16:443")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Guard: egress.New(egress.Config{Loopback: true, Allow: allow}), Now: time.Now})
	t.Cleanup(s.Close)
	for range 2 {
		for _, hospital := range []string{"mercy", "north", "south"} {
			m := message(r.url())
			m.Hospital = hospital
			send(t, s, m, outbound.ClassOK)
		}
	}
	if n := r.connected.Load(); n != 2 {
		t.Errorf("%d connections, want one of mercy and one for the others", n)
	}
}

// TestProxyOfTheEnvironment: a proxy that the process was given is not for partners.
func TestProxyOfTheEnvironment(t *testing.T) {
	proxy := receive(t, says(ok))
	t.Setenv("HTTP_PROXY", "http://"+proxy.address)
	t.Setenv("http_proxy", "http://"+proxy.address)
	if s := local(t); s.shared.Proxy != nil {
		t.Error("there is a proxy")
	}
}

func TestResponseKept(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"short":           {"accepted", "accepted"},
		"lines":           {"one\r\ntwo\x00", "one  two"},
		"not UTF-8":       {"a\xffb", "a\uFFFDb"},
		"long":            {strings.Repeat("ä", 3000), strings.Repeat("ä", outbound.MaxResponseKept)},
		"cut in a letter": {strings.Repeat("x", 2047) + "ä", strings.Repeat("x", outbound.MaxResponseKept)},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, says(fmt.Sprintf("HTTP/1.1 500 Oops\r\nContent-Length: %d\r\n\r\n%s", len(tt.body), tt.body)))
			s := local(t)
			for range 2 { // the second by the connection that was kept
				if got := send(t, s, message(r.url()), outbound.ClassStatus); got.Response != tt.want {
					t.Errorf("%q, want %q", got.Response, tt.want)
				}
			}
			if n := r.connected.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
