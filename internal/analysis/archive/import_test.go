package archive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// An import into a system with a different number of partitions keeps the order of each hospital's records and the
// order of time in each partition, so that a later export finds the same records in a span of time.
func TestImportIntoOtherPartitions(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(2400, 5, time.Minute)
	b.Put(list)
	from, to := list[700].ReceivedAt.Time(), list[1500].ReceivedAt.Time()
	exported := func(l *inputlog.Log) map[string][]string {
		x := analysistest.Export(l, tables.NDJSON)
		x.From, x.To = from, to
		dir := t.TempDir()
		m, err := x.Run(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		rows := rowsOf(t, dir, m)
		slices.SortFunc(rows, func(a, b tables.ObservationRow) int { return int(a.Offset - b.Offset) })
		by := map[string][]string{}
		for _, row := range rows {
			by[row.Hospital] = append(by[row.Hospital], string(row.Record))
		}
		return by
	}
	want := exported(b.Log())
	dir := t.TempDir()
	x := analysistest.Export(b.Log(), tables.Parquet)
	x.Segment = 150
	if _, err := x.Run(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, partitions := range []int32{1, 2, analysistest.Partitions, 7} {
		topic := fmt.Sprintf("%s-%d", schemas.Observations().Name, partitions)
		if err := b.Cluster.Ensure(t.Context(), stream.Topic{Name: topic, Partitions: partitions}); err != nil {
			t.Fatal(err)
		}
		l, err := inputlog.OpenLog(&b.Options, topic)
		if err != nil {
			t.Fatal(err)
		}
		importInto(b, l, dir, 0)
		if got := exported(l); !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%d partitions: an export of a span has other records", partitions)
		}
		l.Close()
	}
}

// importInto imports a folder into the topic of a log, and writes the first records twice, as a second import would.
func importInto(b *analysistest.Kafka, l *inputlog.Log, dir string, twice int) *archive.Import {
	b.TB.Helper()
	loader, err := b.Cluster.Loader(b.TB.Context(), l.Topic)
	if err != nil {
		b.TB.Fatal(err)
	}
	im := &archive.Import{Dir: dir, Spans: l.Spans, Put: func(r *stream.Record) error {
		if twice--; twice >= 0 {
			if err := loader.Put(r); err != nil {
				return err
			}
		}
		return loader.Put(r)
	}}
	if _, err := im.Run(b.TB.Context()); err != nil {
		b.TB.Fatal(err)
	}
	if err := loader.Close(); err != nil {
		b.TB.Fatal(err)
	}
	return im
}

// The progress of an import counts the records that have been written, not those that have been read.
func TestImportProgress(t *testing.T) {
	const total = 12_000
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(total, 2, time.Second))
	dir := t.TempDir()
	if _, err := analysistest.Export(b.Log(), tables.Parquet).Run(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	written := int64(0)
	var reported []int64
	im := &archive.Import{
		Dir: dir,
		Spans: func(context.Context, time.Time, time.Time) ([]stream.Span, error) {
			return []stream.Span{{Partition: 0}, {Partition: 1}}, nil
		},
		Put: func(*stream.Record) error { written++; return nil },
		Progress: func(done, of int64) {
			if reported = append(reported, done); done != written || of != total {
				t.Errorf("reported %d of %d when %d were written", done, of, written)
			}
		},
	}
	if _, err := im.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last := len(reported) - 1; last < 2 || reported[last] != total {
		t.Errorf("reported %v", reported)
	}
}

// An import notices that somebody else has written observations at the same time.
func TestImportNotAlone(t *testing.T) {
	b := analysistest.NewKafka(t)
	b.Put(analysistest.Shifts(300, 2, time.Minute))
	dir := t.TempDir()
	if _, err := analysistest.Export(b.Log(), tables.Parquet).Run(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, others := range []int{0, 1, 300} {
		empty := analysistest.NewKafka(t)
		im := importInto(empty, empty.Log(), dir, others)
		if err := im.CheckAlone(t.Context()); errors.Is(err, archive.ErrNotAlone) != (others > 0) {
			t.Errorf("%d records of others: %v", others, err)
		}
	}
}
