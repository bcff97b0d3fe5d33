package stream

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Extent reads the committed records of a partition from an offset on, in order, until each
// returns false or the end is reached. The end is that of the partition when Extent began,
// and is returned. With barrier, Extent first appends a record of its own, so that appends
// of others that were under way lie before the end.
func (c *Cluster) Extent(ctx context.Context, topic string, partition int32, from int64, barrier bool, each func(Record) bool) (end int64, err error) {
	if barrier {
		var at map[int32]int64
		if at, err = c.barriers(ctx, topic, []int32{partition}); err != nil {
			return 0, err
		}
		end = at[partition] + 1
	} else {
		var listed kadm.ListedOffsets
		if listed, err = c.admin.ListEndOffsets(ctx, topic); err == nil {
			err = listed.Error()
		}
		if err != nil {
			return 0, fmt.Errorf("find the end of %s: %w", topic, err)
		}
		at, _ := listed.Lookup(topic, partition)
		end = at.Offset
	}
	listed, err := c.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("find the start of %s: %w", topic, err)
	}
	if at, _ := listed.Lookup(topic, partition); from < at.Offset {
		from = at.Offset
	}
	if from >= end {
		return end, nil
	}
	reader, err := kgo.NewClient(c.with(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(from)}}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchBytes),
	)...)
	if err != nil {
		return 0, fmt.Errorf("open reader: %w", err)
	}
	defer reader.Close()
	for {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			return 0, fmt.Errorf("read %s: %w", topic, ctx.Err())
		}
		for _, e := range fetches.Errors() {
			return 0, fmt.Errorf("read %s partition %d: %w", topic, e.Partition, e.Err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			if r.Offset < end && !isBarrier(r.Key) && !each(recordOf(r)) {
				return end, nil
			}
			if r.Offset >= end-1 {
				return end, nil
			}
		}
	}
}
