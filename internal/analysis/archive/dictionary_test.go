package archive_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
)

var update = flag.Bool("update", false, "rewrite docs/export.md")

// The dictionary of columns in docs/export.md describes the tables.
func TestDictionary(t *testing.T) {
	var want strings.Builder
	want.WriteString("# Columns of an export\n\nMade of the tables (`go test ./internal/analysis/archive -run TestDictionary -update`). Types are those of DuckDB; timestamps are in UTC, to the millisecond. In NDJSON and CSV a timestamp is RFC 3339 and a BLOB is base64, and in CSV a list is the JSON of it. In NDJSON what is null, and a list without entries, is left out; in CSV it is empty. How to export: [replay.md](replay.md).\n")
	list := func(name string, columns []analysistest.Column) {
		want.WriteString("\n## " + name + "\n\n| column | type | |\n|---|---|---|\n")
		for _, c := range columns {
			if c.About == "" || c.Type == "" {
				t.Errorf("%s.%s: nothing is said of it", name, c.Name)
			}
			want.WriteString("| `" + c.Name + "` | " + c.Type + " | " + c.About + " |\n")
		}
	}
	for _, table := range archive.Tables() {
		list(table.Name, analysistest.Columns(table.Name))
	}
	list("replay --diff", analysistest.Columns("replay --diff"))
	const file = "../../../docs/export.md"
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want.String() {
		t.Errorf("docs/export.md is not that of the tables (%v); run with -update", err)
	}
}
