package mllp_test

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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/ingest/mllp"
)

// hall is a server on a port of its own that acknowledges each message by
// repeating it, and a log of its connections.
type hall struct {
	*mllp.Server
	address string
	stop    func() error // ends it in order
	lines   chan line
}

// line is a line of the log.
type line struct {
	Msg, Ended, Peer string
	Key              string `json:"key_id"`
	Messages         int
	Answered         int
	Error            string
}

func (h *hall) Write(p []byte) (int, error) {
	var l line
	if err := json.Unmarshal(p, &l); err != nil {
		return 0, err
	}
	h.lines <- l
	return len(p), nil
}

// next returns the line of the next connection that ends.
func (h *hall) next(t *testing.T) line {
	t.Helper()
	select {
	case l := <-h.lines:
		return l
	case <-time.After(10 * time.Second):
		t.Fatal("no connection ends")
		return line{}
	}
}

func open(t *testing.T, change func(*mllp.Server)) *hall {
	t.Helper()
	h := &hall{lines: make(chan line, 100)}
	h.Server = &mllp.Server{
		Admit: func(mllp.Peer) (mllp.Sender, error) {
			return mllp.Sender{Key: "key_1", Take: func(_ context.Context, m []byte) ([]byte, error) { return slices.Clone(m), nil }}, nil
		},
		Limits: mllp.Limits{
			Connections: 10, ConnectionsPerPeer: 10, Message: 1000,
			Idle: time.Minute, Receive: time.Minute, Answer: time.Minute, Stop: time.Minute,
		},
		Now: time.Now, Log: slog.New(slog.NewJSONHandler(h, nil)), Counts: &mllp.Counts{},
	}
	if change != nil {
		change(h.Server)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, listener) }()
	h.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { h.stop() }) //nolint:errcheck // tests that ask do so themselves
	return h
}

// client is a sender on a raw socket.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func (h *hall) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) //nolint:errcheck // of a test
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) wants(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c.in, got); err != nil || string(got) != text {
		c.t.Fatalf("answer %q, %v, want %q", got[:n], err, text)
	}
}

// closed wants the server to have said nothing more and closed the connection.
func (c *client) closed() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	if len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("%q, %v, want a closed connection", rest, err)
	}
}

func framed(text string) string { return "\x0b" + text + "\x1c\r" }

func TestManyMessagesInOrder(t *testing.T) {
	h := open(t, nil)
	c := h.dial(t)
	var sent strings.Builder
	for n := range 500 { // all at once: those ahead wait
		sent.WriteString(framed(fmt.Sprintf("MSH|%d\r", n)))
	}
	go io.WriteString(c, sent.String()) //nolint:errcheck // the answers tell
	c.wants(sent.String())
	c.Close()
	if l := h.next(t); l.Ended != "peer_closed" || l.Messages != 500 || l.Answered != 500 || l.Key != "key_1" || l.Peer != "127.0.0.1" {
		t.Errorf("%+v", l)
	}
	if n := h.Counts.Messages.Load(); n != 500 {
		t.Errorf("%d messages counted", n)
	}
}

// TestHowConnectionsEnd has a peer of every bad kind.
func TestHowConnectionsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*mllp.Server)
		peer   func(*client)
		ended  string
	}{
		"says nothing": {
			func(s *mllp.Server) { s.Limits.Idle = 50 * time.Millisecond },
			func(*client) {}, "idle",
		},
		"says nothing more": {
			func(s *mllp.Server) { s.Limits.Idle = 100 * time.Millisecond },
			func(c *client) { c.send(framed("A")); c.wants(framed("A")) }, "idle",
		},
		"line ends for ever": {
			func(s *mllp.Server) { s.Limits.Idle = 100 * time.Millisecond },
			func(c *client) {
				for {
					if _, err := io.WriteString(c, "\r\n"); err != nil {
						return
					}
				}
			}, "idle",
		},
		"a byte now and then": {
			func(s *mllp.Server) { s.Limits.Receive = 100 * time.Millisecond },
			func(c *client) {
				c.send("\x0b")
				for tick := time.Tick(5 * time.Millisecond); ; <-tick {
					if _, err := io.WriteString(c, "x"); err != nil {
						return
					}
				}
			}, "message_too_slow",
		},
		"a message without an end": {
			nil, func(c *client) {
				for text := "\x0b" + strings.Repeat("x", 100); ; text = strings.Repeat("x", 100) {
					if _, err := io.WriteString(c, text); err != nil {
						return
					}
				}
			}, "message_too_long",
		},
		"noise without an end": {
			nil, func(c *client) { io.WriteString(c, strings.Repeat("x", 9000)) }, "message_too_long", //nolint:errcheck // it may be cut off
		},
		"breaks off": {nil, func(c *client) { c.send("\x0bMSH|"); c.Close() }, "connection_lost"},
		"takes no answer": {
			func(s *mllp.Server) {
				s.Limits.Answer, s.Limits.Message = 100*time.Millisecond, 4<<20
			},
			func(c *client) {
				c.SetDeadline(time.Now().Add(3 * time.Second)) //nolint:errcheck // of a test
				for text := framed(strings.Repeat("x", 3<<20)); ; {
					if _, err := io.WriteString(c, text); err != nil {
						return
					}
				}
			}, "answer_not_taken",
		},
		"its message is not taken": {
			func(s *mllp.Server) {
				s.Admit = func(mllp.Peer) (mllp.Sender, error) {
					return mllp.Sender{Take: func(context.Context, []byte) ([]byte, error) { return nil, io.ErrShortWrite }}, nil
				}
			},
			func(c *client) { c.send(framed("A") + framed("B")) }, "message_not_taken",
		},
		"its message is our fault": {
			func(s *mllp.Server) {
				s.Log = slog.New(slog.DiscardHandler)
				s.Admit = func(mllp.Peer) (mllp.Sender, error) {
					return mllp.Sender{Take: func(context.Context, []byte) ([]byte, error) { panic("MILLER") }}, nil
				}
			},
			func(c *client) { c.send(framed("A")) }, "",
		},
		"may not send any more": {
			func(s *mllp.Server) {
				s.Admit = func(mllp.Peer) (mllp.Sender, error) {
					return mllp.Sender{Take: func(context.Context, []byte) ([]byte, error) { return nil, mllp.ErrRefused }}, nil
				}
			},
			func(c *client) { c.send(framed("A")) }, "sender_refused",
		},
		"may not send": {
			func(s *mllp.Server) {
				s.Admit = func(mllp.Peer) (mllp.Sender, error) { return mllp.Sender{}, mllp.ErrRefused }
			},
			func(*client) {}, "sender_refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, tt.change)
			c := h.dial(t)
			tt.peer(c)
			if tt.ended != "answer_not_taken" {
				c.closed()
			}
			if tt.ended == "" {
				return // it is closed, and the server lives
			}
			if l := h.next(t); l.Ended != tt.ended || l.Msg != "mllp connection" {
				t.Errorf("%+v, want %s", l, tt.ended)
			}
		})
	}
}

// TestFramesWithoutAMessage are skipped, without an answer.
func TestFramesWithoutAMessage(t *testing.T) {
	h := open(t, nil)
	c := h.dial(t)
	c.send(framed("") + framed("\r\n") + framed("A"))
	c.wants(framed("A"))
	c.Close()
	h.next(t)
	if n := h.Counts.Faults[mllp.Noise].Load(); n != 2 {
		t.Errorf("%d counted", n)
	}
}

func TestTooManyConnections(t *testing.T) {
	for name, limits := range map[string][2]int{"in all": {2, 9}, "of one peer": {9, 2}} {
		t.Run(name, func(t *testing.T) {
			h := open(t, func(s *mllp.Server) { s.Limits.Connections, s.Limits.ConnectionsPerPeer = limits[0], limits[1] })
			join := func() *client {
				c := h.dial(t)
				c.send(framed("A"))
				c.wants(framed("A"))
				return c
			}
			first := join()
			join()
			h.dial(t).closed()
			if l := h.next(t); l.Ended != "too_many_connections" || h.Counts.TurnedAway.Load() != 1 {
				t.Errorf("%+v", l)
			}
			first.Close()
			h.next(t)
			join()
		})
	}
}

// pipes is a listener whose connections are in memory, so that a test can wait
// until everybody waits.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestStop ends who rests at once, and lets a message that is begun come to its
// end and its answer.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h := &hall{lines: make(chan line, 100)}
		h.Server = &mllp.Server{
			Admit: func(mllp.Peer) (mllp.Sender, error) {
				return mllp.Sender{Take: func(_ context.Context, m []byte) ([]byte, error) {
					if string(m) == "B" {
						<-hold
					}
					return m, nil
				}}, nil
			},
			Limits: mllp.Limits{
				Connections: 10, ConnectionsPerPeer: 10, Message: 1000,
				Idle: time.Minute, Receive: time.Minute, Answer: time.Minute, Stop: 10 * time.Second,
			},
			Now: time.Now, Log: slog.New(slog.NewJSONHandler(h, nil)), Counts: &mllp.Counts{},
		}
		listener := make(pipes)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Serve(ctx, listener) }()
		dial := func() *client {
			ours, theirs := net.Pipe()
			listener <- theirs
			return &client{ours, t, bufio.NewReader(ours)}
		}
		resting, begun, taken, stuck := dial(), dial(), dial(), dial()
		for _, c := range []*client{resting, begun, taken, stuck} {
			c.send(framed("A"))
			c.wants(framed("A"))
		}
		begun.send("\x0bC")
		stuck.send("\x0bC")
		taken.send(framed("B"))
		synctest.Wait()
		asked := time.Now()
		cancel()
		resting.closed()
		begun.send("D\x1c\r")
		begun.wants(framed("CD"))
		begun.closed()
		close(hold)
		taken.wants(framed("B"))
		taken.closed()
		if took := time.Since(asked); took > 0 {
			t.Errorf("the stop took %v of nothing", took)
		}
		stuck.closed() // cut off
		if err := <-ended; err != nil || time.Since(asked) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(asked))
		}
		for range 4 {
			if l := <-h.lines; l.Ended != "stopped" {
				t.Errorf("%+v", l)
			}
		}
	})
}

// TestTLS: the names of a certificate that the peer proved to have.
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
		io.WriteString(c, framed("A")) //nolint:errcheck // it may be refused already
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
	h.dial(t) // and says nothing
	if l := h.next(t); l.Ended != "no_handshake" {
		t.Errorf("no word: %+v", l)
	}
}

// issuer is a certificate authority of a test.
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
