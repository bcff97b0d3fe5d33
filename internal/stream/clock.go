package stream

import (
	"context"
	"fmt"
	"time"
)

// Time passes in a partition as its records say, and by the wall clock only where
// its log ends: a timer that the wall clock fires while earlier records lie in the
// log would be applied before them, at another instant than in live operation.
const (
	// recent is how old an input is at most when it is applied in live operation:
	// appended at once, or after a failure of seconds.
	recent = time.Minute
	// silence is how long nothing comes after an old input until the log counts as
	// ended: somebody may be writing a log of the past, slower than we apply it,
	// and a lost broker holds him up for 10-15 s.
	silence = 20 * time.Second
	// late is by how much a timer is missed where it is worth a request to ask
	// for the end of the log: we may have been held up, and records have come.
	late = time.Second
	// again is after how long a timer is tried again that could not be fired.
	again = 100 * time.Millisecond

	advanceTime = 10 * time.Millisecond // of one turn, for what many partitions have due
)

// clock is what a partition knows of its time.
type clock struct {
	newest time.Time // timestamp of the newest input applied since the restore; zero: none
	moved  time.Time // when that was applied, or the partition restored
	asOf   time.Time // the end of the log is known as it was then
}

// live says that the newest input was applied when it was new.
func (c *clock) live() bool { return !c.newest.IsZero() && c.moved.Sub(c.newest) <= recent }

// fires returns when the earliest timer of a partition may fire, and up to which
// instant at most; the zero times: not before a record comes.
func (l *loop) fires(p *part, now time.Time) (at, upTo time.Time) {
	due := p.task.Due()
	switch {
	case due.IsZero():
		return due, due
	case !l.cluster.Away().IsZero(): // nobody knows what came
		return now.Add(again), now
	case l.cfg.Sparse: // where such a log ends cannot be told from its records
		return due, now
	case p.next >= p.end:
		// After a restore, too, what is long overdue waits for what may come.
		if !p.clock.live() && p.clock.moved.Sub(due) > recent {
			if end := p.clock.moved.Add(silence); due.Before(end) {
				return end, now
			}
		}
		return due, now
	case p.clock.live() && !due.After(p.clock.newest): // what is left in the log came after it
		return due, p.clock.newest
	}
	return time.Time{}, time.Time{}
}

// advance fires what is due, partitions in parallel; what takes longer than a
// slice stays due.
func (l *loop) advance(ctx context.Context, now time.Time) error {
	if err := l.confirm(ctx, now); err != nil {
		return err
	}
	wait := workers()
	for n, p := range l.parts { // in another order each time: none waits for ever
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
	return wait.Wait() //nolint:wrapcheck // of ours
}

// confirm asks for the ends of the log if a timer is to fire late where the log
// ended before it was due.
func (l *loop) confirm(ctx context.Context, now time.Time) error {
	missed := false
	for _, p := range l.parts {
		at, _ := l.fires(p, now)
		due := p.task.Due()
		missed = missed || !l.cfg.Sparse && !at.IsZero() && !at.After(now) && p.next >= p.end &&
			now.Sub(due) > late && p.clock.asOf.Before(due)
	}
	if !missed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ends, err := l.cluster.admin.ListEndOffsets(ctx, l.cfg.Input)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("list ends: %w", err)
	}
	for n, p := range l.parts {
		if end, ok := ends.Lookup(l.cfg.Input, n); ok {
			p.end, p.clock.asOf = max(p.end, end.Offset), now
		}
	}
	return nil
}
