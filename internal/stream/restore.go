package stream

import (
	"bytes"
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
	"golang.org/x/sync/errgroup"
)

// start is the position of the group in a partition: the committed input offset (negative: none) and the last
// checkpoint of the changelog.
type start struct {
	committed int64
	mark      mark
}

// storeMarks reads the checkpoints from the metadata of the committed offsets, and keeps them for the restore.
func (l *loop) storeMarks(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.eachNote(resp, func(n int32, note string) { l.marks[n] = decodeMark(note, l.generation) })
	return nil
}

// restoreAssigned restores newly assigned partitions before their first record is fetched. An error rejects the
// assignment, and the member rejoins the group.
func (l *loop) restoreAssigned(ctx context.Context, m offsets) (offsets, error) {
	want := map[int32]start{}
	l.mu.Lock()
	for n, at := range m[l.cfg.Input] {
		want[n] = start{committed: at.EpochOffset().Offset, mark: l.marks[n]}
	}
	l.mu.Unlock()
	parts, err := l.restore(ctx, want)
	defer l.wakePoll()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if errors.Is(err, errAlarm) {
			l.fatal = err
		} else {
			l.log.WarnContext(ctx, "restore failed, retrying", "error", err)
		}
		return nil, err
	}
	for n, p := range parts {
		m[l.cfg.Input][n] = kgo.NewOffset().At(p.next)
		if old := l.ready[n]; old != nil {
			old.task.Close()
		}
		l.ready[n] = p
	}
	return m, nil
}

// restore reads the changelog of partitions from their last checkpoints to a barrier, which is a record outside any
// transaction. A read_committed reader reaches the barrier only once every transaction before it has ended, including
// other processes' transactions.
func (l *loop) restore(ctx context.Context, want map[int32]start) (map[int32]*part, error) {
	if len(want) == 0 {
		return nil, nil
	}
	began := time.Now()
	l.cfg.Stats.Restoring.CompareAndSwap(0, began.UnixMilli())
	defer l.cfg.Stats.Restoring.Store(0)
	l.log.DebugContext(ctx, "restoring partitions", "partitions", len(want))
	var ends map[int32]int64
	// A new leader does not know the end until its followers have caught up. The member keeps its place in the group.
	err := l.cluster.persist(ctx, "restore", func() (err error) {
		ends, err = l.cluster.Ends(ctx, l.cfg.Input, slices.Collect(maps.Keys(want)))
		return err
	})
	if err != nil {
		return nil, err
	}
	parts := make(map[int32]*part, len(want))
	from := make(map[int32]int64, len(want))
	for n, s := range want {
		s.mark.log = l.generation
		parts[n] = &part{task: l.cfg.NewTask(n), mark: s.mark, since: began}
		from[n] = s.mark.from
	}
	err = l.fold(ctx, parts, from)
	for n, p := range parts {
		if err != nil {
			break
		}
		if from[n] == 0 {
			p.mark = mark{log: l.generation} // the mark is beyond the end, so the records that it refers to were lost
		}
		err = l.begin(ctx, p, n, want[n].committed, ends[n])
	}
	if err != nil {
		for _, p := range parts {
			p.task.Close()
		}
		if errors.Is(err, kerr.UnknownTopicID) {
			err = fmt.Errorf("%w: a topic was recreated while in use: %w", errAlarm, err)
		}
		return nil, fmt.Errorf("restore: %w", err)
	}
	var read int64
	for _, p := range parts {
		read += p.grown
		p.grown = max(p.grown-p.mark.live, 0)
	}
	l.cfg.Stats.Restores.Add(int64(len(parts)))
	l.cfg.Stats.RestoredBytes.Add(read)
	if l.cfg.Restored != nil {
		l.cfg.Restored(time.Since(began))
	}
	l.log.InfoContext(ctx, "partitions restored", "partitions", len(parts), "bytes", read, "ms", time.Since(began).Milliseconds())
	return parts, nil
}

// begin determines where a restored partition resumes: at the larger of the group's committed offset and the
// changelog's input offset. Unless the input is Sparse, a committed offset beyond the changelog means that records
// were lost, and begin returns errAlarm. The embedded broker is an exception, because it may lose the end of a
// changelog in a crash of the machine. Its partition resumes at the changelog's input offset, so that the lost
// records are derived again. If the partition would resume beyond the end of the input, the input was recreated, and
// begin returns errAlarm, too.
func (l *loop) begin(ctx context.Context, p *part, partition int32, committed, end int64) error {
	seen, err := p.task.Restored()
	if err != nil {
		return fmt.Errorf("partition %d: %w", partition, err)
	}
	if committed > seen && !l.cfg.Sparse && l.cluster.embedded {
		l.log.WarnContext(ctx, "lost end of the changelog recomputed", "partition", partition, "seen", seen, "committed", committed)
		committed = seen
	}
	if committed > seen && !l.cfg.Sparse {
		return fmt.Errorf("%w: partition %d of %s is committed up to %d, but its changelog %s covers only up to %d: were its records deleted?",
			errAlarm, partition, l.cfg.Input, committed, l.cfg.Changelog, seen)
	}
	p.next = max(seen, committed, 0)
	if p.next > end {
		return fmt.Errorf("%w: partition %d of %s ends at %d, but its changelog %s covers up to %d: was the topic recreated?",
			errAlarm, partition, l.cfg.Input, end, l.cfg.Changelog, p.next)
	}
	p.end, p.clock.appliedAt, p.clock.endAsked = end, time.Now(), p.since
	return nil
}

// fold passes the newest record of each key to the tasks, for several partitions in parallel.
func (l *loop) fold(ctx context.Context, parts map[int32]*part, from map[int32]int64) error {
	numbers := make([]int32, 0, len(parts))
	logs := make(map[int32]*newest, len(parts))
	for n := range parts {
		numbers = append(numbers, n)
		logs[n] = newNewest()
	}
	err := l.cluster.readTo(ctx, l.cfg.Changelog, from, numbers, func(r Record) error {
		parts[r.Partition].grown += int64(len(r.Key) + len(r.Value))
		logs[r.Partition].add(r)
		return nil
	})
	if err != nil {
		return err
	}
	return Parallel(len(numbers), func(i int) error {
		n := numbers[i]
		return logs[n].each(n, parts[n].task.Restore)
	})
}

// barrierKey is the key of records that only mark a position in a log. No other key starts with a zero byte. A barrier
// has no value, so readers that decode values skip it. A header states the purpose of the record.
var (
	barrierKey    = []byte("\x00barrier")
	barrierHeader = []kgo.RecordHeader{{Key: "svc-type", Value: []byte("barrier")}}
)

// isBarrier reports whether a record with this key is a barrier.
func isBarrier(key []byte) bool { return bytes.HasPrefix(key, barrierKey) }

// barrier returns a barrier for a partition.
func barrier(topic string, partition int32) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Key: barrierKey, Headers: barrierHeader}
}

// appendBarriers appends a barrier to each partition and returns their offsets.
func (c *Cluster) appendBarriers(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	records := make([]*kgo.Record, len(partitions))
	for i, n := range partitions {
		records[i] = barrier(topic, n)
	}
	// The client does not discard a record that it may have sent, even when ctx ends. While Kafka is unavailable,
	// waiting for the client would prevent the process from stopping.
	sent := make(chan kgo.ProduceResults, 1)
	go func() { sent <- c.client.ProduceSync(ctx, records...) }()
	var results kgo.ProduceResults
	select {
	case results = <-sent:
	case <-ctx.Done():
		return nil, fmt.Errorf("append barrier to %s: %w", topic, ctx.Err())
	}
	if err := results.FirstErr(); err != nil {
		return nil, fmt.Errorf("append barrier to %s: %w", topic, err)
	}
	at := make(map[int32]int64, len(partitions))
	for _, r := range records {
		at[r.Partition] = r.Offset
	}
	return at, nil
}

// readTo appends a barrier to each partition, and calls fn for the committed records before the barrier: sequentially
// for one partition, in parallel for several. A partition without a start offset in the map is read from its first
// record. If a start offset lies after the barrier, readTo deletes it from the map and also reads the partition from
// its first record. The bytes of a record are reused once fn has returned.
func (c *Cluster) readTo(ctx context.Context, topic string, from map[int32]int64, partitions []int32, fn func(Record) error) error {
	until, err := c.appendBarriers(ctx, topic, partitions)
	if err != nil {
		return err
	}
	begin := make(map[int32]kgo.Offset, len(partitions))
	for _, n := range partitions {
		begin[n] = kgo.NewOffset().AtStart()
		switch at := from[n]; {
		case at > until[n]:
			delete(from, n)
		case at > 0:
			begin[n] = kgo.NewOffset().At(at)
		}
	}
	// This limit is in encoded bytes; decoded records need several times that.
	reader, err := c.reader(offsets{topic: begin}, kgo.FetchMaxPartitionBytes(1<<20))
	if err != nil {
		return err
	}
	defer reader.Close()
	for len(until) > 0 {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("read %s partition %d: %w", topic, e.Partition, e.Err)
		}
		if err := c.readBatch(fetches, until, fn); err != nil {
			return err
		}
	}
	return nil
}

// readBatch passes the records of one poll to fn. The map until contains the barrier's offset for each partition that
// is still being read; readBatch deletes the entry once it reads the barrier.
func (c *Cluster) readBatch(fetches kgo.Fetches, until map[int32]int64, fn func(Record) error) error {
	var wait errgroup.Group
	var mu sync.Mutex // guards until
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		mu.Lock()
		end, open := until[fp.Partition]
		mu.Unlock()
		if !open {
			return
		}
		wait.Go(func() error {
			for _, r := range fp.Records {
				if r.Offset >= end {
					mu.Lock()
					defer mu.Unlock()
					delete(until, fp.Partition)
					return nil
				}
				if isBarrier(r.Key) {
					continue
				}
				if err := fn(recordOf(r)); err != nil {
					return fmt.Errorf("record %d:%d: %w", r.Partition, r.Offset, err)
				}
			}
			return nil
		})
	})
	return wait.Wait()
}
