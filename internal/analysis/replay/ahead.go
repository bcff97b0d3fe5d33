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
	past    recycled[T]
	taken   []T                     // from the channel
	batch   []T                     // what of it is not yet handed out
	told    func(done, total int64) // how many are taken; nil: nobody looks
	fault   error
	cancel  context.CancelFunc
}

// readAhead begins to read a span; of makes of a record what is handed on, in the
// memory of something past, or says that nobody wants it.
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
		var record stream.Record // one for all of them: of is not known here, so it lies on the heap
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

// next returns the next one, which holds until the next call; nil: there is none,
// or reading failed.
func (a *ahead[T]) next() *T {
	for len(a.batch) == 0 {
		a.past.put(a.taken)
		a.taken = <-a.batches
		if a.batch = a.taken; a.batch == nil {
			return nil
		}
		if a.told != nil {
			a.told(int64(len(a.batch)), 0)
		}
	}
	v := &a.batch[0]
	a.batch = a.batch[1:]
	return v
}

// err says, once next has returned nil, why there is no more; nil: the span is
// read to its end.
func (a *ahead[T]) err() error { return a.fault }

// stop ends the reading and waits for its goroutine.
func (a *ahead[T]) stop() {
	a.cancel()
	for range a.batches {
	}
}

// recycled are batches that are done with: a batch takes the memory of a past one,
// and what lies in it that of what lay there.
type recycled[T any] chan []T

func newRecycled[T any]() recycled[T] { return make(recycled[T], aheadBatches+2) }

// empty returns a batch with nothing in it.
func (p recycled[T]) empty() []T {
	select {
	case batch := <-p:
		return batch[:0]
	default:
		return make([]T, 0, aheadRecords)
	}
}

// put takes a batch that is done with.
func (p recycled[T]) put(batch []T) {
	if batch == nil {
		return
	}
	select {
	case p <- batch:
	default:
	}
}
