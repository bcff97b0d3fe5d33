package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/testkit/runtimes"
)

// TestExportReadByOthers opens each exported Parquet table with DuckDB, pyarrow, pandas and Polars. Each reader must
// find the column types that the data dictionary lists, and timestamps in UTC. The rows and nulls must equal those of
// the NDJSON export, which a different library writes.
func TestExportReadByOthers(t *testing.T) {
	needReaders(t)
	packages, err := os.ReadFile("../../docs/analysts/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	interpreter := runtimes.Python(t, append(strings.Fields(string(packages)), "pyarrow==26.0.1", "pandas==3.1.1", "polars==2.1.0")...)
	d := exportable(t)
	until := time.Now().UTC().Format(time.RFC3339Nano) // both exports end at this time, because the unit keeps changing
	out, lines := filepath.Join(d.dir, "parquet"), filepath.Join(d.dir, "ndjson")
	for _, table := range archive.Tables() {
		t.Run(table.Name, func(t *testing.T) {
			for folder, format := range map[string]string{out: "parquet", lines: "ndjson"} {
				cli(t, nil, "export", "--topic", table.Name, "--out", folder, "--format", format, "--to", until, "--data", d.dir)
			}
			read := exec.Command(interpreter, "testdata/readers.py", filepath.Join(out, table.Name))
			read.Stderr = os.Stderr
			content, err := read.Output()
			if err != nil {
				t.Fatal(err)
			}
			var seen struct {
				DuckDB, Arrow struct {
					Types map[string]string
					Rows  []map[string]any
				}
				Pandas, Polars struct {
					Rows  []map[string]any
					Dates []string
				}
				Folders [][]any
			}
			if err := json.Unmarshal(content, &seen); err != nil {
				t.Fatal(err)
			}
			duck, arrow := map[string]string{}, map[string]string{}
			for _, c := range analysistest.Columns(table.Name) {
				kind, null := strings.CutSuffix(c.Type, ", may be null")
				duck[c.Name], arrow[c.Name] = kind, arrowKinds[kind]
				if null {
					arrow[c.Name] += " null"
				}
			}
			if !maps.Equal(seen.DuckDB.Types, duck) {
				t.Errorf("DuckDB sees %v, the dictionary says %v", seen.DuckDB.Types, duck)
			}
			if !maps.Equal(seen.Arrow.Types, arrow) {
				t.Errorf("pyarrow sees %v, the dictionary says %v", seen.Arrow.Types, arrow)
			}
			want, folders := linesOf(t, filepath.Join(lines, table.Name))
			if len(want) == 0 {
				t.Fatal("no row")
			}
			for name, rows := range map[string][]map[string]any{
				"DuckDB": seen.DuckDB.Rows, "pyarrow": seen.Arrow.Rows, "pandas": seen.Pandas.Rows, "Polars": seen.Polars.Rows,
			} {
				got := textsOf(t, rows)
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Fatalf("%s reads\n%s\nNDJSON has\n%s", name, got[i], want[i])
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s reads %d rows, want %d", name, len(got), len(want))
				}
			}
			dates := map[string]bool{}
			for _, folder := range folders {
				dates[folder[1].(string)] = true //nolint:forcetypeassert,errcheck // linesOf puts the date, a string, second
			}
			for name, got := range map[string][]string{"pandas": seen.Pandas.Dates, "Polars": seen.Polars.Dates} {
				if !slices.Equal(got, slices.Sorted(maps.Keys(dates))) {
					t.Errorf("%s sees the dates %v, want %v", name, got, dates)
				}
			}
			if got := fmt.Sprint(seen.Folders); got != fmt.Sprint(folders) {
				t.Errorf("by folder %s, want %s", got, folders)
			}
		})
	}
}

// arrowKinds maps the types in the data dictionary to Arrow types.
var arrowKinds = map[string]string{
	"VARCHAR": "string", "INTEGER": "int32", "BIGINT": "int64", "BOOLEAN": "bool", "DOUBLE": "double", "BLOB": "binary",
	"TIMESTAMP WITH TIME ZONE": "timestamp[ms, tz=UTC]", "VARCHAR[]": "string[]", "INTEGER[]": "int32[]", "STRUCT[]": "struct[]",
}

// exportable starts a svc dev with rows in every table.
func exportable(t *testing.T) *dev {
	t.Helper()
	d := startDev(t, t.TempDir(), "--ephemeral")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	desk := &desk{t: t, p: p, args: []string{"--data", d.dir}}
	desk.say("webhooks", "add", d.BaseURL+"/dev/hook")
	p.sendEvents(t, simulatedEvents(t, 1, 2)) // the forecast learns from these hours
	cli(t, nil, "simulate", "--to", "dev", "--data", d.dir, "--profile", "small", "--seed", "7", "--for", "12h", "--steady")
	say(t, p, 6)
	eventually(t, time.Minute, func() error {
		for _, topic := range []string{"snapshots", "deliveries"} {
			if cli(t, nil, "export", "--topic", topic, "--format", "ndjson", "--out", "-", "--data", d.dir) == "" {
				return errors.New("nothing yet of " + topic)
			}
		}
		return nil
	})
	return d
}

// linesOf returns the sorted rows of an NDJSON export and, for each folder, the hospital, the date and the number of
// rows.
func linesOf(t *testing.T, dir string) (rows []string, folders [][]any) {
	t.Helper()
	count := map[[2]string]int{}
	for name, content := range files(t, dir) {
		if !strings.HasSuffix(name, ".ndjson") {
			continue
		}
		parts := strings.Split(strings.TrimPrefix(name, "/"), "/")
		for line := range strings.Lines(content) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, textsOf(t, []map[string]any{row})...)
			count[[2]string{parts[0], strings.TrimPrefix(parts[1], "date=")}]++
		}
	}
	for folder, n := range count {
		folders = append(folders, []any{folder[0], folder[1], n})
	}
	slices.Sort(rows)
	slices.SortFunc(folders, func(a, b []any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return rows, folders
}

// textsOf returns rows as sorted JSON strings with sorted keys and JSON numbers.
func textsOf(t *testing.T, rows []map[string]any) []string {
	t.Helper()
	texts := make([]string, len(rows))
	for i, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	slices.Sort(texts)
	return texts
}
