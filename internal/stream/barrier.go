package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// barrierKey is the key of records that only mark a place in a log. No other key begins with
// a zero byte. A barrier has no value, so readers that decode values skip it. A header says
// what it is.
var (
	barrierKey    = []byte("\x00barrier")
	barrierHeader = []kgo.RecordHeader{{Key: "svc-type", Value: []byte("barrier")}}
)

// isBarrier tells whether a record with this key is a barrier.
func isBarrier(key []byte) bool { return bytes.HasPrefix(key, barrierKey) }

// barrier returns a barrier for a partition.
func barrier(topic string, partition int32) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Key: barrierKey, Headers: barrierHeader}
}

// barriers appends a barrier to each partition and returns their offsets.
func (c *Cluster) barriers(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	records := make([]*kgo.Record, len(partitions))
	for i, n := range partitions {
		records[i] = barrier(topic, n)
	}
	// The client does not give up a record that it may have sent, even when ctx ends. While
	// Kafka is away that would keep a process from stopping.
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

// readTo appends a barrier to each partition and reads the committed records before it: each
// partition in order, several in parallel. An offset in from that is larger than that of the
// barrier is removed from the map, and its partition is read from the start. The bytes of a
// record are used again after each has returned.
func (c *Cluster) readTo(ctx context.Context, topic string, from map[int32]int64, partitions []int32, each func(Record) error) error {
	until, err := c.barriers(ctx, topic, partitions)
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
	reader, err := kgo.NewClient(c.with(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: begin}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// As stored; decompressed, and with a record each, several times that.
		kgo.FetchMaxBytes(1<<20),
		kgo.FetchMaxPartitionBytes(1<<20),
	)...)
	if err != nil {
		return fmt.Errorf("open reader: %w", err)
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
		if err := c.readBatch(fetches, until, each); err != nil {
			return err
		}
	}
	return nil
}

// readBatch passes on the records of one poll, and removes the partitions from until that have
// reached their barrier.
func (c *Cluster) readBatch(fetches kgo.Fetches, until map[int32]int64, each func(Record) error) error {
	var (
		mu   sync.Mutex
		errs []error
		wait sync.WaitGroup
		done []int32
	)
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		end, open := until[fp.Partition]
		if !open {
			return
		}
		wait.Go(func() {
			for _, r := range fp.Records {
				if r.Offset >= end {
					mu.Lock()
					done = append(done, fp.Partition)
					mu.Unlock()
					return
				}
				if !isBarrier(r.Key) {
					if err := each(recordOf(r)); err != nil {
						mu.Lock()
						errs = append(errs, fmt.Errorf("record %d:%d: %w", r.Partition, r.Offset, err))
						mu.Unlock()
						return
					}
				}
			}
		})
	})
	wait.Wait()
	for _, n := range done {
		delete(until, n)
	}
	return errors.Join(errs...)
}

// unique returns a new random identifier.
func unique() string { return uuid.NewString() }
