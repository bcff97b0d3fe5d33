package view

import (
	"cmp"
	"slices"
	"time"
)

// Freshness says up to which instant everything that lay in a log was taken in.
// Somebody asks the log where it ends, and notes it with [Freshness.Ended];
// somebody else says how far he is, with [Freshness.Reached]. So a log in which
// nothing happens and a reader who stands still are told apart.
type Freshness struct {
	since    time.Time // somebody has been asking the log; zero: not told
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

// endsAtMost bounds what is kept of a reader who stands still: beyond it every
// second one goes, so that the oldest and about the newest stay.
const endsAtMost = 32

// FreshnessSince begins to follow a log at an instant. A log that never answers counts
// as unknown from then on.
func FreshnessSince(at time.Time) Freshness { return Freshness{since: at} }

// Ended notes that the log ended with the position last, -1 before any, at an
// instant before the answer was asked for.
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

// AsOf is the instant; zero: none is known.
func (f *Freshness) AsOf() time.Time { return f.asOf }

// Waits is since when something has been waiting at least; zero: nothing is known to.
func (f *Freshness) Waits() time.Time {
	if len(f.ends) == 0 {
		return time.Time{}
	}
	return f.ends[0].at
}

// Fault is why the state that was made of the log is not the truth, nil if it is.
// What it lacks may have waited for at most so long; 0: as of the verdicts.
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

// Behind is how much of the log is not taken in, as time: for how long something
// has waited or, if the log does not answer, for how long nobody knows. 0: nothing
// is missing, or there was no log yet.
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

// lastKnown is the last instant at which the log answered or, while it never did, the
// instant since which it is asked; zero: neither is known.
func (f *Freshness) lastKnown() time.Time {
	if f.asOf.IsZero() {
		return f.since
	}
	return f.asOf
}
