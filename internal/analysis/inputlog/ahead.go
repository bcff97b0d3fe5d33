package inputlog

import (
	"context"

	"svc/internal/stream"
)

// One goroutine reads and another one folds. These are the size of a batch between them and the
// number of waiting batches. No goroutine waits for a single record, and the batches are small
// beside the memory of the fold.
const (
	batchRecords = 256
	batchBytes   = 1 << 20 // of their values
	batchesAhead = 4
)

// Ahead reads a span and converts its records in a goroutine of its own, ahead of the goroutine
// that uses them. Only the using goroutine calls its methods, and it must call Stop.
type Ahead[T any] struct {
	// Progress is called with the number of records handed out; nil: no progress is wanted.
	Progress func(done, total int64)

	batches chan []T
	batch   []T // what is left of the batch from the channel
	fault   error
	cancel  context.CancelFunc
}

// ReadAhead begins to read a span. convert fills a value from a record; false drops the record.
func ReadAhead[T any](ctx context.Context, read Read, s stream.Span, convert func(r *stream.Record, v *T) (wanted bool)) *Ahead[T] {
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // Stop calls it
	a := &Ahead[T]{batches: make(chan []T, batchesAhead), cancel: cancel}
	go func() {
		defer close(a.batches)
		batch, size := make([]T, 0, batchRecords), 0
		send := func() error {
			select {
			case a.batches <- batch:
				batch, size = make([]T, 0, batchRecords), 0
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var record stream.Record // one for all records: the compiler cannot see into convert, so each would go to the heap
		err := read(ctx, s, func(r stream.Record) error {
			n := len(batch)
			record = r
			if !convert(&record, &batch[:n+1][n]) {
				return nil
			}
			batch, size = batch[:n+1], size+len(r.Value)
			if len(batch) == batchRecords || size >= batchBytes {
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

// Next returns the next value. It returns nil at the end of the span, or if reading failed; see
// Err.
func (a *Ahead[T]) Next() *T {
	if len(a.batch) == 0 {
		if a.batch = <-a.batches; a.batch == nil {
			return nil
		}
		if a.Progress != nil {
			a.Progress(int64(len(a.batch)), 0)
		}
	}
	v := &a.batch[0]
	a.batch = a.batch[1:]
	return v
}

// Err returns the error that ended the reading, once Next has returned nil; nil: the span was
// read to its end.
func (a *Ahead[T]) Err() error { return a.fault }

// Stop ends the reading and waits for its goroutine.
func (a *Ahead[T]) Stop() {
	a.cancel()
	for range a.batches {
	}
}
