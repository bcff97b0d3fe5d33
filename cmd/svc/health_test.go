package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/internal/lifecycle"
	"svc/internal/testkit/docpage"
)

// TestHealthPage compares the table of docs/operations.md with the checks.
func TestHealthPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| check | role | not ready when | meanwhile |\n|---|---|---|---|\n")
	for _, c := range healthChecks {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", c.name, c.roles, c.fails, c.meanwhile)
	}
	docpage.Hold(t, "../../docs/operations.md", "health", table.String(), *update)
}

// TestReadiness: readiness lists the checks that fail, except for those left out.
func TestReadiness(t *testing.T) {
	well := func(context.Context) error { return nil }
	fails := func(text string) func(context.Context) error {
		return func(context.Context) error { return errors.New(text) }
	}
	for name, tt := range map[string]struct {
		add    func(h *lifecycle.Health)
		query  string
		status int
		body   string
	}{
		"well":      {func(h *lifecycle.Health) { h.Add("kafka", well) }, "", 200, "ready\n"},
		"one fails": {func(h *lifecycle.Health) { h.Add("kafka", fails("away")); h.Add("redis", well) }, "", 503, "kafka: away\n"},
		"two roles": {func(h *lifecycle.Health) {
			h.Add("redis", fails("b"))
			h.Add("redis", fails("a"))
			h.Add("kafka", fails("c"))
		}, "", 503, "kafka: c\nredis: b\nredis: a\n"},
		"one is left out":  {func(h *lifecycle.Health) { h.Add("kafka", fails("away")); h.Add("redis", fails("x")) }, "?exclude=redis", 503, "kafka: away\n"},
		"all are left out": {func(h *lifecycle.Health) { h.Add("kafka", fails("away")); h.Add("redis", fails("x")) }, "?exclude=redis&exclude=kafka", 200, "ready\n"},
		"another name":     {func(h *lifecycle.Health) { h.Add("kafka", fails("away")) }, "?exclude=kafk", 503, "kafka: away\n"},
		"hangs": {func(h *lifecycle.Health) {
			h.Add("redis", func(ctx context.Context) error {
				<-ctx.Done()
				return errors.New("no answer")
			})
		}, "", 503, "redis: no answer\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &service{health: newHealth()}
			tt.add(h.health)
			w := httptest.NewRecorder()
			h.readiness(w, httptest.NewRequest(http.MethodGet, "/readyz"+tt.query, nil))
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
			}
		})
	}
}

// TestSettlingChecksExist: each settling check is in the table, because add panics on other
// names.
func TestSettlingChecksExist(t *testing.T) {
	t.Parallel()
	for _, name := range settling {
		newHealth().Add(name, func(context.Context) error { return nil })
	}
}
