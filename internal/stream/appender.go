package stream

import (
	"context"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Appender appends to one topic without waiting: idempotent, acknowledged by all replicas in
// sync, for each partition in the order of the calls. While Kafka is away it keeps the records
// and sends them again. Its callers bound how many there are.
type Appender struct {
	client *kgo.Client
	topic  string
}

// Appender returns an appender with a client of its own.
func (c *Cluster) Appender(topic string) (*Appender, error) {
	client, err := kgo.NewClient(c.with(
		kgo.WithHooks(c.health),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		// A full buffer would block the caller, and the caller is what empties it.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.ProducerBatchMaxBytesFn(c.limit),
	)...)
	if err != nil {
		return nil, fmt.Errorf("open appender: %w", err)
	}
	return &Appender{client: client, topic: topic}, nil
}

// Append appends one record. stored is called once, in order, from a goroutine of the client.
// It gets the offset or an error. After an error nothing is known of this record and of later
// ones. When ctx ends, records that were not sent fail.
func (a *Appender) Append(ctx context.Context, key, value []byte, partition int32, stored func(offset int64, err error)) {
	r := &kgo.Record{Topic: a.topic, Partition: partition, Key: key, Value: value}
	a.client.Produce(ctx, r, func(r *kgo.Record, err error) { stored(r.Offset, err) })
}

// Close ends the appender. Records that were not stored fail.
func (a *Appender) Close() { a.client.CloseAllowingRebalance() }
