package replay

import (
	"context"

	"svc/internal/stream"
)

// What is handed on at once from the goroutine that reads to the one that folds,
// and how many times that may wait: enough that neither waits for the other over a
// single record, and little beside what the fold keeps.
const (
	aheadRecords = 256
	aheadBytes   = 1 << 20 // of their values
	aheadBatches = 4
)

// ahead is a span that is read, and made something of, in a goroutine of its own,
// ahead of the one that takes it. One goroutine uses it, and stops it.
type ahead[T any] struct {
	batches chan []T
	batch   []T                     // taken from the channel, and not yet handed out
	told    func(done, total int64) // how many are taken; nil: nobody looks
	fault   error
	cancel  context.CancelFunc
}

// readAhead begins to read a span; of makes of a record what is handed on, or says
// that nobody wants it.
func readAhead[T any](ctx context.Context, read Read, s stream.Span, of func(r *stream.Record) (v T, wanted bool)) *ahead[T] {
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // stop calls it
	a := &ahead[T]{batches: make(chan []T, aheadBatches), cancel: cancel}
	go func() {
		defer close(a.batches)
		batch, size := make([]T, 0, aheadRecords), 0
		send := func() error {
			select {
			case a.batches <- batch:
				batch, size = make([]T, 0, aheadRecords), 0
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := read(ctx, s, func(r stream.Record) error {
			v, wanted := of(&r)
			if !wanted {
				return nil
			}
			batch, size = append(batch, v), size+len(r.Value)
			if len(batch) == aheadRecords || size >= aheadBytes {
				return send()
			}
			return nil
		})
		if err == nil && len(batch) > 0 {
			err = send()
		}
		a.fault = err
	}()
	return a
}

// next returns the next one; false: there is none, or reading failed.
func (a *ahead[T]) next() (v T, more bool) {
	for len(a.batch) == 0 {
		if a.batch, more = <-a.batches; !more {
			return v, false
		}
		if a.told != nil {
			a.told(int64(len(a.batch)), 0)
		}
	}
	v, a.batch = a.batch[0], a.batch[1:]
	return v, true
}

// err says, once next has returned false, why there is no more; nil: the span is
// read to its end.
func (a *ahead[T]) err() error { return a.fault }

// stop ends the reading and waits for its goroutine.
func (a *ahead[T]) stop() {
	a.cancel()
	for range a.batches {
	}
}
