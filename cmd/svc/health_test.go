package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealthPage compares the table of docs/operations.md with the checks.
func TestHealthPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| check | role | not ready when | meanwhile |\n|---|---|---|---|\n")
	for _, c := range healthChecks {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", c.name, c.roles, c.fails, c.meanwhile)
	}
	holdPage(t, "../../docs/operations.md", "health", table.String())
}

// TestReadiness: readiness lists the checks that fail, except for those left out.
func TestReadiness(t *testing.T) {
	well := func(context.Context) error { return nil }
	fails := func(text string) func(context.Context) error {
		return func(context.Context) error { return errors.New(text) }
	}
	for name, tt := range map[string]struct {
		add    func(h *health)
		query  string
		status int
		body   string
	}{
		"well":             {func(h *health) { h.add("kafka", well) }, "", 200, "ready\n"},
		"one fails":        {func(h *health) { h.add("kafka", fails("away")); h.add("redis", well) }, "", 503, "kafka: away\n"},
		"two roles":        {func(h *health) { h.add("redis", fails("b")); h.add("redis", fails("a")); h.add("kafka", fails("c")) }, "", 503, "kafka: c\nredis: b\nredis: a\n"},
		"one is left out":  {func(h *health) { h.add("kafka", fails("away")); h.add("redis", fails("x")) }, "?exclude=redis", 503, "kafka: away\n"},
		"all are left out": {func(h *health) { h.add("kafka", fails("away")); h.add("redis", fails("x")) }, "?exclude=redis&exclude=kafka", 200, "ready\n"},
		"another name":     {func(h *health) { h.add("kafka", fails("away")) }, "?exclude=kafk", 503, "kafka: away\n"},
		"hangs": {func(h *health) {
			h.add("redis", func(ctx context.Context) error {
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
