package stream

import (
	"fmt"
	"time"
)

// Task is the work on one partition. All its methods are called from one
// goroutine at a time; those of different partitions in parallel. Its memory is
// a function of its changelog: after any error it is closed, and a new task reads
// the changelog again.
//
// The order of calls: Restore*, Restored, then turns of (Apply or Reject)*,
// Advance*, Outputs, Committed; a piece of Live at times after Outputs; Close.
type Task interface {
	// Restore takes one record of the changelog, in order: of each key that is
	// not gone the newest at least. A nil Value says that the key is gone.
	Restore(Record) error
	// Restored ends the restore; derived state is built here. It returns the
	// lowest input offset that the changelog has not seen; 0: none was.
	Restored() (next int64, err error)
	// Apply takes one input, after what is due before the time that it carries.
	// Its bytes serve another input once it is taken: keep none of them. A
	// [PoisonError] says that no retry can help: Reject is called with its
	// reason. Any other error stops the partition.
	Apply(Record) error
	// Reject takes an input that cannot be applied, so that it is not silent.
	Reject(r Record, reason string) error
	// Due returns the earliest instant at which time alone changes
	// something; the zero time: never.
	Due() time.Time
	// Advance fires what is due up to an instant, for at most about 10 ms; what
	// is left stays due. The instant is that of the wall clock where the log
	// ends, and never beyond the inputs that are still to come.
	Advance(upTo time.Time) error
	// Outputs emits what is to be written since the last call; a nil value
	// removes the key. The bytes are kept until Committed: do not reuse them.
	// An error drops the memory, as one of Apply does.
	Outputs(emit func(key, value []byte)) error
	// Committed says that what the last Outputs emitted is durable.
	Committed()
	// Live begins a look at all keys of the changelog that are not removed. Each
	// call of next emits those of one more piece of the state with their present
	// values, and says whether there is more; other calls come between. A
	// changelog that begins with the first piece, and holds what Outputs emitted
	// since, needs nothing before. The bytes are kept until the transaction
	// is over: never reuse them.
	Live() (next func(emit func(key, value []byte)) (more bool, err error))
	// Close says that the partition is no longer ours, or that its memory is
	// dropped. What was not committed never happened. A partition that was taken
	// away and came back has its next task restored before this one is closed.
	Close()
}

// PoisonError is an input that no retry can help.
type PoisonError struct {
	Reason string // of a closed set: a metric label and part of the rejection
	Err    error
}

// Error gives the reason and its cause.
func (e *PoisonError) Error() string { return fmt.Sprintf("%s: %v", e.Reason, e.Err) }

// Unwrap gives the cause.
func (e *PoisonError) Unwrap() error { return e.Err }
