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
	handOver = 10 * time.Millisecond // between two looks for an assignment
	orphaned = 30 * time.Second      // restored, and never assigned
)

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
	out := polled{fault: l.take(), records: countRecords(fetches, l.cfg.Passed != nil)}
	if out.fault == nil {
		out.fault = l.applyAll(fetches)
	}
	l.lag()
	return out, nil
}

// countRecords returns how many records tasks are given. There may be markers.
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
			return fmt.Errorf("%w: %s", errThrownOut, l.id)
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
