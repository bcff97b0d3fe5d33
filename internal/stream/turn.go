package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	farBehind   = 2000                   // number of unapplied inputs at which throughput begins to have priority over latency
	turnRecords = 10_000                 // maximum number of records in a poll and, unless the input is Sparse, in a transaction
	turnTime    = 100 * time.Millisecond // minimum duration of a transaction when the loop is behind
	turnFactor  = 5                      // when the loop is behind, a transaction lasts at least this many commit intervals

	// The client fetches again only once all records that it has fetched have been polled. So after a transaction,
	// the client has only the first of the inputs that arrived during the transaction; the others wait at the broker.
	// Committing only those first inputs would delay the others by another transaction. So the loop waits for the
	// next fetch, for at most 1/awaitPart of the duration of the last commit.
	awaitPart   = 3
	awaitAtMost = 5 * time.Millisecond
)

// runTurn runs one transaction: it polls until there is something to commit and the transaction should end, and then
// commits.
func (l *loop) runTurn(ctx, free context.Context) error {
	var (
		fault error
		count int
		begun time.Time
	)
	l.applied, l.lagged = 0, false
	l.awaitsFetch = l.session.Client().BufferedFetchRecords() > 0
	for {
		records, lost, err := l.poll(ctx, l.deadline(begun), l.capacity(count))
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ctx ended on request
		}
		now := time.Now()
		if count+records > 0 && begun.IsZero() {
			begun = now
		}
		if records > 0 && count > 0 {
			l.awaitsFetch = false
		}
		count += records
		l.lagged = l.lagged || l.behind()
		if fault = lost; fault == nil {
			fault = l.advance(ctx, now)
		}
		if fault != nil || l.timely(now, begun, count) {
			break
		}
	}
	var err error
	if fault == nil && count == 0 && !l.touched() {
		err = l.clearRevocation(free)
	} else {
		err = l.commit(ctx, free, fault)
	}
	l.reportPassed()
	return err
}

// reportPassed reports the position of each partition that has advanced, unless the current transaction changes the
// partition.
func (l *loop) reportPassed() {
	if l.cfg.Passed == nil {
		return
	}
	for n, p := range l.parts {
		if !p.dirty && p.reported != p.next {
			p.reported = p.next
			l.cfg.Passed(n, p.next)
		}
	}
}

// clearRevocation clears a revocation that did not affect a transaction. If the revocation stayed set, the session
// would abort the next transaction, and the loop would restore everything it owns.
func (l *loop) clearRevocation(free context.Context) error {
	if !l.revokedAny {
		return nil
	}
	l.revokedAny = false
	if err := l.session.Begin(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if _, err := l.session.End(free, kgo.TryAbort); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}

// timely reports whether the transaction should end now. A transaction without inputs, or without capacity for more
// inputs, ends immediately. If the loop is behind, any other transaction lasts at least turnTime. If the loop is not
// behind, a transaction ends once the time that gathers returns has passed since the last commit, so inputs that
// arrive shortly after a commit are collected.
func (l *loop) timely(now, begun time.Time, count int) bool {
	switch {
	case count == 0 || l.capacity(count) == 0:
		return true
	case l.patient():
		return now.Sub(begun) >= l.turnTime()
	}
	return now.Sub(l.lastCommit) >= l.gathers()
}

// gathers returns the minimum time between two commits.
func (l *loop) gathers() time.Duration {
	if l.awaitsFetch {
		return max(l.cfg.CommitEvery, min(l.commitTook/awaitPart, awaitAtMost))
	}
	return l.cfg.CommitEvery
}

// capacity returns how many more inputs the current transaction accepts. The outputs of a transaction are kept in
// memory, so the number of inputs is limited. It is not limited if the input is Sparse, because such an input causes
// few outputs.
func (l *loop) capacity(count int) int {
	if l.cfg.Sparse {
		return turnRecords
	}
	return max(turnRecords-count, 0)
}

// turnTime returns how long a transaction accepts inputs if the loop is behind.
func (l *loop) turnTime() time.Duration { return max(turnTime, turnFactor*l.cfg.CommitEvery) }

// patient reports whether transactions accept inputs for a long time: if the loop is behind or, for a Sparse input,
// if it was behind at any time during the current transaction. A loop whose input is the output of another loop falls
// behind with each transaction of the other loop, and catches up at once. Catching up must not end its own
// transaction.
func (l *loop) patient() bool { return l.behind() || l.cfg.Sparse && l.lagged }

// behind reports whether the log has so many unapplied inputs that throughput has priority over latency.
func (l *loop) behind() bool { return l.cfg.Stats.Lag.Load() >= farBehind }

func (l *loop) lag() {
	var lag int64
	for _, p := range l.parts {
		lag += max(p.end-p.next, 0)
	}
	l.cfg.Stats.Lag.Store(lag)
}

// deadline returns when a poll must end because a timer is due, a checkpoint continues, a restored partition waits
// for its assignment, or the transaction must end. A zero time means no deadline.
func (l *loop) deadline(begun time.Time) time.Time {
	var at time.Time
	now := time.Now()
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, p := range l.parts {
		if p.rewrite != nil && begun.IsZero() { // the next slice of the checkpoint starts a transaction without waiting
			return time.Unix(0, 1)
		}
		fires, _ := l.fires(p, now)
		earlier(fires)
	}
	l.mu.Lock()
	waiting := len(l.ready) > 0
	l.mu.Unlock()
	if waiting { // a restored partition will be assigned soon
		earlier(now.Add(handOver))
	}
	switch {
	case begun.IsZero():
	case l.patient():
		earlier(begun.Add(l.turnTime()))
	default:
		earlier(l.lastCommit.Add(l.gathers()))
	}
	return at
}

// touched reports whether any partition has something to write.
func (l *loop) touched() bool {
	for _, p := range l.parts {
		if p.dirty || p.rewrite != nil {
			return true
		}
	}
	return false
}

const (
	handOver = 10 * time.Millisecond // interval between checks for an assignment
	orphaned = 30 * time.Second      // time after which a restored partition that was never assigned is dropped
)

// wakePoll ends the current or next poll, because the ownership may have changed.
func (l *loop) wakePoll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken = true
	l.wake()
}

// poll waits for records until the deadline; most is the maximum number of records. It assigns restored partitions,
// revokes partitions that are no longer owned, and applies the records. It returns the number of fetched records and,
// if the state must be dropped, the reason in lost. An error in err ends the session.
func (l *loop) poll(ctx context.Context, deadline time.Time, most int) (records int, lost, err error) {
	var fetches kgo.Fetches
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		// With an expired context, a poll returns no records, and overdue timers would starve the input.
		fetches = l.session.PollRecords(nil, most) //nolint:staticcheck,contextcheck // a nil context returns buffered records without waiting
	} else {
		var wait context.Context
		var cancel context.CancelFunc
		if deadline.IsZero() {
			wait, cancel = context.WithCancel(ctx)
		} else {
			wait, cancel = context.WithDeadline(ctx, deadline)
		}
		l.mu.Lock()
		if l.wake = cancel; l.woken {
			cancel()
		}
		l.woken = false
		l.mu.Unlock()
		fetches = l.session.PollRecords(wait, most)
		cancel()
	}
	l.mu.Lock()
	fatal := l.fatal
	l.mu.Unlock()
	if fatal != nil {
		return 0, nil, fatal
	}
	if err := l.checkErrors(ctx, fetches); err != nil {
		return 0, nil, err
	}
	if lost = l.assign(); lost == nil {
		lost = l.applyAll(fetches)
	}
	l.lag()
	return countRecords(fetches, l.cfg.Passed != nil), lost, nil
}

// countRecords returns how many records in the fetches are for tasks. If markers is true, the fetches may include
// transaction markers, which are not counted.
func countRecords(fetches kgo.Fetches, markers bool) int {
	if !markers {
		return fetches.NumRecords()
	}
	n := 0
	for iter := fetches.RecordIter(); !iter.Done(); {
		if r := iter.Next(); !r.Attrs.IsControl() {
			n++
		}
	}
	return n
}

// assign adds the restored partitions, and drops the partitions that this member no longer owns. It asks the client
// which partitions are owned, because the client does not report every revocation through a callback. If the current
// transaction has changed a revoked partition, assign returns an error.
func (l *loop) assign() error {
	owned := l.session.Client().CommittedOffsets()[l.cfg.Input]
	var fault error
	for p, st := range l.parts {
		if _, ok := owned[p]; !ok {
			if st.dirty {
				fault = fmt.Errorf("partition %d was revoked", p)
			}
			l.revoke(p)
			l.revokedAny = true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, st := range l.ready {
		if _, ok := owned[p]; !ok {
			if time.Since(st.since) > orphaned {
				st.task.Close()
				delete(l.ready, p)
			}
			continue
		}
		if old := l.parts[p]; old != nil {
			if old.dirty {
				fault = fmt.Errorf("partition %d was revoked", p)
			}
			l.revoke(p)
		}
		delete(l.ready, p)
		l.parts[p] = st
	}
	l.cfg.Stats.Partitions.Store(int64(len(l.parts)))
	return fault
}

// revoke drops a partition.
func (l *loop) revoke(partition int32) {
	if p := l.parts[partition]; p != nil {
		p.task.Close()
		delete(l.parts, partition)
	}
}
