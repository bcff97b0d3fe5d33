package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"svc/internal/outbound/sending"
	"svc/notifier/egress"
	"svc/notifier/sendertest"
)

// TestMatrixTLS: after any TLS fault, no part of the request is sent.
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
			if got := send(t, s, message("https://partner.test:"+r.port(t)+"/"), sending.ClassTLS); got.Response != tt.word {
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
		class sending.Class
		word  string
	}{
		"no TLS":            {func(conn net.Conn) { says("220 mail.partner.test ESMTP\r\n")(conn); sendertest.Silent(conn) }, sending.ClassTLS, "no_tls"},
		"reset in between":  {func(conn net.Conn) { hear(conn); sendertest.Reset(conn) }, sending.ClassTLS, "handshake_failed"},
		"closed in between": {hear, sending.ClassTLS, "handshake_failed"},
		"silent":            {sendertest.Silent, sending.ClassTimeout, ""},
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
			send(t, s, message("https://partner.test:"+r.port(t)+"/"), sending.ClassOK)
		}
		if n := r.connected.Load(); n != 1 {
			t.Errorf("%d connections for three events", n)
		}
	})
}

// hear waits for the first bytes from the peer, and closes the connection on an error.
func hear(conn net.Conn) {
	if _, err := conn.Read(make([]byte, 20)); err != nil {
		conn.Close()
	}
}

func TestMatrixNoSuchName(t *testing.T) {
	s := partner(t, newAuthority(t))
	send(t, s, message("https://nowhere.test/"), sending.ClassDNS)
}

// TestKeptConnectionThatEnds: a receiver closes each connection after one response, although the sender keeps the
// connection for the next attempt. The next attempt must not fail.
func TestKeptConnectionThatEnds(t *testing.T) {
	r := receive(t, func(conn net.Conn) bool { says(ok)(conn); return false })
	s := local(t)
	for range 50 {
		send(t, s, message(r.url()), sending.ClassOK)
	}
}

// TestTransportsAreApart: a connection that was made for a hospital with an allow list is not used for other
// hospitals.
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
			send(t, s, m, sending.ClassOK)
		}
	}
	if n := r.connected.Load(); n != 2 {
		t.Errorf("%d connections, want one of mercy and one for the others", n)
	}
}

// TestProxyOfTheEnvironment: a proxy in the environment is not used for requests to partners.
func TestProxyOfTheEnvironment(t *testing.T) {
	proxy := receive(t, says(ok))
	t.Setenv("HTTP_PROXY", "http://"+proxy.address)
	t.Setenv("http_proxy", "http://"+proxy.address)
	if s := local(t); s.shared.Proxy != nil {
		t.Error("there is a proxy")
	}
}

// TestKeptConnectionsAreBounded: idle connections beyond keptAll are closed, so 10,000 endpoints with infrequent
// events do not keep 10,000 connections open.
func TestKeptConnectionsAreBounded(t *testing.T) {
	const more = 40
	ended := make(chan struct{}, keptAll+more)
	address := sendertest.Listen(t, func(conn net.Conn) {
		accept(conn)
		ended <- struct{}{}
	})
	s, all := endpoints(t, address, keptAll+more)
	for _, m := range all {
		send(t, s, m, sending.ClassOK)
	}
	for range more {
		<-ended
	}
	select {
	case <-ended:
		t.Error("more were closed than had to be")
	default:
	}
}
