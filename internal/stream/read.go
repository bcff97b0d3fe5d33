package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrStop is returned by a callback to end the read early, without an error.
var ErrStop = errors.New("stop reading")

// Newest is an offset for [Cluster.Back]: the end of the committed records.
const Newest = int64(-1)

const (
	backStep      = 1000    // number of offsets that Back reads per step
	rangeBytes    = 1 << 20 // encoded size of one fetch; the decoded size is several times larger
	fetchFailures = 20      // consecutive failures after which Range gives up: about 15 s
)

// errFetch means that a fetch request got no response.
var errFetch = errors.New("no response")

// Range calls fn for every committed record of a span, in order, without barriers. If retention has deleted the start
// of the span, Range begins with the first remaining record. The last offset of a span may belong to a transaction
// marker, or may be missing after compaction. A Kafka consumer would not report that it has passed such an offset,
// and would wait forever. Range therefore sends fetch requests itself.
func (c *Cluster) Range(ctx context.Context, topic string, s Span, fn func(Record) error) error {
	at, failures := s.From, 0
	leader, id := int32(-1), [16]byte{}
	for at < s.End {
		if leader < 0 {
			have, err := c.admin.ListTopics(ctx, topic)
			if err = errors.Join(err, have.Error()); err != nil {
				return fmt.Errorf("read %s: %w", topic, err)
			}
			leader, id = have[topic].Partitions[s.Partition].Leader, have[topic].ID
		}
		next, err := c.fetch(ctx, leader, topic, id, s, at, fn)
		switch {
		case err == nil:
			failures = 0
		case errors.Is(err, ErrStop):
			return nil
		case errors.Is(err, kerr.OffsetOutOfRange):
			starts, failed := listed(c.admin.ListStartOffsets(ctx, topic))
			start, _ := starts.Lookup(topic, s.Partition)
			if failed != nil || start.Offset <= at {
				return fmt.Errorf("read %s %d:%d: %w", topic, s.Partition, at, errors.Join(err, failed))
			}
			next = start.Offset
		case ctx.Err() != nil || !kerr.IsRetriable(err) && !errors.Is(err, errFetch) || failures >= fetchFailures:
			return fmt.Errorf("read %s %d:%d: %w", topic, s.Partition, at, err)
		default:
			failures++
			leader = -1
			select {
			case <-ctx.Done():
			case <-time.After(backoff(failures)):
			}
		}
		at = next
	}
	return nil
}

// fetch reads a part of a span that begins at an offset, and returns the offset after that part.
func (c *Cluster) fetch(
	ctx context.Context, leader int32, topic string, id [16]byte, s Span, at int64, fn func(Record) error,
) (next int64, err error) {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = s.Partition, at, rangeBytes
	of := kmsg.NewFetchRequestTopic()
	of.Topic, of.TopicID, of.Partitions = topic, id, append(of.Partitions, partition)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = 500, 1, rangeBytes, 1
	req.SessionEpoch = -1 // no fetch session
	req.Topics = append(req.Topics, of)
	answer, err := c.client.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return at, fmt.Errorf("%w: %w", errFetch, err)
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		err := errFetch
		if ok && resp.ErrorCode != 0 {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		return at, err
	}
	got := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return at, err
	}
	fetched, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: at, Topic: topic, Partition: s.Partition, IsolationLevel: kgo.ReadCommitted(),
	}, got, kgo.DefaultDecompressor(), nil)
	for _, r := range fetched.Records {
		if r.Offset >= s.End {
			return s.End, nil
		}
		if !isBarrier(r.Key) {
			if err := fn(recordOf(r)); err != nil {
				return at, err
			}
		}
	}
	if fetched.Err != nil {
		return max(next, at), fetched.Err
	}
	return max(next, at), nil
}

// Extent reads the committed records of a partition in order, from an offset to the end of the partition at the time
// of the call, or until fn returns false. It returns the end of the partition. If barrier is set, Extent first
// appends a barrier record, so that other clients' appends in progress precede the end.
func (c *Cluster) Extent(
	ctx context.Context, topic string, partition int32, from int64, barrier bool, fn func(Record) bool,
) (end int64, err error) {
	if barrier {
		at, err := c.appendBarriers(ctx, topic, []int32{partition})
		if err != nil {
			return 0, err
		}
		end = at[partition] + 1
	} else {
		ends, err := listed(c.admin.ListEndOffsets(ctx, topic))
		if err != nil {
			return 0, fmt.Errorf("find the end of %s: %w", topic, err)
		}
		at, _ := ends.Lookup(topic, partition)
		end = at.Offset
	}
	return end, c.Range(ctx, topic, Span{partition, from, end}, func(r Record) error {
		if !fn(r) {
			return ErrStop
		}
		return nil
	})
}

// Back reads the committed records of a partition before an offset, newest first, until fn returns false or the
// beginning is reached. The topic must have no transactions and no compaction.
func (c *Cluster) Back(ctx context.Context, topic string, partition int32, before int64, fn func(Record) bool) error {
	spans, err := c.Spans(ctx, topic, time.Time{}, time.Time{})
	if err != nil {
		return fmt.Errorf("read back %s: %w", topic, err)
	}
	s := spans[partition]
	if before != Newest {
		s.End = min(s.End, before)
	}
	for first := s.From; s.End > first; s.End = s.From {
		s.From = max(first, s.End-backStep)
		slice := make([]Record, 0, s.End-s.From)
		err := c.Range(ctx, topic, s, func(r Record) error {
			slice = append(slice, r)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read back %s: %w", topic, err)
		}
		for _, r := range slices.Backward(slice) {
			if !fn(r) {
				return nil
			}
		}
	}
	return nil
}

// reader opens a client that reads the committed records of partitions from the given offsets.
func (c *Cluster) reader(from offsets, opts ...kgo.Opt) (*kgo.Client, error) {
	reader, err := kgo.NewClient(c.with(append(opts,
		kgo.ConsumePartitions(from),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)...)...)
	if err != nil {
		return nil, fmt.Errorf("open reader: %w", err)
	}
	return reader, nil
}

// follow calls fn for the committed records of partitions, including barriers, from the given offsets
// until ctx ends. All calls come from one goroutine. The client retries failed fetches.
func (c *Cluster) follow(ctx context.Context, topic string, from map[int32]int64, fn func(Record)) error {
	begin := make(map[int32]kgo.Offset, len(from))
	for n, at := range from {
		begin[n] = kgo.NewOffset().At(at)
	}
	// The reader always has a request in progress at a broker, so it is the first to notice that a broker is lost.
	reader, err := c.reader(offsets{topic: begin}, kgo.WithHooks(c.health))
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range fetches.Errors() {
			c.log.WarnContext(ctx, "kafka reported an error", "topic", topic, "partition", e.Partition, "error", e.Err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			fn(recordOf(iter.Next()))
		}
	}
}
