package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/config"
	"svc/internal/lifecycle"
	"svc/internal/stream"
)

// fetch requests a path from a server and returns the response.
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

// TestLifeOfAProcess queries the private port while the process connects, while it runs, and after it is asked to stop.
func TestLifeOfAProcess(t *testing.T) {
	kafka, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()
	h := newService(&config.Config{}, slog.New(slog.DiscardHandler), time.Now)
	defer h.close()
	private := h.Private(h.config.PrivateListen, h.metrics.Handler())
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
		ended <- h.Live(ctx, private, func(context.Context) ([]func(context.Context) error, error) {
			<-connected
			var err error
			if h.cluster, err = stream.Dial(ctx, stream.Options{Brokers: []string{kafka.Addr()}, Log: h.log}); err != nil {
				return nil, err
			}
			h.dialed.Store(true)
			h.Run("work", func(ctx context.Context) error { <-ctx.Done(); return nil })
			port := make(chan struct{})
			h.Ports = append(h.Ports, port)
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
	want("while it connects", http.StatusServiceUnavailable, "kafka: has not responded yet", "start: waiting for Kafka and its topics")
	close(connected)
	<-begun
	want("while its port is shut", http.StatusServiceUnavailable, "start: a public port is not open yet")
	close(open)
	<-working
	want("when it works", http.StatusOK, "ready")
	stop()
	<-stopped
	want("while it ends", http.StatusServiceUnavailable, "stop: the process is shutting down")
	close(over)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
