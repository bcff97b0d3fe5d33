package verify

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/stream"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

// A hospital that differs keeps no changes: svc verify --continuous goes on for as long as the
// process lives, and nothing compares them any more.
func TestNoChangeIsKeptAfterADifference(t *testing.T) {
	value, err := schemas.ChangeCodec.Encode(nil, &acuity.Change{Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &partitionCheck{v: &Verify{}, units: map[string]*unitCheck{}}
	read := func() (kept int) {
		p.written = inputlog.ReadAhead(t.Context(), func(_ context.Context, s stream.Span, each func(stream.Record) error) error {
			for at := s.From; at < s.End; at++ {
				if err := each(stream.Record{Offset: at, Key: []byte("h000"), Value: value}); err != nil {
					return err
				}
			}
			return nil
		}, stream.Span{End: 10}, p.writtenOf)
		defer p.written.Stop()
		for p.readWritten() {
		}
		return len(p.units["h000"].queue)
	}
	if n := read(); n != 10 {
		t.Fatalf("%d changes wait for a comparison, want 10", n)
	}
	p.units["h000"].reportDifference(&Difference{Fault: WrongChange})
	if n := read(); n != 0 {
		t.Errorf("%d changes are kept after a difference", n)
	}
}

// A derivation finds a unit that differs from its facts, with field and version. Its
// difference counts before that of a later version.
func TestDerivedAnew(t *testing.T) {
	v := &Verify{deriving: make(chan struct{}, 1)}
	u := newUnitCheck(&partitionCheck{v: v}, "h000")
	feeds := loadgen.New(1, 12, acuity.At(time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)), time.Minute)
	for range 400 {
		u.fold.Apply(&inputlog.Input{Observation: feeds.Next()}, func(*acuity.Change) {})
	}
	u.startDerivation()
	if u.waitDerivation(); u.Difference != nil {
		t.Fatal(u.Difference)
	}
	version := u.version()
	u.unit.Chart().Rooms[3].Label += "?"
	u.startDerivation()
	u.reportDifference(&Difference{Fault: WrongChange, Version: version + 1})
	u.waitDerivation()
	if d := u.Difference; d.Fault != WrongDerived || d.Version != version || d.Hospital != "h000" || d.Key != "view room/4" {
		t.Errorf("found %v", d)
	}
}
