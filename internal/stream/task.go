package stream

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// Task processes one partition. Its methods are called by one goroutine at a time; tasks of different partitions run
// in parallel. The state of a task is a function of its changelog: after any error the task is closed, and a new task
// reads the changelog again.
//
// The order of calls is: Restore*, Restored, then turns of (Apply or Reject)*, Advance*, Outputs, Committed. After
// Outputs, there may be a call to the function that Live returned. Close is called last.
type Task interface {
	// Restore applies one changelog record. Records come in order. Older records of a key may be missing, but the
	// newest is always included. A nil Value removes the key.
	Restore(Record) error
	// Restored ends the restore and builds derived state. It returns the offset of the first input that the changelog
	// does not contain, or 0 if the changelog contains no input.
	Restored() (next int64, err error)
	// Apply fires the timers that are due before the timestamp of the input, and then applies the input. The record
	// shares its memory with its whole fetch, so its bytes must not be retained. After a [PoisonError], which a retry
	// cannot fix, Reject is called with the error's reason. After any other error, the input is retried, and blocks
	// its partition until Apply succeeds.
	Apply(Record) error
	// Reject records that an input cannot be applied, so that its sender is informed.
	Reject(r Record, reason string) error
	// Due returns the earliest instant at which a timer changes something, or the zero time if there is none.
	Due() time.Time
	// Advance fires the timers that are due up to an instant, for about 10 ms at most. The remaining timers stay due.
	// If no input is pending, the instant is the current time; if one is, the instant is not later than the pending
	// input's timestamp.
	Advance(upTo time.Time) error
	// Outputs emits what has changed since the last call; a nil value removes the key. The bytes are read until
	// Committed, so they must not be reused before then. An error drops the state in memory, as an error from Apply
	// does.
	Outputs(emit func(key, value []byte)) error
	// Committed is called when the records of the last Outputs are durable.
	Committed()
	// Live starts an iteration over all existing keys of the changelog. Each call to next emits some of the keys with
	// their current values, and reports whether there are more. Other methods are called between these calls.
	// Everything that next emits, together with everything that Outputs emits from the first call to next on, forms a
	// complete changelog. The emitted bytes must not be reused.
	Live() (next func(emit func(key, value []byte)) (more bool, err error))
	// Close ends the task because its partition was revoked or its state is dropped. Uncommitted outputs are void. If
	// the partition is reassigned, its next task may be restored before this one is closed.
	Close()
}

// PoisonError means that an input cannot be applied, and that a retry would fail, too.
type PoisonError struct {
	Reason string // from a fixed set, because it is a metric label; also part of the rejection
	Err    error
}

// Error returns the reason and its cause.
func (e *PoisonError) Error() string { return fmt.Sprintf("%s: %v", e.Reason, e.Err) }

// Unwrap returns the cause.
func (e *PoisonError) Unwrap() error { return e.Err }

// applyAll passes the records to their tasks, for several partitions in parallel.
func (l *loop) applyAll(fetches kgo.Fetches) error {
	var applied atomic.Int64
	wait := workers()
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		p := l.parts[fp.Partition]
		if len(fp.Records) == 0 {
			return
		}
		wait.Go(func() error {
			n, err := l.apply(p, &fp.FetchPartition)
			applied.Add(int64(n))
			return err
		})
	})
	err := wait.Wait()
	l.applied += int(applied.Load())
	return err
}

// apply passes the records of one partition to its task, each exactly once, and returns how many it applied.
func (l *loop) apply(p *part, fp *kgo.FetchPartition) (applied int, err error) {
	if p == nil {
		return 0, fmt.Errorf("partition %d has no state", fp.Partition)
	}
	p.end = max(p.end, fp.HighWatermark)
	for _, r := range fp.Records {
		if r.Offset < p.next {
			continue // already applied: the changelog contains it, or the reader was rewound
		}
		if r.Attrs.IsControl() {
			p.next = r.Offset + 1
			continue
		}
		if r.Offset > p.next && !l.cfg.Sparse {
			return applied, gapError{partition: r.Partition, want: p.next, have: r.Offset}
		}
		p.dirty = true
		in := recordOf(r)
		l.addInput(p, &in)
		if err := l.applyOne(p.task, in); err != nil {
			return applied, fmt.Errorf("apply %d:%d: %w", r.Partition, r.Offset, err)
		}
		p.next = r.Offset + 1
		p.clock.newest = r.Timestamp
		applied++
	}
	if applied > 0 {
		p.clock.appliedAt, p.clock.endAsked = time.Now(), p.clock.newest
	}
	return applied, nil
}

func (l *loop) applyOne(task Task, r Record) error {
	err := task.Apply(r)
	if err == nil {
		return nil
	}
	poison, ok := errors.AsType[*PoisonError](err)
	if !ok {
		return err
	}
	l.cfg.Stats.Rejected.Add(1)
	return task.Reject(r, poison.Reason)
}

// Parallel calls the function do with each number from 0 to n-1, on at most as many goroutines as there are
// processors. After all calls have ended, it returns the first error. Tasks do not start goroutines themselves; they
// use Parallel for long work.
func Parallel(n int, do func(i int) error) error {
	wait := workers()
	for i := range n {
		wait.Go(func() error { return do(i) })
	}
	return wait.Wait()
}

// workers returns a group that runs at most as many goroutines at a time as there are processors.
func workers() *errgroup.Group {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	return &g
}
