package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHealthIsLogged starts processes whose checks become healthy, fail again, or never become healthy. While a
// process starts, the failure of a settling check is not logged, unless the start makes no progress for settleWithin.
func TestHealthIsLogged(t *testing.T) {
	for name, tt := range map[string]struct {
		check string
		fails func(since time.Duration) bool
		want  []string
	}{
		"a start as any":    {"verdict", func(since time.Duration) bool { return since < 3*time.Second }, []string{"INFO healthy"}},
		"well at once":      {"verdict", func(time.Duration) bool { return false }, nil},
		"does not get on":   {"verdict", func(time.Duration) bool { return true }, []string{"WARN not healthy"}},
		"is not opened":     {"start", func(time.Duration) bool { return true }, []string{"WARN not healthy"}},
		"gets on late":      {"notify", func(since time.Duration) bool { return since < 20*time.Second }, []string{"WARN not healthy", "INFO healthy"}},
		"gets work later":   {"processing", func(since time.Duration) bool { return since > 2*time.Second && since < 5*time.Second }, []string{"INFO healthy"}},
		"never at a start":  {"keys", func(since time.Duration) bool { return since < 3*time.Second }, []string{"WARN not healthy", "INFO healthy"}},
		"again and again":   {"kafka", func(since time.Duration) bool { return int(since.Seconds())/10%2 == 1 }, []string{"WARN not healthy", "INFO healthy", "WARN not healthy"}},
		"fails in the end":  {"processing", func(since time.Duration) bool { return since > 15*time.Second }, []string{"WARN not healthy"}},
		"was well for long": {"redis", func(time.Duration) bool { return false }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, began := NewHealth([]string{"verdict", "start", "notify", "view", "keys", "kafka", "processing", "redis"}, []string{"verdict", "start", "notify", "view", "processing"}), time.Now()
				h.Add(tt.check, func(context.Context) error {
					if tt.fails(time.Since(began)) {
						return errors.New("no partition acquired yet")
					}
					return nil
				})
				var log bytes.Buffer
				ctx, cancel := context.WithTimeout(t.Context(), 35500*time.Millisecond)
				defer cancel()
				if err := h.Watch(ctx, slog.New(slog.NewTextHandler(&log, nil))); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				var got []string
				for line := range strings.Lines(log.String()) {
					_, line, _ = strings.Cut(line, "level=")
					level, message, _ := strings.Cut(line, ` msg=`)
					message, _, _ = strings.Cut(message, " check="+tt.check)
					got = append(got, level+" "+strings.Trim(message, `"`))
				}
				if strings.Join(got, ", ") != strings.Join(tt.want, ", ") {
					t.Errorf("the log has %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestProfilesAreForLoopback: only this machine can read profiles, and not through a proxy that runs on it.
func TestProfilesAreForLoopback(t *testing.T) {
	t.Parallel()
	handler := NewProcess(nil, nil).Private("", http.HandlerFunc(Alive)).Handler
	for name, tt := range map[string]struct {
		from   string
		host   string
		status int
	}{
		"here":                     {"127.0.0.1:5000", "127.0.0.1:9100", http.StatusOK},
		"here, by name":            {"127.0.0.1:5000", "Localhost:9100", http.StatusOK},
		"here, the port of HTTP":   {"127.0.0.1:5000", "localhost", http.StatusOK},
		"here, IPv6":               {"[::1]:5000", "[::1]:9100", http.StatusOK},
		"here, IPv6 without port":  {"[::1]:5000", "[::1]", http.StatusOK},
		"here, in the words of v6": {"[::ffff:127.0.0.1]:5000", "127.0.0.1:9100", http.StatusOK},
		"another pod":              {"10.0.0.6:5000", "10.0.0.5:9100", http.StatusForbidden},
		"another pod that lies":    {"10.0.0.6:5000", "localhost:9100", http.StatusForbidden},
		"a machine beside":         {"192.168.0.7:5000", "192.168.0.5:9100", http.StatusForbidden},
		"nowhere":                  {"", "localhost", http.StatusForbidden},
		"a sidecar":                {"127.0.0.6:5000", "10.0.0.5:9100", http.StatusForbidden},
		"a proxy":                  {"127.0.0.1:5000", "svc-read.mercy.example", http.StatusForbidden},
		"a site in the browser":    {"127.0.0.1:5000", "localhost.evil.example:9100", http.StatusForbidden},
		"no host":                  {"127.0.0.1:5000", "", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, open := range map[string]bool{
				"/debug/pprof/": false, "/debug/pprof/cmdline": false, "/debug/pprof/symbol": false, "/debug/pprof/heap": false,
				"/healthz": true, "/metrics": true,
			} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.RemoteAddr, r.Host = tt.from, tt.host
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				want := tt.status
				if open {
					want = http.StatusOK
				}
				if w.Code != want {
					t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
				}
			}
		})
	}
}

// TestReadiness: readiness lists the failing checks, except those that the request excludes. It warns about excluded
// names that no check has.
func TestReadiness(t *testing.T) {
	const unknown = "warning: exclude names an unknown check; the checks are kafka, redis; to exclude several, repeat exclude\n"
	well := func(context.Context) error { return nil }
	fails := func(text string) func(context.Context) error {
		return func(context.Context) error { return errors.New(text) }
	}
	for name, tt := range map[string]struct {
		add    func(h *Health)
		query  string
		status int
		body   string
	}{
		"well":      {func(h *Health) { h.Add("kafka", well) }, "", 200, "ready\n"},
		"one fails": {func(h *Health) { h.Add("kafka", fails("away")); h.Add("redis", well) }, "", 503, "kafka: away\n"},
		"two roles": {func(h *Health) {
			h.Add("redis", fails("b"))
			h.Add("redis", fails("a"))
			h.Add("kafka", fails("c"))
		}, "", 503, "kafka: c\nredis: b\nredis: a\n"},
		"one is left out":  {func(h *Health) { h.Add("kafka", fails("away")); h.Add("redis", fails("x")) }, "?exclude=redis", 503, "kafka: away\n"},
		"all are left out": {func(h *Health) { h.Add("kafka", fails("away")); h.Add("redis", fails("x")) }, "?exclude=redis&exclude=kafka", 200, "ready\n"},
		"another name":     {func(h *Health) { h.Add("kafka", fails("away")) }, "?exclude=kafk", 503, "kafka: away\n" + unknown},
		"a list of names":  {func(h *Health) { h.Add("kafka", fails("away")) }, "?exclude=kafka,redis", 503, "kafka: away\n" + unknown},
		"no name":          {func(h *Health) { h.Add("kafka", well) }, "?exclude=", 200, "ready\n" + unknown},
		"one of two":       {func(h *Health) { h.Add("kafka", fails("away")) }, "?exclude=kafka&exclude=canary", 200, "ready\n" + unknown},
		"of another role":  {func(h *Health) { h.Add("kafka", well) }, "?exclude=redis", 200, "ready\n"},
		"hangs": {func(h *Health) {
			h.Add("redis", func(ctx context.Context) error {
				<-ctx.Done()
				return errors.New("no answer")
			})
		}, "", 503, "redis: no answer\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHealth([]string{"kafka", "redis", "kafka"}, nil)
			tt.add(h)
			w := httptest.NewRecorder()
			h.ServeReadiness(w, httptest.NewRequest(http.MethodGet, "/readyz"+tt.query, nil))
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
			}
		})
	}
}
