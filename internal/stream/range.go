package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Span is a piece of one partition: the offsets from From up to, not including,
// End.
type Span struct {
	Partition int32
	From, End int64
}

// Spans returns one span for each partition of a topic. It begins with the first record whose
// timestamp is not before from, and ends before the first whose timestamp is not before to.
// A zero from is the beginning of the partition, a zero to its last committed record.
func (c *Cluster) Spans(ctx context.Context, topic string, from, to time.Time) ([]Span, error) {
	list := func(at time.Time, otherwise func(context.Context, ...string) (kadm.ListedOffsets, error)) (kadm.ListedOffsets, error) {
		ask := otherwise
		if !at.IsZero() {
			ask = func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
				return c.admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)
			}
		}
		listed, err := ask(ctx, topic)
		if err == nil {
			err = listed.Error()
		}
		if err != nil {
			return nil, fmt.Errorf("list offsets of %s: %w", topic, err)
		}
		return listed, nil
	}
	begins, err := list(from, c.admin.ListStartOffsets)
	if err != nil {
		return nil, err
	}
	stable, err := list(time.Time{}, c.admin.ListCommittedOffsets)
	if err != nil {
		return nil, err
	}
	ends, err := list(to, c.admin.ListCommittedOffsets)
	if err != nil {
		return nil, err
	}
	spans := make([]Span, len(stable[topic]))
	for n := range spans {
		partition := int32(n)
		begin, _ := begins.Lookup(topic, partition)
		limit, _ := stable.Lookup(topic, partition)
		end, _ := ends.Lookup(topic, partition)
		last := min(end.Offset, limit.Offset)
		spans[n] = Span{partition, min(begin.Offset, last), last}
	}
	return spans, nil
}

// rangeBytes is how much one fetch of Range asks for.
const rangeBytes = 4 << 20

// Range passes the committed records of a span to each, in order, without barriers. The last
// offset of a span may hold the marker of a transaction, or nothing after compaction. A
// consumer reports neither and would wait, so Range sends fetch requests itself.
func (c *Cluster) Range(ctx context.Context, topic string, s Span, each func(Record) error) error {
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
		next, err := c.fetch(ctx, leader, topic, id, s, at, each)
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() != nil || !kerr.IsRetriable(err) && !errors.Is(err, errFetch) || failures >= 20:
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

// errFetch is the error of a fetch request without an answer.
var errFetch = errors.New("no answer")

// fetch reads one piece of a span from an offset on and returns the offset after it.
func (c *Cluster) fetch(ctx context.Context, leader int32, topic string, id [16]byte, s Span, at int64, each func(Record) error) (int64, error) {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = s.Partition, at, rangeBytes
	of := kmsg.NewFetchRequestTopic()
	of.Topic, of.TopicID, of.Partitions = topic, id, append(of.Partitions, partition)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = 500, 1, rangeBytes, 1
	req.SessionEpoch = -1 // no session
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
			if err := each(recordOf(r)); err != nil {
				return at, err
			}
		}
	}
	if fetched.Err != nil {
		return at, fetched.Err
	}
	return max(next, at), nil
}
