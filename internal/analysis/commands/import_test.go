package commands

import (
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/analysis/tables"
	"svc/schemas"
)

// TestImportWithoutTopics: an import creates the topics of a system that has none.
func TestImportWithoutTopics(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(200, 2, time.Minute))
	dir := t.TempDir()
	if _, err := (&archive.Export{
		Table: archive.Tables()[0], Topic: schemas.Observations().Name, Format: tables.Parquet, Source: b.Log().Source(),
	}).Run(t.Context(), dir); err != nil {
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
