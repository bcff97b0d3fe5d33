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

// barrierKey is the key of records that mark a place in a log and mean nothing
// else. No caller's key begins with a zero byte. They have no value, so that readers
// which decode values pass over them, and say what they are in a header.
var (
	barrierKey    = []byte("\x00barrier")
	barrierHeader = []kgo.RecordHeader{{Key: "svc-type", Value: []byte("barrier")}}
)

// isBarrier says that a record is no caller's.
func isBarrier(key []byte) bool { return bytes.HasPrefix(key, barrierKey) }

// barrier makes one for a partition.
func barrier(topic string, partition int32) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Key: barrierKey, Headers: barrierHeader}
}

// barriers appends one to each partition and returns their offsets.
func (c *Cluster) barriers(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	records := make([]*kgo.Record, len(partitions))
	for i, n := range partitions {
		records[i] = barrier(topic, n)
	}
	// The client does not give up what it may have sent, whatever ctx says:
	// while Kafka is away it would keep a process from stopping.
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

// readTo reads committed records of partitions up to barriers that it appends,
// each partition in order, different ones in parallel. An offset in from that lies
// behind the barrier is taken out of it, and that partition is read from its start.
// The bytes of a record are those of the next one once each has returned.
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
		kgo.WithPools(&recycle{}),
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

// readBatch hands on what one poll brought and strikes off the partitions that
// have reached their barrier.
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
				r.Recycle()
			}
		})
	})
	wait.Wait()
	for _, n := range done {
		delete(until, n)
	}
	return errors.Join(errs...)
}

// unique returns a value that was never used before.
func unique() string { return uuid.NewString() }
