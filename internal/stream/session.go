package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

type logger = *slog.Logger

const (
	farBehind   = 2000                   // inputs not yet applied: latency is lost, throughput counts
	keptRecords = 256                    // that a partition has memory for between transactions
	turnRecords = 10_000                 // of one poll, and of one transaction unless its inputs leave little
	turnTime    = 100 * time.Millisecond // of one transaction, when behind, at least
	turnFactor  = 5                      // by which it takes longer, when behind, than inputs are gathered

	// Of one fetch, as stored, and of one partition of it. A poll hands out one
	// partition after the other, and partitions are applied in parallel: what
	// it brings must be of many. But what one transaction writes to a partition
	// is one batch, and a part of a batch is of no use: who reads what another
	// loop wrote asks for more of each.
	fetchBytes          = 512 << 10
	fetchPartitionBytes = 32 << 10
	fetchBatchBytes     = 256 << 10

	handOver = 10 * time.Millisecond // between two looks for an assignment
	orphaned = 30 * time.Second      // restored, and never assigned
)

// part is one partition that we own.
type part struct {
	task  Task
	next  int64     // input offset to apply next
	end   int64     // high watermark of the input as last heard of
	dirty bool      // touched by the transaction under way
	since time.Time // of the restore
	clock clock

	mark    mark     // of the last commit
	grown   int64    // bytes written to the changelog since its checkpoint
	rewrite *rewrite // a checkpoint under way

	records []kgo.Record // of the transaction, reused
}

// turn is one transaction: polls until there is something to do and it is time
// to commit, then commits.
func (l *loop) turn(ctx, free context.Context) error {
	var (
		fault error
		count int
		begun time.Time
	)
	l.applied = 0
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
		count += n.records
		if fault = n.fault; fault == nil {
			fault = l.advance(ctx, now)
		}
		if fault != nil || l.timely(now, begun, count) {
			break
		}
	}
	if fault == nil && count == 0 && !l.touched() {
		return l.forget(free)
	}
	return l.commit(ctx, free, fault)
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
	case l.behind():
		return now.Sub(begun) >= l.turnTime()
	}
	return now.Sub(l.last) >= l.cfg.CommitEvery
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

// behind says that far more inputs lie in the log than senders wait for.
func (l *loop) behind() bool { return l.cfg.Stats.Lag.Load() >= farBehind }

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
	case l.behind():
		earlier(begun.Add(l.turnTime()))
	default:
		earlier(l.last.Add(l.cfg.CommitEvery))
	}
	return at
}

// rouse ends the poll under way, or the next one: ownership may have changed.
func (l *loop) rouse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.roused = true
	l.wake()
}

// polled is what one poll brought.
type polled struct {
	records int
	fault   error // the memory is to be dropped
}

// poll waits for at most so many records until the deadline, takes what was
// restored, drops what is no longer ours and applies. Its error ends the session.
func (l *loop) poll(ctx context.Context, deadline time.Time, most int) (polled, error) {
	var fetches kgo.Fetches
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		// With an expired context a poll hands out nothing, and overdue
		// timers would starve the input.
		fetches = l.session.PollRecords(nil, most) //nolint:staticcheck,contextcheck // nil: what is buffered, without waiting
	} else {
		var wait context.Context
		var cancel context.CancelFunc
		if deadline.IsZero() {
			wait, cancel = context.WithCancel(ctx)
		} else {
			wait, cancel = context.WithDeadline(ctx, deadline)
		}
		l.mu.Lock()
		if l.wake = cancel; l.roused {
			cancel()
		}
		l.roused = false
		l.mu.Unlock()
		fetches = l.session.PollRecords(wait, most)
		cancel()
	}
	if err := l.news(ctx, fetches); err != nil {
		return polled{}, err
	}
	out := polled{fault: l.take(), records: fetches.NumRecords()}
	if out.fault == nil {
		out.fault = l.applyAll(fetches)
	}
	l.lag()
	return out, nil
}

// news looks at the errors of a poll. Most are only that: the group rejoins and
// the fetches are repeated by themselves.
func (l *loop) news(ctx context.Context, fetches kgo.Fetches) error {
	l.mu.Lock()
	fatal := l.fatal
	l.mu.Unlock()
	if fatal != nil {
		return fatal
	}
	for _, e := range fetches.Errors() {
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
		case errors.Is(e.Err, kerr.FencedInstanceID):
			return fmt.Errorf("%w: %s", ErrFenced, l.id)
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return fmt.Errorf("%w: %w", errReopen, e.Err)
		default:
			l.log.WarnContext(ctx, "kafka reports", "error", e.Err, "topic", e.Topic, "partition", e.Partition)
		}
	}
	return nil
}

// take makes ours what was restored for us, and drops what is not. What we own
// is what the client would commit: the callbacks of a session are not called
// for each revocation.
func (l *loop) take() error {
	owned := l.session.Client().CommittedOffsets()[l.cfg.Input]
	var fault error
	for p, st := range l.parts {
		if _, ok := owned[p]; !ok {
			if st.dirty {
				fault = fmt.Errorf("partition %d was revoked", p)
			}
			l.drop(p)
			l.shrunk = true
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
			l.drop(p)
		}
		delete(l.ready, p)
		l.parts[p] = st
	}
	l.cfg.Stats.Partitions.Store(int64(len(l.parts)))
	return fault
}

// drop forgets a partition.
func (l *loop) drop(partition int32) {
	if p := l.parts[partition]; p != nil {
		p.task.Close()
		delete(l.parts, partition)
	}
}

// applyAll hands the records to their tasks, partitions in parallel.
func (l *loop) applyAll(fetches kgo.Fetches) error {
	var (
		wait    errgroup.Group
		applied atomic.Int64
	)
	wait.SetLimit(runtime.GOMAXPROCS(0))
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

// apply hands the records of one partition to its task, each exactly once, and
// returns how many it took.
func (l *loop) apply(p *part, fp *kgo.FetchPartition) (applied int, err error) {
	if p == nil {
		return 0, fmt.Errorf("partition %d has no state", fp.Partition)
	}
	p.end = max(p.end, fp.HighWatermark)
	for _, r := range fp.Records {
		if r.Offset < p.next {
			r.Recycle()
			continue // applied already: the changelog knows it, or we were rewound
		}
		if r.Offset > p.next && !l.cfg.Sparse {
			return applied, gapError{partition: r.Partition, want: p.next, have: r.Offset}
		}
		p.dirty = true
		if err := l.applyOne(p.task, Record{
			Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp,
		}); err != nil {
			return applied, fmt.Errorf("apply %d:%d: %w", r.Partition, r.Offset, err)
		}
		p.next = r.Offset + 1
		p.clock.newest = r.Timestamp
		r.Recycle()
		applied++
	}
	if applied > 0 {
		p.clock.moved, p.clock.asOf = time.Now(), p.clock.newest
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

// touched says whether a partition has something to write.
func (l *loop) touched() bool {
	for _, p := range l.parts {
		if p.dirty || p.rewrite != nil {
			return true
		}
	}
	return false
}

func (l *loop) lag() {
	var lag int64
	for _, p := range l.parts {
		lag += max(p.end-p.next, 0)
	}
	l.cfg.Stats.Lag.Store(lag)
}

// leave takes a static member out of its group, so that the others need not
// wait for its session to time out.
func (l *loop) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := l.cluster.admin.LeaveGroup(ctx, kadm.LeaveGroup(l.cfg.Group).InstanceIDs(l.id)); err != nil {
		l.log.WarnContext(ctx, "leave group", "error", err)
	}
}
