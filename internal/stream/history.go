package stream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Newest is the end of [Cluster.Back] that stands for all that is committed.
const Newest = int64(-1)

// Back reads the committed records of a partition before an offset, newest first, until each
// returns false or the beginning is reached. The topic must have no transactions and no
// compaction.
func (c *Cluster) Back(ctx context.Context, topic string, partition int32, before int64, each func(Record) bool) error {
	begin, err := c.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = begin.Error()
	}
	if err != nil {
		return fmt.Errorf("read back %s: %w", topic, err)
	}
	first, _ := begin.Lookup(topic, partition)
	ends, err := c.admin.ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("read back %s: %w", topic, err)
	}
	// Beyond the end there is nothing, and to read there would wait for it.
	if end, _ := ends.Lookup(topic, partition); before == Newest || before > end.Offset {
		before = end.Offset
	}
	// Retention deletes from the beginning only, so no offset between is missing.
	for before > first.Offset {
		from := max(first.Offset, before-backStep)
		slice, err := c.between(ctx, topic, partition, from, before)
		if err != nil {
			return fmt.Errorf("read back %s: %w", topic, err)
		}
		for _, r := range slices.Backward(slice) {
			if !each(r) {
				return nil
			}
		}
		before = from
	}
	return nil
}

// backStep is how many offsets are read at once.
const backStep = 1000

// between reads the records of a partition from an offset up to, not including, an end.
func (c *Cluster) between(ctx context.Context, topic string, partition int32, from, end int64) ([]Record, error) {
	slice := make([]Record, 0, end-from)
	err := c.From(ctx, topic, partition, from, func(r Record) bool {
		if r.Offset < end {
			slice = append(slice, r)
		}
		return r.Offset < end-1
	})
	return slice, err
}

// From reads the committed records of a partition from an offset on, in order, until each
// returns false. At the end of the partition it waits for more. It returns an error when ctx
// ends.
func (c *Cluster) From(ctx context.Context, topic string, partition int32, from int64, each func(Record) bool) error {
	reader, err := kgo.NewClient(c.with(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(from)}}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)...)
	if err != nil {
		return fmt.Errorf("open reader: %w", err)
	}
	defer reader.Close()
	for {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("read %s: %w", topic, ctx.Err())
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			if !each(recordOf(iter.Next())) {
				return nil
			}
		}
	}
}

// At returns the offset of the first record of a partition whose timestamp is not before an
// instant; without such a record, the end of the partition.
func (c *Cluster) At(ctx context.Context, topic string, partition int32, instant time.Time) (int64, error) {
	listed, err := c.admin.ListOffsetsAfterMilli(ctx, instant.UnixMilli(), topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("find an instant in %s: %w", topic, err)
	}
	at, _ := listed.Lookup(topic, partition)
	return at.Offset, nil
}
