package stream

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Loader appends many records to a topic, in the order of the calls and with the timestamps
// of the records. One goroutine uses it and closes it.
type Loader struct {
	ctx    context.Context //nolint:containedctx // of all its appends
	client *kgo.Client
	topic  string

	mu    sync.Mutex
	fault error // the first
}

// Loader returns a loader. Its appends fail when ctx ends.
func (c *Cluster) Loader(ctx context.Context, topic string) (*Loader, error) {
	// A client of its own, without a limit to how long a record may take. The library counts
	// from the timestamp of the record, and that may be years back.
	client, err := kgo.NewClient(c.with(
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytesFn(c.limit),
	)...)
	if err != nil {
		return nil, fmt.Errorf("open loader: %w", err)
	}
	return &Loader{ctx: ctx, client: client, topic: topic}, nil
}

// Put appends a record to the partition that it names. It waits while too many appends are
// under way, and returns the first error of earlier appends.
func (l *Loader) Put(r *Record) error {
	l.client.Produce(l.ctx, &kgo.Record{Topic: l.topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp}, func(_ *kgo.Record, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.fault == nil {
			l.fault = err
		}
	})
	return l.failed()
}

func (l *Loader) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return fmt.Errorf("append to %s: %w", l.topic, l.fault)
	}
	return nil
}

// Close waits until all appended records are acknowledged, and returns the first error.
func (l *Loader) Close() error {
	defer l.client.Close()
	if err := l.client.Flush(l.ctx); err != nil {
		return fmt.Errorf("append to %s: %w", l.topic, err)
	}
	return l.failed()
}
