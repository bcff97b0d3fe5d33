package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProfilesAreForLoopback: profiles are answered to this machine only.
func TestProfilesAreForLoopback(t *testing.T) {
	t.Parallel()
	handler := NewProcess(nil, nil).Private("", http.HandlerFunc(Alive)).Handler
	for name, tt := range map[string]struct {
		from   string
		status int
	}{
		"here":                     {"127.0.0.1:5000", http.StatusOK},
		"here, IPv6":               {"[::1]:5000", http.StatusOK},
		"here, in the words of v6": {"[::ffff:127.0.0.1]:5000", http.StatusOK},
		"another pod":              {"10.0.0.6:5000", http.StatusForbidden},
		"a machine beside":         {"192.168.0.7:5000", http.StatusForbidden},
		"nowhere":                  {"", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, open := range map[string]bool{
				"/debug/pprof/": false, "/debug/pprof/cmdline": false, "/debug/pprof/symbol": false, "/debug/pprof/heap": false,
				"/healthz": true, "/metrics": true,
			} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.RemoteAddr = tt.from
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

// TestReadiness: readiness lists the checks that fail, except for those left out.
func TestReadiness(t *testing.T) {
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
		"another name":     {func(h *Health) { h.Add("kafka", fails("away")) }, "?exclude=kafk", 503, "kafka: away\n"},
		"hangs": {func(h *Health) {
			h.Add("redis", func(ctx context.Context) error {
				<-ctx.Done()
				return errors.New("no answer")
			})
		}, "", 503, "redis: no answer\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHealth([]string{"kafka", "redis"}, nil)
			tt.add(h)
			w := httptest.NewRecorder()
			h.ServeReadiness(w, httptest.NewRequest(http.MethodGet, "/readyz"+tt.query, nil))
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
			}
		})
	}
}
