package replay

import (
	"context"
	"fmt"
	"io"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// Rerun makes the verdicts of one hospital anew. The state at its beginning is
// what the log before it makes, so it reads that too.
type Rerun struct {
	Inputs   Source
	Hospital string
	From, To time.Time // of the changes that are told; zero: all there are
	Rules    Override
	// Wait holds the changes to a multiple of the pace of the log: it is called
	// with the instant of each input from From on. Nil: as fast as can be.
	Wait func(ctx context.Context, at time.Time) error
	Rate int // records read in a second at most; 0: as many as can be
	// Progress is told how many records are read, of how many.
	Progress func(done, total int64)
}

// span is the part of the log that the hospital is in, from its beginning.
func (r *Rerun) span(ctx context.Context) (stream.Span, error) {
	spans, err := r.Inputs.Spans(ctx, time.Time{}, r.To)
	if err != nil {
		return stream.Span{}, err
	}
	s := spans[schemas.Partition([]byte(r.Hospital), int32(len(spans)))] //nolint:gosec // Kafka counts them so
	if s.From > 0 && s.From < s.End {
		return s, fmt.Errorf("%w: the observations begin at offset %d", ErrGone, s.From)
	}
	return s, nil
}

// inputs hands the inputs of the hospital to each, in order.
func (r *Rerun) inputs(ctx context.Context, each func(in *Input) error) error {
	s, err := r.span(ctx)
	if err != nil {
		return err
	}
	done, pace := int64(0), newPace(r.Rate)
	return r.Inputs.Read(ctx, s, func(record stream.Record) error {
		if done++; done%toldEvery == 0 && r.Progress != nil {
			r.Progress(done, s.End-s.From)
		}
		if err := pace.wait(ctx); err != nil {
			return err
		}
		if schemas.InputHospital(record.Key) != r.Hospital {
			return nil
		}
		in := InputOf(record)
		if r.Wait != nil && !record.Timestamp.Before(r.From) {
			if err := r.Wait(ctx, record.Timestamp); err != nil {
				return err
			}
		}
		return each(&in)
	})
}

// window reports whether an instant is of those that are told.
func (r *Rerun) window(at acuity.Instant) bool {
	return at >= acuity.At(r.From) && (r.To.IsZero() || at < acuity.At(r.To))
}

// Run hands the changes to each.
func (r *Rerun) Run(ctx context.Context, each func(partition int32, c *acuity.Change) error) error {
	f, err := NewRefold(r.Hospital, r.Rules)
	if err != nil {
		return err
	}
	partition := int32(0)
	var fault error
	tell := func(c *acuity.Change) {
		if fault == nil && r.window(c.AppliedAt) {
			c.Hospital = r.Hospital
			fault = each(partition, c)
		}
	}
	s, err := r.span(ctx)
	if err != nil {
		return err
	}
	partition = s.Partition
	if err = r.inputs(ctx, func(in *Input) error {
		f.Take(in, tell)
		return fault
	}); err != nil {
		return err
	}
	if !r.To.IsZero() {
		f.advance(acuity.At(r.To)-1, tell)
	}
	return fault
}

// Write writes the changes as rows.
func (r *Rerun) Write(ctx context.Context, w io.Writer, format Format) (rows int64, err error) {
	out, err := newSink[VerdictRow](w, format)
	if err != nil {
		return 0, err
	}
	if err := r.Run(ctx, func(partition int32, c *acuity.Change) error {
		var row VerdictRow
		row.of(partition, c)
		rows++
		return out.Write(&row)
	}); err != nil {
		return rows, err
	}
	return rows, out.Close()
}
