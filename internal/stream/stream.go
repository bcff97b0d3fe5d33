// Package stream moves records through Kafka so that every accepted input is applied exactly once. It does not
// interpret records: keys and values are bytes, and the caller names the partition.
//
//   - A [Cluster] is a connection to a Kafka cluster, or to the [Broker] of this process.
//   - A [Publisher] appends one record and returns its position.
//   - A [Tail] follows a topic from its end; [Applied] uses a Tail to wait for the change that an input caused.
//   - A [Table] is a compacted topic held in memory.
//   - [Cluster.Process] runs a [Task] for each partition: it reads inputs and writes changes in one transaction. The
//     state of a task is what its changelog contains.
//
// Three rules make the loop exact, even if any process dies. The changelog is the commit point: everything downstream
// is derived from it. A partition starts at the larger of its committed offset and the input offset in its changelog,
// and each record is checked against that position. If the outcome of a commit is unknown, the state in memory is
// dropped and restored.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrAway means that no broker responds, or that an append was not acknowledged in time. The record may have been
// stored, so it must be safe to send it again.
var ErrAway = errors.New("kafka unavailable")

// Position is the position of a record in its topic.
type Position struct {
	Partition int32
	Offset    int64
}

// Record is one record of a topic. A nil Value is a tombstone. Timestamp is the time that the producer set, with
// millisecond precision. A function that gets a record may retain Key and Value unless its description forbids this.
type Record struct {
	Partition  int32
	Offset     int64
	Key, Value []byte
	Timestamp  time.Time
	Copy       bool // whether a checkpoint wrote the record
	// Traceparent is the value of the traceparent header, which lets a reader continue the writer's trace; "": none.
	Traceparent string
}

func recordOf(r *kgo.Record) Record {
	return Record{
		Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp, Copy: isCopy(r),
		Traceparent: traceparentOf(r),
	}
}

// Cluster is a connection to a Kafka cluster. It is safe for concurrent use.
type Cluster struct {
	opts    []kgo.Opt // options of every client
	log     *slog.Logger
	client  *kgo.Client // client for administration and the publishers
	admin   *kadm.Client
	health  *health
	silent  *silentBrokers
	patient bool         // see Options.Patient
	full    func() error // returns why the cluster accepts no records, or nil; a nil function means no check

	limits sync.Map // topic -> int32: max.message.bytes, set by Ensure

	id       string
	brokers  int  // number of brokers last seen
	wanted   int  // number of brokers that a new topic waits for
	exact    bool // whether wanted was set explicitly; a topic then has that many replicas
	embedded bool // whether the cluster is a Broker
}

// Dial connects and waits until the cluster responds or ctx ends, because a role may start before Kafka. If the
// credentials are rejected, Dial returns an error immediately.
func Dial(ctx context.Context, o Options) (*Cluster, error) {
	opts, silent, err := o.client()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, silent: silent, log: o.Log, patient: o.Patient, full: o.Full, exact: o.Replicas > 0, wanted: o.Replicas}
	if !c.exact {
		c.wanted = min(len(slices.Compact(slices.Sorted(slices.Values(o.Brokers)))), maxReplicas)
	}
	c.health = newHealth(ctx, o.Log)
	c.client, err = kgo.NewClient(c.with(
		kgo.WithHooks(c.health),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		kgo.RecordDeliveryTimeout(c.within()),
		kgo.ProducerBatchMaxBytesFn(c.limit),
	)...)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c.health.watch(c.client)
	c.admin = kadm.NewClient(c.client)
	if err := c.await(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// within returns the timeout of an append or of an attempt of a replacement.
func (c *Cluster) within() time.Duration {
	if c.patient {
		return patience
	}
	return appendTimeout
}

// Close ends all connections of the cluster; appends in progress fail.
func (c *Cluster) Close() {
	c.health.stop()
	c.silent.close()
	c.client.Close()
}

// Embedded reports whether the cluster is the [Broker] of a process, which has no
// replication and never compacts.
func (c *Cluster) Embedded() bool { return c.embedded }

// Away returns the time since which no broker has responded, or the zero time if the cluster is available.
func (c *Cluster) Away() time.Time { return c.health.since() }

// Reached returns an error while no broker responds. A nil cluster counts as unavailable.
func Reached(c *Cluster) error {
	if c == nil {
		return errors.New("has not responded yet")
	}
	if since := c.Away(); !since.IsZero() {
		return fmt.Errorf("unavailable since %s", since.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return nil
}

// await requests the cluster's metadata until the cluster responds.
func (c *Cluster) await(ctx context.Context) error {
	for said := false; ; {
		ask, cancel := context.WithTimeout(ctx, 10*time.Second)
		meta, err := c.admin.BrokerMetadata(ask)
		cancel()
		if err == nil {
			c.id, c.brokers, c.embedded = meta.Cluster, len(meta.Brokers), meta.Cluster == embeddedID
			return nil
		}
		if errors.Is(err, kerr.SaslAuthenticationFailed) {
			return fmt.Errorf("connect: %w", advised(err))
		}
		if !said {
			c.log.WarnContext(ctx, "kafka does not respond yet", "option", optionsOf(err), "error", err)
			said = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("connect: %w: %w", ErrAway, err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// limit returns the maximum size of a batch in a topic. The broker refuses a larger batch, even if its records are
// small.
func (c *Cluster) limit(topic string) int32 {
	if n, ok := c.limits.Load(topic); ok {
		if bytes, ok := n.(int32); ok {
			return bytes
		}
	}
	return defaultRecordBytes
}

// with returns the options of every client, followed by opts.
func (c *Cluster) with(opts ...kgo.Opt) []kgo.Opt {
	return append(append(make([]kgo.Opt, 0, len(c.opts)+len(opts)), c.opts...), opts...)
}
