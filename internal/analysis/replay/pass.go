package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/stream"
	"svc/schemas"
)

// passage processes the inputs of one partition.
type passage interface {
	foldInput(in *inputlog.Input) error
	finish() error // after the last input
	close()        // always, also after an error
}

// foldPartitions reads partitions, atOnce of them at the same time, and passes the inputs of each
// to a passage of its own. A named hospital without any record in the log is an error, because
// its name is probably wrong.
func (r *Rerun) foldPartitions(ctx context.Context, atOnce int, begin func(ctx context.Context, s stream.Span) (passage, error)) error {
	spans, err := r.spans(ctx)
	if err != nil {
		return err
	}
	shared := inputlog.NewShare(r.Pace, r.Progress)
	for _, s := range spans {
		shared.AddProgress(0, s.End-s.From)
	}
	missing := newAbsent(r.Hospitals)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, s := range spans {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err() //nolint:wrapcheck // of another partition
			}
			p, err := begin(ctx, s)
			if err != nil {
				return err
			}
			defer p.close()
			take := func(in *inputlog.Input) error {
				missing.markPresent(in.Hospital)
				return p.foldInput(in)
			}
			if err = r.inputs(ctx, s, shared, take); err != nil {
				return err
			}
			return p.finish()
		})
	}
	return cmp.Or(g.Wait(), missing.err())
}

// absent holds the named hospitals without an input so far.
type absent struct {
	mu   sync.Mutex
	left []string
}

func newAbsent(hospitals []string) *absent { return &absent{left: slices.Clone(hospitals)} }

func (a *absent) markPresent(hospital string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.left, hospital); i >= 0 {
		a.left = slices.Delete(a.left, i, i+1)
	}
}

// err returns the first of them as an error.
func (a *absent) err() error {
	if len(a.left) == 0 {
		return nil
	}
	return AbsentError(a.left[0])
}

// AbsentError is the id of a hospital without any record in the log.
type AbsentError string

func (e AbsentError) Error() string {
	return fmt.Sprintf("the log has nothing of hospital %q", string(e))
}

// inputs calls each with the inputs of the hospitals, in the order of the partition.
func (r *Rerun) inputs(ctx context.Context, s stream.Span, shared *inputlog.Share, each func(in *inputlog.Input) error) error {
	in := inputlog.ReadInputs(ctx, r.Inputs.Read, s, r.Hospitals)
	in.Progress = shared.AddProgress
	defer in.Stop()
	from := acuity.At(r.From)
	for {
		input := in.Next()
		if input == nil {
			return in.Err()
		}
		if err := shared.Wait(ctx); err != nil {
			return err
		}
		if input.Hospital == "" {
			continue
		}
		if r.Wait != nil && (r.From.IsZero() || input.At >= from) {
			if err := r.Wait(ctx, input.At.Time()); err != nil {
				return err
			}
		}
		if err := each(input); err != nil {
			return err
		}
	}
}

// wants reports whether the hospital of a key is among the requested ones.
func (r *Rerun) wants(key []byte) bool {
	return len(r.Hospitals) == 0 || slices.Contains(r.Hospitals, schemas.InputHospital(key))
}

// spans returns the spans that hold the hospitals, each from the beginning of its partition.
func (r *Rerun) spans(ctx context.Context) ([]stream.Span, error) {
	all, err := r.Inputs.Spans(ctx, time.Time{}, r.To)
	if err != nil {
		return nil, err
	}
	wanted := inputlog.PartitionsOf(r.Hospitals, int32(len(all))) //nolint:gosec // Kafka counts them so
	var spans []stream.Span
	for _, s := range all {
		if s.From == s.End || wanted != nil && wanted[s.Partition] == nil {
			continue
		}
		if s.From > 0 {
			return nil, fmt.Errorf("%w: the observations of partition %d begin at offset %d", inputlog.ErrGone, s.Partition, s.From)
		}
		spans = append(spans, s)
	}
	return spans, nil
}
