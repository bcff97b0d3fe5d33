package stream

import (
	"context"
	"fmt"
	"time"
)

// In a partition, time advances with the timestamps of its records, and with the wall clock only at the end of its
// log. If the wall clock fired a timer while earlier records were unread, the timer would be applied before those
// records, and a replay would differ from live operation.
const (
	// liveWithin is the maximum age of an input in live operation. It allows for an outage of several seconds.
	liveWithin = time.Minute
	// logSilence is how long after an old input the loop waits for another record before it treats the log as ended.
	// A backfill may write more slowly than the records are applied, and a lost broker delays the backfill for 10 to
	// 15 s.
	logSilence = 20 * time.Second
	// lateTimer is the delay above which a timer waits for another query of the end of the log before it fires,
	// because the process may have been suspended while records arrived.
	lateTimer = time.Second
	// retryTimer is the pause before a timer that could not fire is retried.
	retryTimer = 100 * time.Millisecond

	advanceTime = 10 * time.Millisecond // time limit per turn for the due timers of all partitions
)

// clock is the known time of a partition.
type clock struct {
	newest    time.Time // timestamp of the newest input applied since the restore; zero: none
	appliedAt time.Time // when the newest input was applied or, if there is none, when the partition was restored
	endAsked  time.Time // when the end of the log was last queried
}

// live reports whether the newest input was recent when it was applied.
func (c *clock) live() bool { return !c.newest.IsZero() && c.appliedAt.Sub(c.newest) <= liveWithin }

// fires returns when the earliest timer of a partition may fire, and the instant up to which Advance may fire timers.
// Zero times mean that no timer may fire before the next record.
func (l *loop) fires(p *part, now time.Time) (at, upTo time.Time) {
	due := p.task.Due()
	switch {
	case due.IsZero():
		return due, due
	case !l.cluster.Away().IsZero(): // it is unknown whether there are unread records
		return now.Add(retryTimer), now
	case l.cfg.Sparse: // the records of a sparse input do not reveal where the log ends
		return due, now
	case p.next >= p.end:
		// Timers that are long overdue wait for records that may follow, even after a restore.
		if !p.clock.live() && p.clock.appliedAt.Sub(due) > liveWithin {
			if end := p.clock.appliedAt.Add(logSilence); due.Before(end) {
				return end, now
			}
		}
		return due, now
	case p.clock.live() && !due.After(p.clock.newest): // all unread records are later than the timer
		return due, p.clock.newest
	}
	return time.Time{}, time.Time{}
}

// advance fires due timers, for several partitions in parallel. Timers that do not fit into one turn remain due.
func (l *loop) advance(ctx context.Context, now time.Time) error {
	if err := l.confirm(ctx, now); err != nil {
		return err
	}
	wait := workers()
	for n, p := range l.parts { // the iteration order of a map varies, so no partition waits forever
		at, upTo := l.fires(p, now)
		if at.IsZero() || at.After(now) {
			continue
		}
		if time.Since(now) > advanceTime {
			break
		}
		p.dirty = true
		wait.Go(func() error {
			if err := p.task.Advance(upTo); err != nil {
				return fmt.Errorf("advance partition %d: %w", n, err)
			}
			return nil
		})
	}
	return wait.Wait() //nolint:wrapcheck // the error is from this package
}

// confirm queries the ends of the log if a timer fires late and the last query was before the timer was due.
func (l *loop) confirm(ctx context.Context, now time.Time) error {
	missed := false
	for _, p := range l.parts {
		at, _ := l.fires(p, now)
		due := p.task.Due()
		missed = missed || !l.cfg.Sparse && !at.IsZero() && !at.After(now) && p.next >= p.end &&
			now.Sub(due) > lateTimer && p.clock.endAsked.Before(due)
	}
	if !missed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ends, err := listed(l.cluster.admin.ListEndOffsets(ctx, l.cfg.Input))
	if err != nil {
		return fmt.Errorf("list end offsets: %w", err)
	}
	for n, p := range l.parts {
		if end, ok := ends.Lookup(l.cfg.Input, n); ok {
			p.end, p.clock.endAsked = max(p.end, end.Offset), now
		}
	}
	return nil
}
