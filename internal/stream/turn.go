package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	farBehind   = 2000                   // inputs not yet applied: latency is lost, throughput counts
	turnRecords = 10_000                 // of one poll, and of one transaction unless its inputs leave little
	turnTime    = 100 * time.Millisecond // of one transaction, when behind, at least
	turnFactor  = 5                      // by which it takes longer, when behind, than inputs are gathered

	// The client fetches again when what it has was polled. So after a transaction it
	// has the first inputs that came meanwhile, and all others wait at the broker:
	// these few, committed alone, would hold the others up for one more transaction.
	// The fetch of the others is a moment away, and waited for, but no longer than
	// this part of the time that the last commit took.
	secondPart   = 3
	secondAtMost = 5 * time.Millisecond
)

// turn is one transaction: polls until there is something to do and it is time
// to commit, then commits.
func (l *loop) turn(ctx, free context.Context) error {
	var (
		fault error
		count int
		begun time.Time
	)
	l.applied, l.lagged = 0, false
	l.second = l.session.Client().BufferedFetchRecords() > 0
	for {
		n, err := l.poll(ctx, l.deadline(begun), l.room(count))
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // asked to end
		}
		now := time.Now()
		if count+n.records > 0 && begun.IsZero() {
			begun = now
		}
		if n.records > 0 && count > 0 {
			l.second = false
		}
		count += n.records
		l.lagged = l.lagged || l.behind()
		if fault = n.fault; fault == nil {
			fault = l.advance(ctx, now)
		}
		if fault != nil || l.timely(now, begun, count) {
			break
		}
	}
	if fault == nil && count == 0 && !l.touched() {
		err := l.forget(free)
		tellPassed(l.parts, l.cfg.Passed)
		return err
	}
	err := l.commit(ctx, free, fault)
	tellPassed(l.parts, l.cfg.Passed)
	return err
}

// tellPassed tells how far each partition is: no transaction is under way.
func tellPassed(parts map[int32]*part, tell func(partition int32, next int64)) {
	if tell == nil {
		return
	}
	for n, p := range parts {
		if !p.dirty && p.told != p.next {
			p.told = p.next
			tell(n, p.next)
		}
	}
}

// forget lets the session forget a revocation that met no transaction. It would
// otherwise give up the next one, and its callers restore all they own.
func (l *loop) forget(free context.Context) error {
	if !l.shrunk {
		return nil
	}
	l.shrunk = false
	if err := l.session.Begin(); err != nil {
		return fmt.Errorf("%w: begin: %w", errReopen, err)
	}
	if _, err := l.session.End(free, kgo.TryAbort); err != nil {
		return fmt.Errorf("%w: end: %w", errReopen, err)
	}
	return nil
}

// timely says whether the transaction ends now. A lone input is committed at
// once; inputs soon after a commit are gathered; when behind, until there are
// many or it takes long.
func (l *loop) timely(now, begun time.Time, count int) bool {
	switch {
	case count == 0 || l.room(count) == 0:
		return true
	case l.patient():
		return now.Sub(begun) >= l.turnTime()
	}
	return now.Sub(l.last) >= l.gathers()
}

// gathers is how long after a commit the next one begins at the earliest.
func (l *loop) gathers() time.Duration {
	if l.second {
		return max(l.cfg.CommitEvery, min(l.took/secondPart, secondAtMost))
	}
	return l.cfg.CommitEvery
}

// room is how many more inputs a transaction takes that has some. What it
// writes is held in memory; of inputs that leave little it may be any number.
func (l *loop) room(count int) int {
	if l.cfg.Sparse {
		return turnRecords
	}
	return max(turnRecords-count, 0)
}

// turnTime is how long a transaction takes inputs in, when behind.
func (l *loop) turnTime() time.Duration { return max(turnTime, turnFactor*l.cfg.CommitEvery) }

// patient says that inputs are taken in for long. What follows on a processor that
// catches up is behind after each of its transactions, and has caught up a moment
// later: where inputs are gathered long anyhow, that moment does not end it.
func (l *loop) patient() bool { return l.behind() || l.cfg.Sparse && l.lagged }

// behind says that far more inputs lie in the log than senders wait for.
func (l *loop) behind() bool { return l.cfg.Stats.Lag.Load() >= farBehind }

func (l *loop) lag() {
	var lag int64
	for _, p := range l.parts {
		lag += max(p.end-p.next, 0)
	}
	l.cfg.Stats.Lag.Store(lag)
}

// deadline is when a poll must return: when a task is due, a checkpoint goes on
// or a transaction that has begun must end. The zero time: when a record comes.
func (l *loop) deadline(begun time.Time) time.Time {
	var at time.Time
	now := time.Now()
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, p := range l.parts {
		if p.rewrite != nil && begun.IsZero() { // else its next slice goes with the transaction, which ends in time
			return time.Unix(0, 1)
		}
		fires, _ := l.fires(p, now)
		earlier(fires)
	}
	l.mu.Lock()
	waiting := len(l.ready) > 0
	l.mu.Unlock()
	if waiting { // the assignment of what was just restored is a moment away
		earlier(now.Add(handOver))
	}
	switch {
	case begun.IsZero():
	case l.patient():
		earlier(begun.Add(l.turnTime()))
	default:
		earlier(l.last.Add(l.gathers()))
	}
	return at
}

// touched says whether a partition has something to write.
func (l *loop) touched() bool {
	for _, p := range l.parts {
		if p.dirty || p.rewrite != nil {
			return true
		}
	}
	return false
}
