package view

import (
	"cmp"
	"slices"
	"time"
)

// Freshness finds the instant up to which everything in a log was taken in. [Freshness.Ended]
// notes where the log ended at an instant, [Freshness.Reached] the progress of its reader. So a
// log without new records differs from a reader that stands still.
type Freshness struct {
	since    time.Time // instant since which the log is asked; zero: unknown
	position int64     // reached
	any      bool      // a position was reached
	asOf     time.Time
	ends     []logEnd // not reached, oldest first
}

// logEnd is the last position of a log at an instant.
type logEnd struct {
	at   time.Time
	last int64
}

// endsAtMost bounds the ends that are kept while a reader stands still. Beyond it every second one
// is dropped. The oldest and the newest stay.
const endsAtMost = 32

// FreshnessSince returns the Freshness of a log that is asked from an instant on. If the log never
// answers, its state counts as unknown since then.
func FreshnessSince(at time.Time) Freshness { return Freshness{since: at} }

// Ended notes that at an instant the last position in the log was last; -1: the log was empty. The
// instant must lie before the question to the log.
func (f *Freshness) Ended(at time.Time, last int64) {
	f.ends = append(f.ends, logEnd{at, last})
	if len(f.ends) > endsAtMost {
		odd := true
		f.ends = slices.DeleteFunc(f.ends, func(logEnd) bool {
			odd = !odd
			return odd
		})
	}
	if f.any {
		f.Reached(f.position)
	}
}

// Reached notes that everything up to a position is taken in.
func (f *Freshness) Reached(position int64) {
	f.position, f.any = position, true
	passed := 0
	for passed < len(f.ends) && f.ends[passed].last <= position {
		f.asOf = f.ends[passed].at
		passed++
	}
	f.ends = slices.Delete(f.ends, 0, passed)
}

// AsOf returns the instant up to which everything was taken in; zero: unknown.
func (f *Freshness) AsOf() time.Time { return f.asOf }

// Waits returns the earliest instant at which a record is known to have been waiting; zero: none
// is known.
func (f *Freshness) Waits() time.Time {
	if len(f.ends) == 0 {
		return time.Time{}
	}
	return f.ends[0].at
}

// Fault returns why the state made from the log is not current, or nil. A record may wait no
// longer than most; 0: 2 s, the limit of verdicts.
func (f *Freshness) Fault(now time.Time, most time.Duration) error {
	waiting, unknown := time.Duration(0), time.Duration(0)
	if waits := f.Waits(); !waits.IsZero() {
		waiting = now.Sub(waits)
	}
	if known := f.lastKnown(); !known.IsZero() {
		unknown = now.Sub(known)
	}
	return lacks(waiting, unknown, cmp.Or(most, waitsAtMost))
}

// Behind returns how much of the log is not taken in, as time: how long a record has waited. If the
// log does not answer, it is how long its end has been unknown. It is 0 if nothing is missing, or
// if there was no log yet.
func (f *Freshness) Behind(now time.Time) time.Duration {
	if len(f.ends) > 0 {
		return max(now.Sub(f.Waits()), 0)
	}
	if known := f.lastKnown(); !known.IsZero() && now.Sub(known) > knownWithin {
		return now.Sub(known)
	}
	return 0
}

// Unasked reports whether the log has not answered yet.
func (f *Freshness) Unasked() bool { return f.asOf.IsZero() && len(f.ends) == 0 }

// lastKnown returns the instant up to which everything was taken in or, before there is one, the
// instant since which the log is asked. Zero: neither is known.
func (f *Freshness) lastKnown() time.Time {
	if f.asOf.IsZero() {
		return f.since
	}
	return f.asOf
}
