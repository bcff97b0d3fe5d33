package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"svc/internal/api"
)

// TestWhatIsNoRequest: what is not HTTP is answered by net/http before there is a
// path or a handler: in plain text, as every client of HTTP is prepared for, with the
// connection closed, and without a word of what was sent. docs say so.
func TestWhatIsNoRequest(t *testing.T) {
	shell := &api.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	h := &house{config: &config{}, shell: shell, now: time.Now, health: newHealth()}
	h.front()
	s := &server{name: "test", handler: h.router, listener: listener(t), within: time.Second}
	address := s.listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for name, c := range map[string]struct{ send, want string }{
		"no request line":       {"canary\r\n\r\n", "HTTP/1.1 400 "},
		"TLS":                   {"\x16\x03\x01\x00\xa5canary\r\n\r\n", "HTTP/1.1 400 "},
		"another version":       {"GET /healthz HTTP/7.0\r\nHost: x\r\nX-A: canary\r\n\r\n", "HTTP/1.1 505 "},
		"no host":               {"GET /canary HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
		"a path that ends":      {"GET /canary%zz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
		"a header of no name":   {"GET /healthz HTTP/1.1\r\nHost: x\r\n: canary\r\n\r\n", "HTTP/1.1 400 "},
		"two lengths":           {"POST /canary HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 "},
		"headers without end":   {"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("canary", 20_000) + "\r\n\r\n", "HTTP/1.1 431 "},
		"an encoding of nobody": {"POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: canary\r\n\r\n", "HTTP/1.1 501 "},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err = conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err = io.WriteString(conn, c.send); err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(conn)
			if got := string(raw); err != nil || !strings.HasPrefix(got, c.want) || !strings.Contains(got, "Connection: close") || strings.Contains(got, "canary") {
				t.Errorf("%v, answer %q, want %q", err, got, c.want)
			}
		})
	}
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
