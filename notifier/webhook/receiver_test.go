package webhook

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/outbound/sending"
	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
	"svc/notifier/sendertest"
)

// received is one received request.
type received struct {
	raw    string // headers and body, byte for byte
	header http.Header
	body   []byte
}

// receiver is a partner's endpoint on raw TCP, so that it can misbehave in ways that server libraries do not allow.
type receiver struct {
	address   string
	connected atomic.Int32  // number of connections so far
	requests  chan received // each complete request
}

// receive starts a receiver that calls answer for each request. answer reports whether to keep the connection open.
func receive(t testing.TB, answer func(conn net.Conn) bool) *receiver {
	t.Helper()
	r := &receiver{requests: make(chan received, 100)}
	r.address = sendertest.Listen(t, func(conn net.Conn) {
		r.connected.Add(1)
		r.serve(conn, answer)
	})
	return r
}

// receiveTLS is like [receive], but over TLS.
func receiveTLS(t testing.TB, config *tls.Config, answer func(conn net.Conn) bool) *receiver {
	t.Helper()
	r := &receiver{requests: make(chan received, 100)}
	r.address = sendertest.Listen(t, func(conn net.Conn) {
		r.connected.Add(1)
		r.serve(tls.Server(conn, config), answer)
	})
	return r
}

func (r *receiver) serve(conn net.Conn, answer func(net.Conn) bool) {
	var raw bytes.Buffer
	reader := bufio.NewReader(io.TeeReader(conn, &raw))
	for {
		raw.Reset()
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		r.requests <- received{raw.String(), request.Header, body}
		if !answer(conn) {
			return
		}
	}
}

// says returns an answer function that sends the given bytes and keeps the connection open.
func says(answer string) func(net.Conn) bool {
	return func(conn net.Conn) bool {
		_, err := io.WriteString(conn, answer)
		return err == nil
	}
}

// next returns the next request, which must have arrived already.
func (r *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case got := <-r.requests:
		return got
	default:
		t.Fatal("no request came")
		return received{}
	}
}

// untouched fails the test if any request arrived.
func (r *receiver) untouched(t *testing.T) {
	t.Helper()
	select {
	case got := <-r.requests:
		t.Errorf("a request came:\n%s", got.raw)
	default:
	}
}

func (r *receiver) url() string { return "http://" + r.address + "/hook" }

// port returns the receiver's port, for an endpoint URL with a host name.
func (r *receiver) port(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(r.address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// authority is a certificate authority for a test.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	a.cert = parse(t, template, template, a.key, a.key)
	a.pool.AddCert(a.cert)
	return a
}

// issue creates a certificate for a name; change may make it invalid.
func (a *authority) issue(name string, change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	if change != nil {
		change(template)
	}
	key := newKey(a.t)
	return tls.Certificate{Certificate: [][]byte{parse(a.t, template, a.cert, key, a.key).Raw}, PrivateKey: key}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func parse(t testing.TB, template, issuer *x509.Certificate, key, issuerKey *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// partner returns a sender that trusts an authority and resolves partner.test to this machine.
func partner(t testing.TB, a *authority) *Sender {
	t.Helper()
	return partnerWithin(t, a, 50*time.Millisecond)
}

// patient is like partner, but its sender reads the response body until the endpoint's timeout.
func patient(t testing.TB, a *authority) *Sender {
	t.Helper()
	return partnerWithin(t, a, time.Hour)
}

func partnerWithin(t testing.TB, a *authority, body time.Duration) *Sender {
	t.Helper()
	names := &egresstest.Names{}
	names.Set("partner.test", netip.MustParseAddr("127.0.0.1"))
	s := newSender(Config{
		Guard: egress.New(egress.Config{Loopback: true, Resolver: names.Resolver()}),
		Roots: a.pool, Now: time.Now,
	}, limits{dial: 3 * time.Second, handshake: 300 * time.Millisecond, body: body})
	t.Cleanup(s.Close)
	return s
}

// send sends a message and checks the class of the result.
func send(t *testing.T, s *Sender, m sending.Message, want sending.Class) sending.Result {
	t.Helper()
	got := s.Send(t.Context(), m)
	if got.Class != want {
		t.Errorf("class %q (%+v), want %q", got.Class, got, want)
	}
	return got
}

// ongoing is a call to Send that is in progress.
type ongoing struct {
	done   chan struct{}
	result sending.Result
}

func begin(ctx context.Context, s *Sender, m sending.Message) *ongoing {
	one := &ongoing{done: make(chan struct{})}
	go func() {
		one.result = s.Send(ctx, m)
		close(one.done)
	}()
	return one
}
