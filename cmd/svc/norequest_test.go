package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/lifecycle"
)

// TestWhatIsNoRequest: net/http refuses input that is not HTTP before the path is known or a handler is called. The
// response must be in the envelope nevertheless, the connection must be closed, and the log line must not contain any
// part of the input.
func TestWhatIsNoRequest(t *testing.T) {
	var log lines
	shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.NewJSONHandler(&log, nil))}
	h := &service{config: &config.Config{}, shell: shell, now: time.Now, Process: &lifecycle.Process{Health: lifecycle.NewHealth(nil, nil)}}
	h.createRouter()
	s := &lifecycle.Server{Handler: h.router, Listener: listener(t), Within: time.Second, Wrap: shell.Listener}
	address := s.Listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	url := "http://" + address + "/docs"
	for name, c := range map[string]struct{ send, want string }{
		"no request line":       {"canary\r\n\r\n", "HTTP/1.1 400 "},
		"TLS":                   {"\x16\x03\x01\x00\xa5canary\r\n\r\n", "HTTP/1.1 400 "},
		"another version":       {"GET /healthz HTTP/7.0\r\nHost: x\r\nX-A: canary\r\n\r\n", "HTTP/1.1 505 "},
		"no host":               {"GET /canary HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
		"a path that ends":      {"GET /canary%zz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
		"a header of no name":   {"GET /healthz HTTP/1.1\r\nHost: x\r\n: canary\r\n\r\n", "HTTP/1.1 400 "},
		"two lengths":           {"POST /canary HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 "},
		"headers without end":   {"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("canary", 20_000) + "\r\n\r\n", "HTTP/1.1 431 "},
		"an expectation":        {"POST /healthz HTTP/1.1\r\nHost: x\r\nExpect: canary\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 417 "},
		"more than is read":     {"canary\r\n\r\n" + strings.Repeat("canary", 1<<20), "HTTP/1.1 400 "},
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
			answer, fault := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
			if fault != nil {
				t.Fatalf("%v in %q", fault, raw)
			}
			defer answer.Body.Close()
			var body struct {
				Protocol string
				OK       bool
				Error    struct{ Code, Message, Docs string }
			}
			if fault = json.NewDecoder(answer.Body).Decode(&body); fault != nil || body.Protocol != "svc.v1" || body.OK || body.Error.Code != "invalid_request" || body.Error.Message == "" || body.Error.Docs != url {
				t.Errorf("no envelope: %v %+v in %q", fault, body, raw)
			}
			if h := answer.Header; h.Get("Content-Type") != "application/json" || h.Get("X-Request-Id") == "" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", h)
			}
			if got := string(raw); err != nil || !strings.HasPrefix(got, c.want) || !strings.Contains(got, "Connection: close") || strings.Contains(got, "canary") {
				t.Errorf("%v, answer %q, want %q", err, got, c.want)
			}
		})
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if text := log.text.String(); strings.Contains(text, "canary") || strings.Count(text, `"status":`) < 11 || !strings.Contains(text, `"address":"127.0.0.1"`) {
		t.Errorf("the log has %s", text)
	}
}

// TestAnswersAreLeftAlone: a handler's response is not changed, even if it looks like one from net/http.
func TestAnswersAreLeftAlone(t *testing.T) {
	const odd = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	r := shell.Router()
	r.Get("/odd", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, odd) //nolint:errcheck // the client under test reads the response
	})
	s := httptest.NewUnstartedServer(r)
	s.Listener = shell.Listener(s.Listener)
	s.Start()
	defer s.Close()
	answer, err := s.Client().Get(s.URL + "/odd")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != odd || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("%v %d %q", err, answer.StatusCode, text)
	}
}

// lines is a log to which several connections write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
