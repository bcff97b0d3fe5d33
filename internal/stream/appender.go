package stream

import (
	"context"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Appender appends to one topic without being waited for: idempotent,
// acknowledged by all replicas in sync, in the order of the calls for each
// partition. What Kafka does not take while it is away it keeps and sends again,
// as long as it lives; its callers bound how much that is.
type Appender struct {
	client *kgo.Client
	topic  string
}

// Appender returns an appender with a connection of its own.
func (c *Cluster) Appender(topic string) (*Appender, error) {
	client, err := kgo.NewClient(c.with(
		kgo.WithHooks(c.health),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		// A full buffer would block the caller, and with it who empties the buffer.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.ProducerBatchMaxBytesFn(c.limit),
	)...)
	if err != nil {
		return nil, fmt.Errorf("open appender: %w", err)
	}
	return &Appender{client: client, topic: topic}, nil
}

// Append stores one record. stored is called once, in order, from a goroutine of
// the client: with its offset, or with the error after which nothing is known of
// it and what follows. The end of ctx fails what has not been sent yet.
func (a *Appender) Append(ctx context.Context, key, value []byte, partition int32, stored func(offset int64, err error)) {
	r := &kgo.Record{Topic: a.topic, Partition: partition, Key: key, Value: value}
	a.client.Produce(ctx, r, func(r *kgo.Record, err error) { stored(r.Offset, err) })
}

// Close ends it; what was not stored fails.
func (a *Appender) Close() { a.client.CloseAllowingRebalance() }
