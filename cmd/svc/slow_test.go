package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/access"
	"svc/internal/api"
)

type noLog struct{}

func (noLog) Append(context.Context, *acuity.Observation) (ingest.Position, error) {
	return ingest.Position{}, errors.New("a slow body reached the log")
}

// TestSlowClientsAreCutOff speaks HTTP by hand, slowly: each way to be slow ends
// with the connection closed soon after the server's patience, and the rest of
// the answer, if there is one, in its envelope.
func TestSlowClientsAreCutOff(t *testing.T) {
	const wait = 150 * time.Millisecond
	key, token := access.Mint(access.Key{Hospital: "north", Scopes: access.Scopes()}, time.Now())
	shell := &api.Shell{
		Now: time.Now, Lookup: func(presented string) (access.Key, bool) { return key, presented == token },
		DocsURL: "/docs", Log: slog.New(slog.DiscardHandler),
	}
	h := &house{config: &config{}, shell: shell, now: time.Now, checks: map[string]func(context.Context) error{}}
	h.front()
	ingest.Mount(h.router, ingest.Config{Shell: shell, Log: noLog{}, Zone: func(string) *time.Location { return time.UTC }})
	big := make([]byte, 32<<20)
	h.router.Get("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(big) })
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		name: "test", handler: h.router, listener: listener, within: time.Second,
		patience: &patience{header: wait, body: 2 * wait, answer: 4 * wait, idle: wait},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	head := "POST /api/ingest/staffing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n"
	for name, c := range map[string]struct {
		send  string
		drip  string // then sent again and again
		read  bool   // the answer is read
		want  string // in the answer; empty: none
		after time.Duration
	}{
		"says nothing":             {"", "", true, "", wait},
		"half a line":              {"GET /api/v1/le", "", true, "400 Bad Request", wait}, // by net/http itself: no envelope
		"one header after another": {"GET /api/v1/level HTTP/1.1\r\nHost: x\r\n", "X-A: b\r\n", true, "", wait},
		"no body":                  {head, "", true, "408 Request Timeout", 2 * wait},
		"a body byte by byte":      {head, " ", true, "408 Request Timeout", 2 * wait},
		"idle after a request":     {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "", true, "200 OK", wait},
		"does not read":            {"GET /big HTTP/1.1\r\nHost: x\r\n\r\n", "", false, "", 4 * wait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			began := time.Now()
			if err := conn.SetDeadline(began.Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, c.send); err != nil {
				t.Fatal(err)
			}
			if c.drip != "" {
				dripping, stop := context.WithCancel(t.Context())
				defer stop()
				go func() {
					for dripping.Err() == nil {
						if _, err := io.WriteString(conn, c.drip); err != nil {
							return
						}
						time.Sleep(10 * time.Millisecond) // the pace of a slow client
					}
				}()
			}
			if !c.read { // until the other side has given up, as writing to it shows
				for {
					if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n"); errors.Is(err, os.ErrDeadlineExceeded) {
						t.Fatal("the connection is still open")
					} else if err != nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(began); took < c.after/2 {
					t.Errorf("cut off after %v", took)
				}
				return
			}
			answer, err := io.ReadAll(bufio.NewReader(conn))
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the connection is still open; answer %q", answer)
			}
			if took := time.Since(began); took < c.after/2 {
				t.Errorf("cut off after %v", took)
			}
			if !strings.Contains(string(answer), c.want) || c.want == "" && len(answer) > 0 {
				t.Errorf("answer %q, want %q", answer, c.want)
			}
			if strings.Contains(c.want, "408") && (!strings.Contains(string(answer), `"protocol":"svc.v1"`) || !strings.Contains(string(answer), `"invalid_request"`)) {
				t.Errorf("no envelope: %q", answer)
			}
		})
	}
}
