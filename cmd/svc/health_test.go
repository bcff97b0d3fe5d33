package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"svc/internal/testkit/docpage"
)

// TestHealthPage compares docs/reference/health.md with the health checks.
func TestHealthPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| check | role | not ready when | meanwhile |\n|---|---|---|---|\n")
	for _, c := range healthChecks {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", c.name, c.roles, c.fails, c.meanwhile)
	}
	docpage.Hold(t, "../../docs/reference/health.md", "health", table.String(), *update)
}

// TestSettlingChecksExist adds each settling check. Add panics if the table of health checks does not contain the
// check.
func TestSettlingChecksExist(t *testing.T) {
	t.Parallel()
	for _, name := range settling {
		newProcess(0).Health.Add(name, func(context.Context) error { return nil })
	}
}
