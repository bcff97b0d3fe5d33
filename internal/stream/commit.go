package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const maxAborts = 5 // consecutive aborted transactions in one session

var errAborted = errors.New("the transaction was aborted")

// commit writes the outputs of the tasks and the positions of their inputs in one transaction. There are three
// outcomes. If the transaction is committed, the state in memory is kept. If it is aborted or the outcome is unknown,
// the state in memory is dropped and restored. If the session cannot continue, commit returns an error.
func (l *loop) commit(ctx, free context.Context, fault error) error {
	begun := time.Now()
	if err := l.session.Begin(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if fault == nil {
		fault = l.produce(free)
	}
	if free.Err() != nil {
		return free.Err()
	}
	if fault != nil {
		l.log.WarnContext(ctx, "transaction abandoned", "error", advised(fault))
	}
	// A partition in which only timers fired also commits its position, so that the broker refuses the transaction if
	// the partition has another owner.
	end := kgo.PreTxnCommitFnContext(free, func(req *kmsg.TxnOffsetCommitRequest) error {
		l.addPositions(req)
		return nil
	})
	ok, err := l.session.End(end, kgo.TransactionEndTry(fault == nil))
	l.revokedAny = false
	switch {
	case errors.Is(err, kerr.FencedInstanceID):
		return fmt.Errorf("%w: %s", errThrownOut, l.id)
	case err != nil:
		l.cfg.Stats.Aborts.Add(1)
		return fmt.Errorf("end: %w", err)
	case ok:
		l.finishCommit(ctx, begun)
		return nil
	}
	l.cfg.Stats.Aborts.Add(1)
	if _, gap := errors.AsType[gapError](fault); gap {
		return fault
	}
	// After several consecutive aborts, the session is reopened, which includes a longer pause.
	if l.abortsInRow++; l.abortsInRow > maxAborts {
		return cmp.Or(fault, errAborted)
	}
	return l.reread(ctx)
}

// produce writes the outputs and the next slice of a checkpoint. If a record could not be written, produce returns
// the error of that record, because the end of the transaction would not report it.
func (l *loop) produce(free context.Context) error {
	var (
		mu     sync.Mutex
		failed error
	)
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			mu.Lock()
			failed = err
			mu.Unlock()
		}
	}
	// The client gets the records of each partition as soon as they exist, and sends them while the records of other
	// partitions are collected.
	wait := workers()
	now := time.Now()
	for n, p := range l.parts {
		if p.dirty || p.rewrite != nil {
			wait.Go(func() error {
				if err := l.gather(n, p, now); err != nil {
					return err
				}
				for _, r := range p.out {
					l.session.Produce(free, r, promise)
				}
				return nil
			})
		}
	}
	if err := wait.Wait(); err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	if err := l.session.Client().Flush(free); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if failed != nil {
		return fmt.Errorf("produce: %w", failed)
	}
	for _, p := range l.parts {
		p.rewrite.storeStart()
	}
	return nil
}

// schedule starts a checkpoint of the partition that has grown most since its last checkpoint, if the growth exceeds
// the configured minimum and three times the size of that checkpoint. Only one checkpoint is in progress at a time,
// because each is spread over many transactions.
func (l *loop) schedule() {
	var due *part
	for _, p := range l.parts {
		if p.rewrite != nil {
			return
		}
		if p.grown > max(l.cfg.checkpointBytes, 3*p.mark.live) && (due == nil || p.grown > due.grown) {
			due = p
		}
	}
	if due != nil {
		due.rewrite = &rewrite{}
	}
}

// gather collects the records of one partition for the transaction, with the given timestamp.
func (l *loop) gather(partition int32, p *part, now time.Time) error {
	if p.dirty {
		err := p.task.Outputs(func(key, value []byte) {
			topic := l.cfg.Changelog
			if l.cfg.Route != nil {
				if other := l.cfg.Route(key); other != "" {
					topic = other
				}
			}
			if topic == l.cfg.Changelog {
				p.grown += int64(len(key) + len(value))
			}
			p.out = append(p.out, &kgo.Record{
				Topic: topic, Partition: partition, Key: key, Value: value, Timestamp: now,
				Headers: traceHeaders(l.traceparent(p, key, value)),
			})
		})
		if err != nil {
			return err
		}
	}
	if p.rewrite != nil {
		err := p.rewrite.emitSlice(p.task, func(key, value []byte) *kgo.Record {
			r := &kgo.Record{Topic: l.cfg.Changelog, Partition: partition, Key: key, Value: value, Timestamp: now, Headers: copied}
			p.out = append(p.out, r)
			return r
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addPositions adds each changed partition and its mark to a commit. A commit without metadata would erase the mark.
func (l *loop) addPositions(req *kmsg.TxnOffsetCommitRequest) {
	at := slices.IndexFunc(req.Topics, func(t kmsg.TxnOffsetCommitRequestTopic) bool { return t.Topic == l.topic })
	if at < 0 {
		at = len(req.Topics)
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = l.topic
		req.Topics = append(req.Topics, t)
	}
	t := &req.Topics[at]
	there := map[int32]bool{}
	for i := range t.Partitions {
		rp := &t.Partitions[i]
		if p := l.parts[rp.Partition]; p != nil {
			rp.Metadata, there[rp.Partition] = p.nextMark().encode(), true
		}
	}
	for n, p := range l.parts {
		if !there[n] && (p.dirty || p.rewrite != nil) {
			rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = n, p.next, -1, p.nextMark().encode()
			t.Partitions = append(t.Partitions, rp)
		}
	}
	if len(t.Partitions) == 0 {
		req.Topics = slices.Delete(req.Topics, at, at+1)
	}
}

// finishCommit informs the tasks that their outputs are committed, and counts the transaction. It also ends a
// checkpoint that is complete, and may start another.
func (l *loop) finishCommit(ctx context.Context, begun time.Time) {
	l.lastCommit = time.Now()
	l.commitTook = l.lastCommit.Sub(begun)
	l.commits++
	l.abortsInRow = 0
	stats := l.cfg.Stats
	stats.Commits.Add(1)
	stats.Records.Add(int64(l.applied))
	stats.LastCommit.Store(l.lastCommit.UnixMilli())
	for n, p := range l.parts {
		p.out = nil            // no longer needed, because the records are durable
		if len(p.inputs) > 0 { // called before the task is informed, because the task may write the view at once
			l.cfg.Committed(n, p.inputs, l.lastCommit)
			clear(p.inputs)
			p.inputs, p.traced = p.inputs[:0], false
		}
		if p.dirty {
			p.dirty = false
			p.task.Committed()
		}
		if p.rewrite.done() {
			p.mark, p.grown, p.rewrite = p.nextMark(), 0, nil
			stats.Checkpoints.Add(1)
			l.log.InfoContext(ctx, "checkpoint written", "partition", n, "offset", p.mark.from, "bytes", p.mark.live)
			l.trim(ctx, n, p.mark.from)
		}
	}
	l.schedule()
}

// reread drops the state in memory of all partitions and restores the owned partitions. The client reads again from
// the committed positions. Inputs whose results are already in the changelog are skipped.
func (l *loop) reread(ctx context.Context) error {
	marks := map[int32]mark{}
	for n, p := range l.parts {
		marks[n] = p.mark
		l.revoke(n)
	}
	owned := l.session.Client().CommittedOffsets()[l.cfg.Input]
	want := map[int32]start{}
	l.mu.Lock()
	for n, at := range owned {
		if l.ready[n] != nil {
			continue // another restore has already restored the partition; the next poll assigns it
		}
		m, ok := marks[n]
		if !ok {
			m = l.marks[n]
		}
		want[n] = start{committed: at.Offset, mark: m}
	}
	l.mu.Unlock()
	parts, err := l.restore(ctx, want)
	if err != nil {
		return err
	}
	maps.Copy(l.parts, parts)
	return nil
}
