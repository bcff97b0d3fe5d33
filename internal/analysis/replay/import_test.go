package replay_test

import (
	"errors"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// Importing exported observations into an empty system reproduces the log: every record has the same bytes, and every
// hospital has the same changes and verdicts. Import refuses a system that has observations.
func TestExportThenImport(t *testing.T) {
	list := analysistest.Shifts(2000, 4, time.Minute)
	b := analysistest.NewKafka(t)
	b.Put(list)
	last := list[len(list)-1].ReceivedAt
	for _, format := range tables.Formats() {
		t.Run(string(format), func(t *testing.T) {
			dir := t.TempDir()
			x := analysistest.Export(b.Log(), format)
			x.Segment = 300
			if _, err := x.Run(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			empty := analysistest.NewKafka(t)
			loader, err := empty.Cluster.Loader(t.Context(), schemas.Observations().Name)
			if err != nil {
				t.Fatal(err)
			}
			l := empty.Log()
			im := &archive.Import{Dir: dir, Spans: l.Spans, Put: loader.Put}
			if _, err := im.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := loader.Close(); err != nil {
				t.Fatal(err)
			}
			for _, hospital := range []string{"h000", "h001", "h002", "h003"} {
				hours := 0
				for at := analysistest.Morning; at < last; at = at.Add(8 * time.Hour) {
					hours++
					if a, z := verdictAt(b, hospital, at), verdictAt(empty, hospital, at); a != z || a == "" {
						t.Fatalf("%s at %v:\n%s\n%s", hospital, at.Time(), a, z)
					}
				}
				if a, z := verdictAt(b, hospital, last), verdictAt(empty, hospital, last); a != z {
					t.Fatalf("%s in the end:\n%s\n%s", hospital, a, z)
				}
			}
			again := *im
			again.Put = func(*stream.Record) error { return errors.New("a record was put into a system that has some") }
			if _, err := again.Run(t.Context()); !errors.Is(err, archive.ErrNotEmpty) {
				t.Errorf("a second import: %v", err)
			}
		})
	}
}

// verdictAt returns a digest of a hospital's inputs, changes and verdict up to an instant.
func verdictAt(b *analysistest.Kafka, hospital string, at acuity.Instant) string {
	b.TB.Helper()
	f, err := replay.NewRefold(hospital, nil)
	if err != nil {
		b.TB.Fatal(err)
	}
	digest := ""
	each := func(c *acuity.Change) {
		c.Offset = 0
		value, fault := schemas.ChangeCodec.Encode(nil, c)
		if fault != nil {
			b.TB.Fatal(fault)
		}
		digest = sum(digest + string(value))
	}
	log := b.Log().Source()
	span, err := log.Partition(b.TB.Context(), schemas.Partition([]byte(hospital), analysistest.Partitions))
	if err != nil {
		b.TB.Fatal(err)
	}
	if err := log.Read(b.TB.Context(), span, func(r stream.Record) error {
		if in := inputlog.InputOf(&r); in.Hospital == hospital && in.At < at {
			digest = sum(digest + string(r.Key) + string(r.Value))
			f.Apply(&in, each)
		}
		return nil
	}); err != nil {
		b.TB.Fatal(err)
	}
	f.ElapseTo(at, each)
	v := score.Judge(f.Chart(), at)
	return digest + v.Level.String() + v.Driving.String()
}
