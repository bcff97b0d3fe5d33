package replay

import (
	"context"

	"svc/internal/stream"
)

// One goroutine reads and another one folds. These are the size of a batch between them and the
// number of waiting batches. No goroutine waits for a single record, and the batches are small
// beside the memory of the fold.
const (
	aheadRecords = 256
	aheadBytes   = 1 << 20 // of their values
	aheadBatches = 4
)

// ahead reads a span and converts its records in a goroutine of its own, ahead of the goroutine
// that uses them. Only the using goroutine calls its methods, and it must call stop.
type ahead[T any] struct {
	batches  chan []T
	past     recycled[T]
	taken    []T                     // the batch from the channel
	batch    []T                     // the rest of taken that is not yet handed out
	progress func(done, total int64) // is called with the number of records handed out; nil: no progress is wanted
	fault    error
	cancel   context.CancelFunc
}

// readAhead begins to read a span. The function of converts a record, in the memory of an
// earlier value; false drops the record.
func readAhead[T any](ctx context.Context, read Read, s stream.Span, of func(r *stream.Record, v *T) (wanted bool)) *ahead[T] {
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // stop calls it
	a := &ahead[T]{batches: make(chan []T, aheadBatches), past: newRecycled[T](), cancel: cancel}
	go func() {
		defer close(a.batches)
		batch, size := a.past.empty(), 0
		send := func() error {
			select {
			case a.batches <- batch:
				batch, size = a.past.empty(), 0
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var record stream.Record // one for all records: the compiler cannot see into of, so each would go to the heap
		err := read(ctx, s, func(r stream.Record) error {
			n := len(batch)
			record = r
			if !of(&record, &batch[:n+1][n]) {
				return nil
			}
			batch, size = batch[:n+1], size+len(r.Value)
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

// next returns the next value, which is valid until the next call. It returns nil at the end of
// the span, or if reading failed; see err.
func (a *ahead[T]) next() *T {
	for len(a.batch) == 0 {
		a.past.put(a.taken)
		a.taken = <-a.batches
		if a.batch = a.taken; a.batch == nil {
			return nil
		}
		if a.progress != nil {
			a.progress(int64(len(a.batch)), 0)
		}
	}
	v := &a.batch[0]
	a.batch = a.batch[1:]
	return v
}

// err returns the error that ended the reading, once next has returned nil; nil: the span was
// read to its end.
func (a *ahead[T]) err() error { return a.fault }

// stop ends the reading and waits for its goroutine.
func (a *ahead[T]) stop() {
	a.cancel()
	for range a.batches {
	}
}

// recycled holds used batches. A new batch takes the memory of a used one, and its values the
// memory of the old values.
type recycled[T any] chan []T

func newRecycled[T any]() recycled[T] { return make(recycled[T], aheadBatches+2) }

// empty returns an empty batch.
func (p recycled[T]) empty() []T {
	select {
	case batch := <-p:
		return batch[:0]
	default:
		return make([]T, 0, aheadRecords)
	}
}

// put takes a used batch back.
func (p recycled[T]) put(batch []T) {
	if batch == nil {
		return
	}
	select {
	case p <- batch:
	default:
	}
}
