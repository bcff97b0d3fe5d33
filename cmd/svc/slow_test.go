package main

import (
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
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
)

type noLog struct{}

func (noLog) Append(context.Context, *acuity.Observation) (ingest.Position, error) {
	return ingest.Position{}, errors.New("a slow body reached the log")
}

// TestSlowClientsAreCutOff sends HTTP slowly, in several ways. In each case, the server must close the connection,
// but not before the time limit in its [lifecycle.Patience]. A response to a body that arrives too slowly must be in
// the envelope. The first bytes are in the socket before the server accepts the connection, and only one limit is
// short, so the speed of the machine does not matter.
func TestSlowClientsAreCutOff(t *testing.T) {
	const (
		wait  = 150 * time.Millisecond
		never = time.Hour
	)
	key, token := access.Mint(access.Key{Hospital: "north", Scopes: access.Scopes()}, time.Now())
	head := "POST /api/ingest/staffing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n"
	header := lifecycle.Patience{Header: wait, Body: never, Answer: never, Idle: never}
	body := lifecycle.Patience{Header: never, Body: wait, Answer: never, Idle: never}
	answer := lifecycle.Patience{Header: never, Body: never, Answer: 10 * wait, Idle: never} // enough for part of the answer, even on a loaded machine
	idle := lifecycle.Patience{Header: never, Body: never, Answer: never, Idle: wait}
	for name, c := range map[string]struct {
		patience lifecycle.Patience
		send     string
		drip     string // sent repeatedly after send
		deaf     bool   // whether the client does not read until the server gives up
		want     string // part of the answer; "" if there is none
	}{
		"says nothing":             {header, "", "", false, ""},
		"half a line":              {header, "GET /api/v1/le", "", false, "400 Bad Request"}, // net/http responds, without the envelope
		"one header after another": {header, "GET /api/v1/level HTTP/1.1\r\nHost: x\r\n", "X-A: b\r\n", false, ""},
		"no body":                  {body, head, "", false, "408 Request Timeout"},
		"a body byte by byte":      {body, head, " ", false, "408 Request Timeout"},
		"idle after a request":     {idle, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "", false, "200 OK"},
		"does not read":            {answer, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n", "", true, "200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shell := &httpapi.Shell{
				Now: time.Now, Lookup: func(presented string) (access.Key, bool) { return key, presented == token },
				DocsURL: "/docs", Log: slog.New(slog.DiscardHandler),
			}
			h := &service{config: &config.Config{}, shell: shell, now: time.Now, Process: &lifecycle.Process{Health: lifecycle.NewHealth(nil, nil)}}
			h.createRouter()
			ingest.Mount(h.router, ingest.Config{Shell: shell, Log: noLog{}, Zone: func(string) *time.Location { return time.UTC }})
			const big = 32 << 20
			page, gaveUp := make([]byte, big), make(chan error, 1)
			h.router.Get("/big", func(w http.ResponseWriter, _ *http.Request) {
				_, err := w.Write(page)
				gaveUp <- err
			})
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err = conn.SetDeadline(time.Now().Add(time.Minute)); err != nil { // the test fails if the connection is never closed
				t.Fatal(err)
			}
			if _, err = io.WriteString(conn, c.send); err != nil {
				t.Fatal(err)
			}

			began := time.Now()
			s := &lifecycle.Server{Handler: h.router, Listener: listener, Within: time.Second, Patience: &c.patience}
			ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			defer func() {
				stop()
				if fault := <-ended; fault != nil {
					t.Error(fault)
				}
			}()
			if c.drip != "" {
				go func() {
					for gone := error(nil); gone == nil; { // until either side closes the connection
						time.Sleep(10 * time.Millisecond) // the pace of a slow client
						_, gone = io.WriteString(conn, c.drip)
					}
				}()
			}
			if c.deaf {
				if fault := <-gaveUp; !errors.Is(fault, os.ErrDeadlineExceeded) {
					t.Fatalf("the answer ended with %v", fault)
				}
			}
			got, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the connection is still open; answer %q", got[:min(len(got), 1000)])
			}
			if took := time.Since(began); took < wait {
				t.Errorf("cut off after %v", took)
			}
			if c.deaf && len(got) >= big {
				t.Error("all of the answer came")
			}
			start := string(got[:min(len(got), 4096)])
			if !strings.Contains(start, c.want) || c.want == "" && start != "" {
				t.Errorf("answer %q, want %q", start, c.want)
			}
			if strings.Contains(c.want, "408") && (!strings.Contains(start, `"protocol":"svc.v1"`) || !strings.Contains(start, `"invalid_request"`)) {
				t.Errorf("no envelope: %q", start)
			}
		})
	}
}
