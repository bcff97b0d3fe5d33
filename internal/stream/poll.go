package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	handOver = 10 * time.Millisecond // between two checks for an assignment
	orphaned = 30 * time.Second      // after which a restored partition that was never assigned is dropped
)

// wakePoll ends the poll under way, or the next one: ownership may have changed.
func (l *loop) wakePoll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken = true
	l.wake()
}

// polled is the result of one poll.
type polled struct {
	records int
	fault   error // the memory must be dropped
}

// poll waits for at most so many records until the deadline. It assigns restored
// partitions, revokes those that are no longer ours, and applies the records. Its error
// ends the session.
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
		if l.wake = cancel; l.woken {
			cancel()
		}
		l.woken = false
		l.mu.Unlock()
		fetches = l.session.PollRecords(wait, most)
		cancel()
	}
	if err := l.checkErrors(ctx, fetches); err != nil {
		return polled{}, err
	}
	out := polled{fault: l.assign(), records: countRecords(fetches, l.cfg.Passed != nil)}
	if out.fault == nil {
		out.fault = l.applyAll(fetches)
	}
	l.lag()
	return out, nil
}

// countRecords returns how many records tasks get. There may be markers.
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

// checkErrors checks the errors of a poll. Most pass by themselves: the group rejoins
// and the fetches are repeated.
func (l *loop) checkErrors(ctx context.Context, fetches kgo.Fetches) error {
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
			return fmt.Errorf("%w: %s", errThrownOut, l.id)
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return fmt.Errorf("%w: %w", errReopen, e.Err)
		default:
			l.log.WarnContext(ctx, "kafka reports", "error", e.Err, "topic", e.Topic, "partition", e.Partition)
		}
	}
	return nil
}

// assign assigns the partitions that were restored for us, and revokes those that are no
// longer ours. The client would commit offsets of our partitions alone: it is asked, since a
// session does not call back for each revocation.
func (l *loop) assign() error {
	owned := l.session.Client().CommittedOffsets()[l.cfg.Input]
	var fault error
	for p, st := range l.parts {
		if _, ok := owned[p]; !ok {
			if st.dirty {
				fault = fmt.Errorf("partition %d was revoked", p)
			}
			l.revoke(p)
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
