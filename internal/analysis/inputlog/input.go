package inputlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// Input is one record of the log.
type Input struct {
	stream.Position
	Hospital string         // "": the hospital was not requested, so the record is not decoded
	At       acuity.Instant // timestamp of the record

	// Observation is the decoded record. It is nil if the record is not decoded, or if this release cannot decode it;
	// in the second case, Reason says why.
	Observation *acuity.Observation
	Reason      string
}

// InputOf decodes a record. It never fails, because an undecodable record is also an input.
func InputOf(r *stream.Record) Input {
	in := Input{
		Position: stream.Position{Partition: r.Partition, Offset: r.Offset},
		Hospital: schemas.InputHospital(r.Key), At: acuity.At(r.Timestamp),
	}
	o, reason, err := schemas.ReadInput(r.Key, r.Value)
	if err != nil {
		in.Reason = reason
		return in
	}
	in.Observation = o
	return in
}

// ReadInputs begins to read the inputs of a span. It decodes the inputs of the given hospitals, or of all hospitals if
// none are given. For the other inputs, only the position and the time are set.
func ReadInputs(ctx context.Context, read Read, s stream.Span, hospitals []string) *Ahead[Input] {
	return ReadAhead(ctx, read, s, func(r *stream.Record, in *Input) bool {
		if len(hospitals) == 0 || slices.Contains(hospitals, schemas.InputHospital(r.Key)) {
			*in = InputOf(r)
		} else {
			*in = Input{Position: stream.Position{Partition: r.Partition, Offset: r.Offset}, At: acuity.At(r.Timestamp)}
		}
		return true
	})
}

// Inputs yields the inputs of one hospital in the order of the log, up to the log's current end. An error ends the
// sequence and is yielded last.
func (l *Log) Inputs(ctx context.Context, hospital string) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		spans, err := l.Spans(ctx, time.Time{}, time.Time{})
		if err != nil {
			yield(Input{}, err)
			return
		}
		partition := schemas.Partition([]byte(hospital), int32(len(spans))) //nolint:gosec // Kafka's number of partitions is an int32
		err = l.Read(ctx, spans[partition], func(r stream.Record) error {
			if schemas.InputHospital(r.Key) != hospital {
				return nil
			}
			if !yield(InputOf(&r), nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Input{}, err)
		}
	}
}

// errEnough ends a read when the caller does not need more inputs.
var errEnough = errors.New("stop reading")

// An [Ahead] passes values in batches from the goroutine that reads them to the one that applies them. batchRecords
// and batchBytes limit the size of a batch, and batchesAhead is the number of batches that may wait. With these
// values, neither goroutine waits for single values, and the batches use little memory.
const (
	batchRecords = 256
	batchBytes   = 1 << 20 // bytes of values in a batch
	batchesAhead = 4
)

// Ahead passes values from a producing goroutine to a consuming one. Only the consumer may call the methods of an
// Ahead, and it must call Stop.
type Ahead[T any] struct {
	// Progress is called when the consumer begins a batch. done is the number of values in the batch, and total is 0.
	// Progress may be nil.
	Progress func(done, total int64)

	batches chan []T
	batch   []T // values of the current batch that Next has not returned yet
	fault   error
	cancel  context.CancelFunc
}

// MakeAhead starts a goroutine that calls create. create must pass each value to put, with its size in bytes, or 0 if
// the value is small. put copies the value. If put returns an error, create must return.
func MakeAhead[T any](ctx context.Context, create func(ctx context.Context, put func(v *T, size int) error) error) *Ahead[T] {
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // Stop calls it
	a := &Ahead[T]{batches: make(chan []T, batchesAhead), cancel: cancel}
	go func() {
		defer close(a.batches)
		batch, bytes := make([]T, 0, batchRecords), 0
		send := func() error {
			select {
			case a.batches <- batch:
				batch, bytes = make([]T, 0, batchRecords), 0
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := create(ctx, func(v *T, size int) error {
			batch, bytes = append(batch, *v), bytes+size
			if len(batch) == batchRecords || bytes >= batchBytes {
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

// ReadAhead begins to read a span. convert fills a value from a record, and returns false to drop the record.
func ReadAhead[T any](ctx context.Context, read Read, s stream.Span, convert func(r *stream.Record, v *T) (wanted bool)) *Ahead[T] {
	return MakeAhead(ctx, func(ctx context.Context, put func(v *T, size int) error) error {
		// All records share these two variables. If they were declared inside the callback, each record would
		// allocate them on the heap, because the compiler cannot know what convert does with the pointers.
		var record stream.Record
		var value T
		return read(ctx, s, func(r stream.Record) error {
			record = r
			if !convert(&record, &value) {
				return nil
			}
			return put(&value, len(r.Value))
		})
	})
}

// Next returns the next value, or nil after the last one or after an error; see Err.
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

// Err returns the error that ended the producer, or nil if there was none. Call it only after Next has returned nil.
func (a *Ahead[T]) Err() error { return a.fault }

// Stop ends the producer and waits for its goroutine.
func (a *Ahead[T]) Stop() {
	a.cancel()
	for range a.batches {
	}
}

// NewPace returns the rate limit that all readers of a command share, in records per second; it limits the load on the
// live system. For 0, NewPace returns nil, which means no limit.
func NewPace(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(perSecond/20, 1))
}

// Share holds the rate limit and the progress that the readers of several partitions share.
type Share struct {
	pace     *rate.Limiter           // nil: no limit
	progress func(done, total int64) // called with the progress; may be nil

	mu          sync.Mutex
	done, total int64
}

// NewShare returns a Share. A nil pace means no limit, and a nil progress means no progress reports.
func NewShare(pace *rate.Limiter, progress func(done, total int64)) *Share {
	return &Share{pace: pace, progress: progress}
}

// Wait delays a reader according to the rate limit. Call it before each record.
func (s *Share) Wait(ctx context.Context) error {
	if s.pace == nil {
		return nil
	}
	if err := s.pace.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the rate limit: %w", err)
	}
	return nil
}

// AddProgress increases the progress and the total by the given numbers, and reports the sums.
func (s *Share) AddProgress(done, total int64) {
	if s.progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.total = s.done+done, s.total+total
	s.progress(s.done, s.total)
}
