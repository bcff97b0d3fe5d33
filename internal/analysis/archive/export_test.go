package archive_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// rowsOf reads the observations of an NDJSON or Parquet export, in the order of the manifest.
func rowsOf(tb testing.TB, dir string, m *archive.Manifest) (rows []tables.ObservationRow) {
	tb.Helper()
	for _, f := range m.Files {
		name := filepath.Join(dir, f.Path)
		content, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		before := len(rows)
		if m.Format == tables.Parquet {
			got, err := parquet.ReadFile[tables.ObservationRow](name)
			if err != nil {
				tb.Fatal(err)
			}
			rows = append(rows, got...)
		} else {
			for line := range strings.Lines(string(content)) {
				var row tables.ObservationRow
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					tb.Fatal(err)
				}
				rows = append(rows, row)
			}
		}
		if n := int64(len(rows) - before); n != f.Rows {
			tb.Errorf("%s has %d rows, not %d", f.Path, n, f.Rows)
		}
	}
	return rows
}

// An export as NDJSON or Parquet contains each decodable record of the log once and in order. Its manifest counts and
// lists the other records.
func TestExportHoldsTheLog(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(3000, 4, time.Minute)
	b.Put(list[:1000])
	b.Write(schemas.Observations().Name, []stream.Record{
		{Partition: 0, Key: []byte("h001"), Value: []byte("no record"), Timestamp: list[999].ReceivedAt.Time()},
		{Partition: 2, Key: []byte("\xff"), Value: nil, Timestamp: list[999].ReceivedAt.Time()},
	})
	b.Put(list[1000:])
	l := b.Log()
	want := map[string][]string{}
	for _, o := range list {
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		want[o.Hospital] = append(want[o.Hospital], string(value))
	}
	var asJSON []tables.ObservationRow
	for _, format := range []tables.Format{tables.NDJSON, tables.Parquet} {
		x := analysistest.Export(l, format)
		x.Segment = 400
		dir := t.TempDir()
		m, err := x.Run(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Sum(dir); err != nil {
			t.Error(err)
		}
		got := map[string][]string{}
		rows := rowsOf(t, dir, m)
		slices.SortFunc(rows, func(a, b tables.ObservationRow) int { return int(a.Offset - b.Offset) })
		for _, row := range rows {
			got[row.Hospital] = append(got[row.Hospital], string(row.Record))
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: the records are not those of the log", format)
		}
		if asJSON == nil {
			asJSON = rows
		} else if a, z := fmt.Sprint(texts(t, asJSON)), fmt.Sprint(texts(t, rows)); a != z {
			t.Errorf("%s: the rows differ from those of NDJSON", format)
		}
		if m.Counts.Read != 3002 || m.Counts.Rows != 3000 || m.Counts.Undecoded != 2 {
			t.Errorf("%s: counts %+v", format, m.Counts)
		}
		if len(m.Undecoded) != 2 || m.Undecoded[0].Partition != 0 || m.Undecoded[0].Reason != "malformed_record" || m.Undecoded[1].Partition != 2 {
			t.Errorf("%s: undecoded %+v", format, m.Undecoded)
		}
	}
}

// texts returns the rows as JSON, in which a nil list and an empty list are equal.
func texts(t *testing.T, rows []tables.ObservationRow) (all []string) {
	t.Helper()
	for i := range rows {
		text, err := json.Marshal(&rows[i])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// Each file contains the records of one hospital and one day. If a record arrives after the file for its day has been
// completed, the export starts a second file for that day.
func TestExportEndsDays(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(900, 2, 20*time.Minute) // 12 days, in one segment of each partition
	late := *list[500]
	late.ReceivedAt = late.ReceivedAt.Add(-26 * time.Hour)
	want := []string{}
	for i, o := range list {
		if b.Put([]*acuity.Observation{o}); i == 500 {
			b.Put([]*acuity.Observation{&late})
		}
	}
	for _, format := range []tables.Format{tables.Parquet, tables.NDJSON, tables.CSV} {
		dir := t.TempDir()
		m, err := analysistest.Export(b.Log(), format).Run(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		days := map[string]int{}
		for i := range m.Files {
			days[m.Files[i].Hospital+m.Files[i].Date]++
		}
		if again := late.Hospital + late.ReceivedAt.Time().UTC().Format(time.DateOnly); days[again] != 2 || len(m.Files) != len(days)+1 {
			t.Errorf("%s: %d files of %d days; the late one's has %d", format, len(m.Files), len(days), days[again])
		}
		if format == tables.CSV {
			for i := range m.Files {
				content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(m.Files[i].Path)))
				if err != nil {
					t.Fatal(err)
				}
				if lines := strings.Count(string(content), "\n"); int64(lines) != m.Files[i].Rows+1 || !strings.HasPrefix(string(content), "hospital,") {
					t.Errorf("%s has %d lines, and is of %d rows", m.Files[i].Path, lines, m.Files[i].Rows)
				}
			}
			continue
		}
		rows := rowsOf(t, dir, m)
		slices.SortFunc(rows, func(a, b tables.ObservationRow) int {
			return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
		})
		if got := texts(t, rows); len(want) == 0 {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("%s: the rows differ", format)
		}
		if len(rows) != len(list)+1 {
			t.Errorf("%s: %d rows of %d records", format, len(rows), len(list)+1)
		}
	}
}

// An export of one hospital and several hours contains exactly the selected records, and its manifest describes the
// selection.
func TestExportOfSome(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(2000, 3, time.Minute)
	b.Put(list)
	x := analysistest.Export(b.Log(), tables.CSV)
	x.Hospitals = []string{"h001"}
	x.From, x.To = list[500].ReceivedAt.Time(), list[1500].ReceivedAt.Time()
	dir := t.TempDir()
	m, err := x.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for name, content := range analysistest.Folder(t, dir) {
		if name == "_manifest.json" {
			continue
		}
		if !strings.HasPrefix(name, "h001/date=2026-03-0") {
			t.Errorf("file %s", name)
		}
		all, err := csv.NewReader(strings.NewReader(content)).ReadAll()
		if err != nil || len(all[0]) != len(analysistest.Columns("observations"))-inner("observations") {
			t.Fatalf("%s: %v, header %v", name, err, all[0])
		}
		rows += len(all) - 1
	}
	want := 0
	for _, o := range list[500:1500] {
		if o.Hospital == "h001" {
			want++
		}
	}
	if rows != want || m.Counts.Rows != int64(want) || m.Counts.Others != 1000-int64(want) || want == 0 {
		t.Errorf("%d rows, want %d; counts %+v", rows, want, m.Counts)
	}
}

// inner returns the number of columns that are nested in other columns.
func inner(table string) (n int) {
	for _, c := range analysistest.Columns(table) {
		if strings.Contains(c.Name, ".") {
			n++
		}
	}
	return n
}

// An interrupted export resumes without repeating its finished segments, and produces the same bytes as an
// uninterrupted one. It does not include records that are written to the log after it started.
func TestExportGoesOn(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(4000, 3, time.Minute)
	b.Put(list)
	l := b.Log()
	whole := t.TempDir()
	x := analysistest.Export(l, tables.Parquet)
	x.Segment = 300
	if _, err := x.Run(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	want := analysistest.Folder(t, whole)

	dir := t.TempDir()
	rounds, read := 0, 0
	for ; ; rounds++ {
		ctx, stop := context.WithCancel(t.Context())
		again := *x
		left := 700 + 100*rounds
		one := make(chan struct{}, 1)
		again.Read = func(ctx context.Context, s stream.Span, fn func(stream.Record) error) error {
			return l.Read(ctx, s, func(r stream.Record) error {
				one <- struct{}{}
				read++
				left--
				over := left < 0
				<-one
				if over {
					stop()
					return context.Canceled
				}
				return fn(r)
			})
		}
		_, err := again.Run(ctx, dir)
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		// A crash may also leave half a file and half a line of the journal.
		leave(t, filepath.Join(dir, "h000", "date=2026-03-02"), "part-9-000000000000.parquet.partial", "half")
		journal, err := os.OpenFile(filepath.Join(dir, "_export.journal"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(journal, `{"partition":0,"from":`); err != nil {
			t.Fatal(err)
		}
		journal.Close()
		b.Put(list[:50])
	}
	got := analysistest.Folder(t, dir)
	if rounds < 2 || read >= 4000*(rounds+1) {
		t.Errorf("%d interruptions, %d records read", rounds, read)
	}
	for name := range maps.Keys(want) {
		if got[name] != want[name] {
			t.Errorf("%s differs after interruptions", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d: %v", len(got), len(want), slices.Sorted(maps.Keys(got)))
	}

	other := *x
	other.Format = tables.CSV
	if _, err := other.Run(t.Context(), dir); !errors.Is(err, archive.ErrOther) {
		t.Errorf("another export into the same folder: %v", err)
	}
}

func leave(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Stream writes one line for each record of the log.
func TestExportStream(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(500, 2, time.Minute)
	b.Put(list)
	var out bytes.Buffer
	m, err := analysistest.Export(b.Log(), tables.NDJSON).Stream(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 500 || m.Counts.Rows != 500 {
		t.Errorf("%d lines, %d rows", n, m.Counts.Rows)
	}
}

// Each change is exported once, as it was recorded. The export counts the other records as state: state records,
// copies of changes in a checkpoint, and changes that a processor wrote twice. It also counts the changes that Kafka has
// compacted away, within a segment, between segments and in whole segments.
func TestExportVerdicts(t *testing.T) {
	for name, read := range map[string]func(first, r stream.Record) []stream.Record{
		"as written": func(_, r stream.Record) []stream.Record { return []stream.Record{r} },
		"repeated": func(_, r stream.Record) []stream.Record {
			if r.Offset%7 == 3 {
				return []stream.Record{r, r}
			}
			return []stream.Record{r}
		},
		"copied in a later segment": func(first, r stream.Record) []stream.Record {
			if r.Offset > 0 && r.Offset%100 == 0 {
				first.Copy = true
				return []stream.Record{first, r}
			}
			return []stream.Record{r}
		},
		"compacted": func(_, r stream.Record) []stream.Record {
			if r.Offset < 210 && r.Offset%50 != 7 || r.Offset == 310 {
				return nil
			}
			return []stream.Record{r}
		},
		"compacted in the middle": func(_, r stream.Record) []stream.Record {
			if r.Offset < 350 && r.Offset > 250 {
				return nil
			}
			return []stream.Record{r}
		},
	} {
		t.Run(name, func(t *testing.T) { exportVerdicts(t, read) })
	}
}

// exportVerdicts exports changes. read returns the records that the export reads in place of each stored record.
func exportVerdicts(t *testing.T, read func(first, r stream.Record) []stream.Record) {
	t.Helper()
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(400, 1, time.Minute)
	folded := hospitaltest.Fold(analysistest.ObservationsOf("h000", list), list[399].ReceivedAt)
	var records []stream.Record
	partition := schemas.Partition([]byte("h000"), analysistest.Partitions)
	for i := range folded.Changes {
		value, err := schemas.ChangeCodec.Encode(nil, &folded.Changes[i])
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, stream.Record{Partition: partition, Key: []byte("h000"), Value: value, Timestamp: folded.Changes[i].AppliedAt.Time()})
	}
	records = append(records, stream.Record{Partition: partition, Key: []byte("h000/unit"), Value: []byte("state"), Timestamp: analysistest.Morning.Time()})
	topic := schemas.Verdicts().Name
	b.Write(topic, records)
	var more, gone atomic.Int64
	x := &archive.Export{
		Table: archive.Tables()[1], Topic: topic, Format: tables.Parquet, Segment: 100,
	}
	x.Source = inputlog.Source{
		Read: func(ctx context.Context, s stream.Span, fn func(stream.Record) error) error {
			return b.Cluster.Range(ctx, topic, s, func(r stream.Record) error {
				all := read(records[0], r)
				if len(all) == 0 {
					gone.Add(1)
				} else {
					more.Add(int64(len(all) - 1))
				}
				for _, r := range all {
					if err := fn(r); err != nil {
						return err
					}
				}
				return nil
			})
		},
		Spans: func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
			return b.Cluster.Spans(ctx, topic, from, to)
		},
	}
	dir := t.TempDir()
	m, err := x.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var rows []tables.VerdictRow
	for _, f := range m.Files {
		got, err := parquet.ReadFile[tables.VerdictRow](filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, got...)
	}
	if len(rows) != len(folded.Changes)-int(gone.Load()) || m.Compacted != gone.Load() || m.Counts.State != 1+more.Load() {
		t.Fatalf("%d rows of %d changes, %d of %d compacted; counts %+v", len(rows), len(folded.Changes), m.Compacted, gone.Load(), m.Counts)
	}
	before := int64(0)
	for i, row := range rows {
		c := &folded.Changes[row.Version-1]
		if row.Version <= before {
			t.Fatalf("version %d follows %d", row.Version, before)
		}
		before = row.Version
		if row.Version != c.Version || row.Level != c.Level.String() || len(row.Effects) != len(c.Effects) || len(row.Activated) != len(c.Activated) {
			t.Fatalf("row %d is %+v\nof %+v", i, row, c)
		}
	}
}
