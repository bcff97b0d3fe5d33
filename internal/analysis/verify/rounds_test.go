package verify

import (
	"context"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/stream"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

// After the first difference of a hospital, verify no longer compares the hospital's changes. It must not store these
// changes either, because svc verify --continuous runs indefinitely.
func TestNoChangeIsKeptAfterADifference(t *testing.T) {
	value, err := schemas.ChangeCodec.Encode(nil, &acuity.Change{Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &partitionCheck{v: &Verify{}, units: map[string]*unitCheck{}}
	read := func() (kept int) {
		p.written = inputlog.ReadAhead(t.Context(), func(_ context.Context, s stream.Span, fn func(stream.Record) error) error {
			for at := s.From; at < s.End; at++ {
				if err := fn(stream.Record{Offset: at, Key: []byte("h000"), Value: value}); err != nil {
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

// If a round fails, for example because of an error in another partition, the next round continues with the first
// input that was not folded.
func TestInputsAfterARoundThatFailed(t *testing.T) {
	feeds := loadgen.New(1, 12, acuity.At(time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)), time.Minute)
	var records []stream.Record
	for range 3 {
		o := feeds.Next()
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, stream.Record{
			Offset: int64(len(records)), Key: []byte(schemas.ObservationKey(o).String()), Value: value, Timestamp: o.ReceivedAt.Time(),
		})
	}
	read := func(_ context.Context, s stream.Span, fn func(stream.Record) error) error {
		for _, r := range records[s.From:s.End] {
			if err := fn(r); err != nil {
				return err
			}
		}
		return nil
	}
	v := &Verify{Inputs: inputlog.Source{Read: read}, Held: 1<<63 - 1, deriving: make(chan struct{}, 1)}
	p := &partitionCheck{v: v, applied: -1, reached: 2, units: map[string]*unitCheck{}}
	p.written = inputlog.ReadAhead(t.Context(), read, stream.Span{}, p.writtenOf)
	defer p.written.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	hourly := rate.NewLimiter(rate.Every(time.Hour), 1) // the wait before the second input exceeds the deadline of ctx
	if err := p.fold(ctx, inputlog.NewShare(hourly, nil), stream.Span{End: 3}); err == nil {
		t.Fatal("the round did not fail")
	}
	if err := p.fold(ctx, inputlog.NewShare(nil, nil), stream.Span{From: p.inputs, End: 3}); err != nil {
		t.Fatal(err)
	}
	if u := p.units["h000"]; u.Inputs != 3 {
		t.Errorf("%d inputs are folded, want 3", u.Inputs)
	}
}
