package mllp_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"slices"
	"testing"
	"time"

	"svc/ingest/mllp"
)

// TestTLS: a peer with a certificate from the configured authority is admitted under the names in its certificate. A
// peer without such a certificate, or one that does not complete the handshake, is not admitted.
func TestTLS(t *testing.T) {
	ca, pool := authority(t)
	pair := ca.issue(t, "svc.test")
	var peers []mllp.Peer
	h := open(t, func(s *mllp.Server) {
		s.TLS = &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		}
		s.Limits.Receive = 200 * time.Millisecond
		admit := s.Admit
		s.Admit = func(p mllp.Peer) (mllp.Sender, error) { peers = append(peers, p); return admit(p) }
	})
	bridge := ca.issue(t, "bridge.test")
	c := tls.Client(h.dial(t), &tls.Config{RootCAs: pool, ServerName: "svc.test", Certificates: []tls.Certificate{bridge}})
	if _, err := io.WriteString(c, framed("A")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(c, answer); err != nil || !bytes.Equal(answer, []byte(framed("A"))) {
		t.Fatalf("%q %v", answer, err)
	}
	c.Close()
	if l := h.next(t); l.Ended != "peer_closed" || len(peers) != 1 || !slices.Contains(peers[0].Names, "bridge.test") {
		t.Errorf("%+v, peers %v", l, peers)
	}

	stranger, _ := authority(t)
	for name, certificates := range map[string][]tls.Certificate{"none": nil, "of a stranger": {stranger.issue(t, "bridge.test")}} {
		c := tls.Client(h.dial(t), &tls.Config{RootCAs: pool, ServerName: "svc.test", Certificates: certificates})
		io.WriteString(c, framed("A")) //nolint:errcheck // the connection may already be refused
		if _, err := io.ReadAll(c); err == nil {
			t.Errorf("certificate %s: taken", name)
		}
		if l := h.next(t); l.Ended != "no_handshake" {
			t.Errorf("certificate %s: %+v", name, l)
		}
	}
	plain := h.dial(t)
	plain.send(framed("MSH|"))
	if l := h.next(t); l.Ended != "no_handshake" {
		t.Errorf("plain text: %+v", l)
	}
	h.dial(t) // this peer sends nothing
	if l := h.next(t); l.Ended != "no_handshake" {
		t.Errorf("no word: %+v", l)
	}
}

// issuer is a certificate authority for tests.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func authority(t *testing.T) (*issuer, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &issuer{certificate, key}, pool
}

func (i *issuer) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, i.certificate, &key.PublicKey, i.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
