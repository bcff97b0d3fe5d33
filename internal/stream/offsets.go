package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// listed returns the offsets that the cluster lists, or the first error among them.
func listed(all kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err == nil {
		err = all.Error()
	}
	return all, err
}

// Span is the range [From, End) of offsets in one partition.
type Span struct {
	Partition int32
	From, End int64
}

// Spans returns one span for each partition of a topic, ordered by partition. A span covers the records with
// timestamps in [from, to): it begins with the first record that is not earlier than the start time, and ends before
// the first record that is not earlier than the end time. If the start time is zero, the span begins with the
// partition's first record; if the end time is zero, it ends after the last committed record.
func (c *Cluster) Spans(ctx context.Context, topic string, from, to time.Time) ([]Span, error) {
	stable, err := listed(c.admin.ListCommittedOffsets(ctx, topic))
	begins, ends := stable, stable
	switch {
	case err != nil:
	case from.UnixMilli() <= 0: // negative timestamps have other meanings in Kafka
		begins, err = listed(c.admin.ListStartOffsets(ctx, topic))
	default:
		begins, err = listed(c.admin.ListOffsetsAfterMilli(ctx, from.UnixMilli(), topic))
	}
	if err == nil && !to.IsZero() {
		ends, err = listed(c.admin.ListOffsetsAfterMilli(ctx, to.UnixMilli(), topic))
	}
	if err != nil {
		return nil, fmt.Errorf("list offsets of %s: %w", topic, err)
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

// At returns the offset of the first record of a partition whose timestamp is at or after an instant, or the end of
// the partition if there is none.
func (c *Cluster) At(ctx context.Context, topic string, partition int32, instant time.Time) (int64, error) {
	all, err := listed(c.admin.ListOffsetsAfterMilli(ctx, instant.UnixMilli(), topic))
	if err != nil {
		return 0, fmt.Errorf("find an instant in %s: %w", topic, err)
	}
	at, _ := all.Lookup(topic, partition)
	return at.Offset, nil
}

// Committed returns the committed offset of a consumer group, which is the offset that the group reads next, or 0 if
// the group has not committed an offset.
func (c *Cluster) Committed(ctx context.Context, group, topic string, partition int32) (int64, error) {
	offsets, err := c.admin.FetchOffsets(ctx, group)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("fetch positions of %s: %w", group, err)
	}
	at, _ := offsets.Lookup(topic, partition)
	return max(at.At, 0), nil
}

// Ends returns the end offsets of partitions: the offset after the last acknowledged record. A leader that does not
// respond before ctx ends does not delay the others: its partitions are missing from the result, and the error states
// the reason.
func (c *Cluster) Ends(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	if !c.Away().IsZero() {
		return nil, ErrAway
	}
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, n := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = n, -1, -1
		t.Partitions = append(t.Partitions, p)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	request.Topics = append(request.Topics, t)
	ends := make(map[int32]int64, len(partitions))
	var fault error
	for _, shard := range c.client.RequestSharded(ctx, request) {
		answer, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
		if shard.Err != nil || !ok {
			fault = errors.Join(fault, shard.Err)
			continue
		}
		for i := range answer.Topics {
			for _, p := range answer.Topics[i].Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					fault = errors.Join(fault, fmt.Errorf("partition %d: %w", p.Partition, err))
					continue
				}
				ends[p.Partition] = p.Offset
			}
		}
	}
	if fault != nil {
		return ends, fmt.Errorf("list end offsets of %s: %w", topic, fault)
	}
	return ends, nil
}

// ends returns the last stable offset of each partition, and retries until the cluster responds.
func (c *Cluster) ends(ctx context.Context, topic string) (map[int32]int64, error) {
	for {
		all, err := listed(c.admin.ListCommittedOffsets(ctx, topic))
		if err == nil {
			at := make(map[int32]int64, len(all[topic]))
			for n, o := range all[topic] {
				at[n] = o.Offset
			}
			return at, nil
		}
		c.log.WarnContext(ctx, "end offsets of the topic not known yet", "topic", topic, "error", err)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("list end offsets of %s: %w", topic, ctx.Err())
		case <-time.After(persistEvery):
		}
	}
}

// Behind returns the number of records in a partition that follow the applied offset (-1: all records), and the
// timestamp of the first of these records. The timestamp is zero if there is no such record, or if it could not be
// read in time. The topic must have no transactions.
func (c *Cluster) Behind(ctx context.Context, topic string, partition int32, applied int64) (lag int64, oldest time.Time, err error) {
	if !c.Away().IsZero() {
		return 0, oldest, ErrAway
	}
	ends, err := c.ends(ctx, topic)
	if err != nil {
		return 0, oldest, err
	}
	if lag = ends[partition] - applied - 1; lag <= 0 {
		return 0, oldest, nil
	}
	err = c.Range(ctx, topic, Span{partition, applied + 1, ends[partition]}, func(r Record) error {
		oldest = r.Timestamp
		return ErrStop
	})
	if err != nil {
		return lag, oldest, nil //nolint:nilerr // the lag is known even without the timestamp
	}
	return lag, oldest, nil
}
