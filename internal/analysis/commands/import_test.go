package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/tables"
	"svc/internal/cli"
	"svc/schemas"
)

// TestImportWithoutTopics: an import creates the topics of a system that has none.
func TestImportWithoutTopics(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(200, 2, time.Minute))
	dir := t.TempDir()
	if _, err := analysistest.Export(b.Log(), tables.Parquet).Run(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	kafka := []string{"--kafka", b.Options.Brokers[0], "--topic-prefix", "new-", "--partitions", "5"}
	code, _, stderr := say(t.Context(), append([]string{"import", dir}, kafka...)...)
	if code != 0 || !strings.Contains(stderr, "import: 200 observations") {
		t.Errorf("code %d, says %q", code, stderr)
	}
	topics := []string{"new-" + schemas.Verdicts().Name, "new-" + schemas.Snapshots().Name}
	for _, topic := range topics {
		if n, err := b.Cluster.Partitions(t.Context(), topic); n != 5 || err != nil {
			t.Errorf("%s: %d partitions, %v", topic, n, err)
		}
	}
	code, _, stderr = say(t.Context(), slices.Concat([]string{"import", dir}, kafka)...)
	if code != 1 || !strings.Contains(stderr, "already has observations") {
		t.Errorf("again: code %d, says %q", code, stderr)
	}
}

// TestImportInPart: if an import fails after it has written records, the error says that the system has a part of the
// export, and how to repeat the import.
func TestImportInPart(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(400, 2, time.Minute))
	dir := t.TempDir()
	x := analysistest.Export(b.Log(), tables.CSV)
	x.Segment = 50
	m, err := x.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Files[len(m.Files)-1].Rows++
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "_manifest.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := say(t.Context(), "import", dir, "--kafka", b.Options.Brokers[0], "--topic-prefix", "new-", "--partitions", "2")
	if code != 1 || !strings.Contains(stderr, "the system does not have exactly the export") ||
		!strings.Contains(stderr, "delete all topics new-svc.v1.* except new-svc.v1.settings") {
		t.Errorf("code %d, says %q", code, stderr)
	}
}

// TestInterrupted: an interrupted command says so, and what to do, instead of naming the step that was canceled.
func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var faults bytes.Buffer
	w := cli.Env{LookupEnv: func(string) (string, bool) { return "", false }, Stderr: &faults}
	c := newLogCommand(w, 0)
	root := cli.Root("svc", "", "")
	root.AddCommand(c.cobra("try", "", func(ctx context.Context, _ []string) error {
		c.interrupted = "; try again"
		stop()
		return fmt.Errorf("wait for the rate limit: %w", ctx.Err())
	}))
	if code := cli.Run(ctx, root, []string{"try", "--kafka", "127.0.0.1:1"}, w); code != 1 || faults.String() != "svc try: interrupted; try again\n" {
		t.Errorf("code %d, says %q", code, faults.String())
	}
}

// TestSpansOutsideKafka: instants that Kafka cannot represent select everything before or after them.
func TestSpansOutsideKafka(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(30, 2, time.Minute))
	for _, c := range []struct {
		span string // flags, separated by blanks
		want int
	}{
		{"--from=1900-01-01", 30},
		{"--from=1969-12-31T23:59:59.999Z", 30},
		{"--from=0001-01-01", 30},
		{"--from=9999-12-31", 0},
		{"--to=0001-01-01", 0},
		{"--to=1969-12-31T23:59:59.999Z", 0},
		{"--to=9999-12-31", 30},
		{"--from=0001-01-01 --to=9999-12-31", 30},
		{"--from=1900-01-01 --to=1960-01-01", 0},
		{"--from=2262-06-01 --to=2263-01-01", 0},
	} {
		args := []string{"export", "--topic", "observations", "--format", "ndjson", "--out", "-", "--kafka", b.Options.Brokers[0]}
		code, stdout, stderr := say(t.Context(), append(args, strings.Fields(c.span)...)...)
		if n := strings.Count(stdout, "\n"); code != 0 || n != c.want || strings.Contains(stderr, "(column at)") != (n == 0) {
			t.Errorf("%s: code %d, %d rows, says %q", c.span, code, n, stderr)
		}
	}
}
