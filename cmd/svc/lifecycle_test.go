package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/config"
	"svc/internal/lifecycle"
	"svc/internal/stream"
)

// fetch requests a path of a server and returns the answer.
func fetch(t *testing.T, s *lifecycle.Server, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Listener.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(read)
}

// TestLifeOfAProcess queries the private port while the process connects, while it works, and
// after it was asked to stop.
func TestLifeOfAProcess(t *testing.T) {
	kafka, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()
	h := newService(&config.Config{}, slog.New(slog.DiscardHandler), time.Now)
	defer h.close()
	private := h.private()
	private.Listener = listener(t)
	want := func(when string, ready int, lines ...string) {
		t.Helper()
		if status, _ := fetch(t, private, "/healthz"); status != http.StatusOK {
			t.Errorf("%s: /healthz %d", when, status)
		}
		if status, body := fetch(t, private, "/metrics"); status != http.StatusOK || !strings.Contains(body, `svc_healthy{check="kafka"}`) {
			t.Errorf("%s: /metrics %d", when, status)
		}
		if status, body := fetch(t, private, "/readyz"); status != ready || body != strings.Join(lines, "\n")+"\n" {
			t.Errorf("%s: /readyz %d %q, want %d %q", when, status, body, ready, lines)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	connected, begun, open, working := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	stopped, over := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- h.live(ctx, private, func(context.Context) ([]func(context.Context) error, error) {
			<-connected
			var err error
			if h.cluster, err = stream.Dial(ctx, stream.Options{Brokers: []string{kafka.Addr()}, Log: h.log}); err != nil {
				return nil, err
			}
			h.dialed.Store(true)
			h.run("work", func(ctx context.Context) error { <-ctx.Done(); return nil })
			port := make(chan struct{})
			h.ports = append(h.ports, port)
			return []func(context.Context) error{func(ctx context.Context) error {
				close(begun)
				<-open
				close(port)
				close(working)
				<-ctx.Done()
				close(stopped)
				<-over
				return nil
			}}, nil
		})
	}()
	want("while it connects", http.StatusServiceUnavailable, "kafka: has not answered yet", "start: waits for Kafka and its topics")
	close(connected)
	<-begun
	want("while its port is shut", http.StatusServiceUnavailable, "start: a public port is not open yet")
	close(open)
	<-working
	want("when it works", http.StatusOK, "ready")
	stop()
	<-stopped
	want("while it ends", http.StatusServiceUnavailable, "stop: the process ends")
	close(over)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

// TestEndsOfAStart: a process that is stopped, or fails, while it connects ends with the right
// error.
func TestEndsOfAStart(t *testing.T) {
	for name, tt := range map[string]struct {
		signal bool
		start  func(context.Context) error
		want   error
	}{
		"signal":                        {true, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil},
		"failure of what was cut short": {true, func(ctx context.Context) error { <-ctx.Done(); return errBroken }, nil},
		"signal and success":            {true, func(ctx context.Context) error { <-ctx.Done(); return nil }, nil},
		"failure":                       {false, func(context.Context) error { return errBroken }, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			h := newService(&config.Config{}, slog.New(slog.DiscardHandler), time.Now)
			private := h.private()
			private.Listener = listener(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			err := h.live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
				if tt.signal {
					stop()
				}
				return []func(context.Context) error{func(context.Context) error { t.Error("it serves"); return nil }}, tt.start(ctx)
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("ends with %v, want %v", err, tt.want)
			}
		})
	}
}

// TestEndsOfWork: a process that is stopped, or fails, while it works ends with the right error.
// The error names loops that hang.
func TestEndsOfWork(t *testing.T) {
	const within = 10 * time.Second
	work := func(after time.Duration, err error) func(context.Context) error { // ends this long after its context
		return func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(after)
			return err
		}
	}
	fails := func(context.Context) error { return errBroken }
	for name, tt := range map[string]struct {
		signal      bool
		loop, serve func(context.Context) error
		want        error
		mentions    string
		after       time.Duration
	}{
		"signal":                             {signal: true, loop: work(0, nil), serve: work(0, nil)},
		"loop that says why it ends":         {signal: true, loop: work(0, context.Canceled), serve: work(0, nil)},
		"server that takes its time":         {signal: true, loop: work(0, nil), serve: work(time.Hour, nil), after: time.Hour},
		"loop that takes its time":           {signal: true, loop: work(within-1, nil), serve: work(0, nil), after: within - 1},
		"loop that hangs":                    {signal: true, loop: work(time.Hour, nil), serve: work(0, nil), mentions: "work did not end within 10s", after: within},
		"loop that fails as it ends":         {signal: true, loop: work(0, errBroken), serve: work(0, nil), want: errBroken},
		"loop that fails":                    {loop: fails, serve: work(time.Second, nil), want: errBroken, mentions: "work: broken", after: time.Second},
		"loop that ends by itself":           {loop: func(context.Context) error { return nil }, serve: work(0, nil), mentions: "work ended by itself"},
		"loop that fails, server that hangs": {loop: fails, serve: work(time.Hour, nil), want: errBroken, mentions: "open requests did not end within 10s", after: within},
		"server that fails":                  {loop: work(time.Second, nil), serve: fails, want: errBroken, after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if tt.signal {
					stop()
				}
				h := &service{}
				h.run("work", tt.loop)
				began := time.Now()
				err := lifecycle.RunAll(ctx, within, []func(context.Context) error{tt.serve}, h.loops)
				if took := time.Since(began); took != tt.after {
					t.Errorf("ends after %v, want %v", took, tt.after)
				}
				if failed := tt.want != nil || tt.mentions != ""; (err != nil) != failed || tt.want != nil && !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.mentions) {
					t.Errorf("ends with %v, want %v %s", err, tt.want, tt.mentions)
				}
				time.Sleep(time.Hour) // virtual time: the loop that hung ends
			})
		})
	}
}
