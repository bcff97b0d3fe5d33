package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	appendTimeout  = 5 * time.Second
	maxRecordBytes = 8 << 20 // maximum size of a batch; topics may have smaller limits

	defaultRecordBytes = 1_000_000 // slightly below the brokers' default
)

// ErrTooLarge means that a record is larger than its topic allows.
var ErrTooLarge = errors.New("record too large")

// Publisher appends to one topic without transactions. Its appends are idempotent and acknowledged by all in-sync
// replicas. It is safe for concurrent use; records of one partition keep the order of their Append calls.
type Publisher struct {
	cluster *Cluster
	topic   string
}

// Publisher returns a publisher for topic. It accepts records up to the size that was passed to [Cluster.Ensure], or
// up to 1 MB if none was passed. All publishers of a cluster share its connections.
func (c *Cluster) Publisher(topic string) *Publisher {
	return &Publisher{cluster: c, topic: topic}
}

// Append is like [Publisher.AppendTraced], but without a traceparent.
func (p *Publisher) Append(ctx context.Context, key, value []byte, partition int32) (Position, error) {
	return p.AppendTraced(ctx, key, value, partition, "")
}

// AppendTraced stores one record and returns its position once it is acknowledged. A record with a nil value is a
// tombstone. traceparent identifies the trace that readers of the record continue; "" means none.
//
// If the record is larger than its topic allows, AppendTraced returns [ErrTooLarge]. If Kafka does not acknowledge
// the record within 5 s, or 30 s with [Options.Patient], it returns [ErrAway]. If the cluster is full or, without
// Patient, known to be unavailable, it does so immediately. After ErrAway, or if ctx has ended, the record may have
// been stored nevertheless.
func (p *Publisher) AppendTraced(ctx context.Context, key, value []byte, partition int32, traceparent string) (Position, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.cluster.within(), ErrAway)
	defer cancel()
	if err := p.cluster.awaitReached(ctx); err != nil {
		return Position{}, fmt.Errorf("append to %s: %w", p.topic, err)
	}
	if p.cluster.full != nil {
		if err := p.cluster.full(); err != nil {
			return Position{}, fmt.Errorf("append to %s: %w: %w", p.topic, ErrAway, err)
		}
	}
	// Each call has its own record, because the client may still use the record after this method has returned.
	rec := &kgo.Record{Topic: p.topic, Partition: partition, Key: key, Value: value, Headers: traceHeaders(traceparent)}
	err := p.send(ctx, rec)
	// When one record of a partition times out, the client fails all pending records of the partition. So this record
	// may fail before its own timeout, and is then sent again until ctx ends.
	for errors.Is(err, kgo.ErrRecordTimeout) && ctx.Err() == nil {
		err = p.send(ctx, rec)
	}
	if err != nil {
		return Position{}, fmt.Errorf("append to %s: %w", p.topic, p.judge(ctx, err))
	}
	return Position{Partition: partition, Offset: rec.Offset}, nil
}

// send waits until a record is stored, fails, or ctx ends. The client does not get ctx, because a sender that
// disconnects would fail the records of other senders in the partition.
func (p *Publisher) send(ctx context.Context, rec *kgo.Record) error {
	done := make(chan error, 1)
	p.cluster.client.TryProduce(context.WithoutCancel(ctx), rec, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// judge converts the error of a failed append into an error of this package.
func (p *Publisher) judge(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(context.Cause(ctx), ErrAway), errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries),
		errors.Is(err, kgo.ErrMaxBuffered): // the client's buffer is full
		p.cluster.health.suspect() //nolint:contextcheck // the probe outlives the append
		return errors.Join(ErrAway, err)
	case p.cluster.health.away.Load() != 0:
		return errors.Join(ErrAway, err)
	}
	return err
}

// producer opens a client that appends each record to the partition that the record names.
func (c *Cluster) producer(opts ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(c.with(append(opts,
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytesFn(c.limit),
	)...)...)
	if err != nil {
		return nil, fmt.Errorf("open producer: %w", err)
	}
	return client, nil
}

// Appender appends to one topic asynchronously and idempotently, in the order of the calls for each partition.
// Records are acknowledged by all in-sync replicas. While Kafka is unavailable, the Appender buffers the records and
// retries. Its callers limit the number of buffered records.
type Appender struct {
	client *kgo.Client
	topic  string
}

// Appender returns an appender with a separate client.
func (c *Cluster) Appender(topic string) (*Appender, error) {
	client, err := c.producer(
		kgo.WithHooks(c.health),
		kgo.ProducerLinger(0),
		// A full buffer would block the caller, which is the goroutine that empties it.
		kgo.MaxBufferedRecords(math.MaxInt32),
	)
	if err != nil {
		return nil, err
	}
	return &Appender{client: client, topic: topic}, nil
}

// Append appends one record. stored is called once, in order, from a goroutine of the client, with the offset or an
// error. After an error, the state of this record and of later ones is unknown. When ctx ends, unsent records fail.
// traceparent identifies the trace that readers of the record continue; "" means none.
func (a *Appender) Append(
	ctx context.Context, key, value []byte, partition int32, traceparent string, stored func(offset int64, err error),
) {
	r := &kgo.Record{Topic: a.topic, Partition: partition, Key: key, Value: value, Headers: traceHeaders(traceparent)}
	a.client.Produce(ctx, r, func(r *kgo.Record, err error) { stored(r.Offset, err) })
}

// Close ends the appender. Records that were not stored fail.
func (a *Appender) Close() { a.client.CloseAllowingRebalance() }

// Loader appends many records to a topic, in the order of the calls and with the timestamps of the records. A single
// goroutine must use and close it.
type Loader struct {
	ctx    context.Context //nolint:containedctx // context of all appends
	client *kgo.Client
	topic  string

	mu    sync.Mutex
	fault error // first error
}

// Loader returns a loader. Its appends fail when ctx ends.
func (c *Cluster) Loader(ctx context.Context, topic string) (*Loader, error) {
	// A separate client is needed, without a limit on how long a record may take. The library counts that time from the
	// record's timestamp, which may be years old.
	client, err := c.producer()
	if err != nil {
		return nil, err
	}
	return &Loader{ctx: ctx, client: client, topic: topic}, nil
}

// Put appends a record to the partition that the record names. It blocks while too many appends are in progress, and
// returns the first error of earlier appends.
func (l *Loader) Put(r *Record) error {
	record := &kgo.Record{Topic: l.topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp}
	l.client.Produce(l.ctx, record, func(_ *kgo.Record, err error) {
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
