package stream

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// applyAll hands the records to their tasks, partitions in parallel.
func (l *loop) applyAll(fetches kgo.Fetches) error {
	var applied atomic.Int64
	wait := workers()
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
			continue // applied already: the changelog knows it, or we were rewound
		}
		if r.Attrs.IsControl() {
			p.next = r.Offset + 1
			continue
		}
		if r.Offset > p.next && !l.cfg.Sparse {
			return applied, gapError{partition: r.Partition, want: p.next, have: r.Offset}
		}
		p.dirty = true
		if err := l.applyOne(p.task, recordOf(r)); err != nil {
			return applied, fmt.Errorf("apply %d:%d: %w", r.Partition, r.Offset, err)
		}
		p.next = r.Offset + 1
		p.clock.newest = r.Timestamp
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
