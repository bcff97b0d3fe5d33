package people_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"svc/internal/testkit/certificate"
)

// relay is a real SMTP server on in-memory connections.
type relay struct {
	t      *testing.T
	roots  *x509.CertPool
	conns  chan net.Conn
	ended  chan struct{}
	server *smtp.Server

	mu     sync.Mutex
	answer func(to string) error
	got    []string
	tries  int
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	pair, roots := certificate.SelfSigned(t, "localhost", time.Now().Add(1000*time.Hour))
	r := &relay{t: t, roots: roots, conns: make(chan net.Conn), ended: make(chan struct{})}
	r.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{relay: r}, nil }))
	r.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	r.server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	go func() {
		defer close(r.ended)
		r.server.Serve(r) //nolint:errcheck // ends when the relay is closed
	}()
	return r
}

func (r *relay) Accept() (net.Conn, error) {
	if c, ok := <-r.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (r *relay) Close() error   { return nil }
func (r *relay) Addr() net.Addr { return &net.TCPAddr{} }

func (r *relay) close() {
	close(r.conns)
	r.server.Close()
	<-r.ended
}

func (r *relay) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	r.conns <- theirs
	return ours, nil
}

func (r *relay) answers(answer func(to string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// down makes the relay refuse all recipients, or accept them again.
func (r *relay) down(is bool) {
	var answer func(string) error
	if is {
		answer = func(string) error { return &smtp.SMTPError{Code: 451, Message: "try again"} }
	}
	r.answers(answer)
}

func (r *relay) accepted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *relay) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = nil
}

type session struct {
	relay *relay
	to    string
}

func (s *session) Reset()                               {}
func (s *session) Logout() error                        { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error { return nil }

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.relay.tries++
	if s.relay.answer != nil {
		return s.relay.answer(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.relay.got = append(s.relay.got, string(raw))
	return err
}
