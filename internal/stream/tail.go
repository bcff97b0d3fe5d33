package stream

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Tail follows a topic, read_committed, on all partitions from its end.
type Tail struct {
	cluster *Cluster
	topic   string
	each    func(Record)
	ready   chan struct{}
}

// Tail returns a tail of topic that hands each record to each, in the order of
// its partition, from one goroutine. each must not block.
func (c *Cluster) Tail(topic string, each func(Record)) *Tail {
	return &Tail{cluster: c, topic: topic, each: each, ready: make(chan struct{})}
}

// Ready is closed once the tail has reached the ends that the partitions had when it
// began. From then on it misses no committed record.
func (t *Tail) Ready() <-chan struct{} { return t.ready }

// Run follows the topic until ctx ends, and then returns nil. It is called once.
func (t *Tail) Run(ctx context.Context) error {
	from, err := t.cluster.ends(ctx, t.topic)
	if err != nil {
		return ended(ctx, err)
	}
	// The positions are explicit: what is committed from now on lies at or
	// after them, whenever the first fetch is made.
	close(t.ready)
	return ended(ctx, t.cluster.follow(ctx, t.topic, from, func(r Record) {
		if !isBarrier(r.Key) {
			t.each(r)
		}
	}))
}

// ended returns nil for the end of ctx, else the error.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // asked to end
	}
	return err
}

// ends lists the last stable offset of each partition, and repeats until the
// cluster answers.
func (c *Cluster) ends(ctx context.Context, topic string) (map[int32]int64, error) {
	for {
		listed, err := c.admin.ListCommittedOffsets(ctx, topic)
		if err == nil {
			err = listed.Error()
		}
		if err == nil {
			at := make(map[int32]int64, len(listed[topic]))
			for n, o := range listed[topic] {
				at[n] = o.Offset
			}
			return at, nil
		}
		c.log.WarnContext(ctx, "ends of topic are not known yet", "topic", topic, "error", err)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("list ends of %s: %w", topic, ctx.Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// follow hands on the committed records of partitions, barriers too, from the given offsets,
// in one goroutine, until ctx ends. Fetches are repeated by the client.
func (c *Cluster) follow(ctx context.Context, topic string, from map[int32]int64, each func(Record)) error {
	begin := make(map[int32]kgo.Offset, len(from))
	for n, at := range from {
		begin[n] = kgo.NewOffset().At(at)
	}
	reader, err := kgo.NewClient(c.with(
		kgo.WithHooks(c.health), // it always has a request at a broker, so it is the first to see one go
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: begin}),
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
			return ctx.Err()
		}
		for _, e := range fetches.Errors() {
			c.log.Log(ctx, slog.LevelWarn, "kafka reports", "topic", topic, "partition", e.Partition, "error", e.Err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			each(recordOf(iter.Next()))
		}
	}
}
