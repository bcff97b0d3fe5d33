package archive_test

import (
	"flag"
	"strings"
	"testing"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/testkit/docpage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/columns.md")

// docs/reference/columns.md describes every column of the tables.
func TestDictionary(t *testing.T) {
	var want strings.Builder
	list := func(name string, columns []analysistest.Column) {
		if want.Len() > 0 {
			want.WriteString("\n")
		}
		want.WriteString("## " + name + "\n\n| column | type | |\n|---|---|---|\n")
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
	docpage.Hold(t, "../../../docs/reference/columns.md", "columns", want.String(), *update)
}
