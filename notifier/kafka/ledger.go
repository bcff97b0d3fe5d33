package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc/internal/stream"
	"svc/schemas/ledger"
)

// Ledger implements [notifier.Ledger] on the deliveries topic.
type Ledger struct {
	cluster  *stream.Cluster
	appender *stream.Appender
	topic    string
	id       string // id of the topic
}

// OpenLedger returns the ledger on a topic of deliveries.
func OpenLedger(ctx context.Context, cluster *stream.Cluster, topic string) (*Ledger, error) {
	l := &Ledger{cluster: cluster, topic: topic}
	var err error
	if l.id, err = cluster.Generation(ctx, l.topic); err != nil {
		return nil, err
	}
	if l.appender, err = cluster.Appender(l.topic); err != nil {
		return nil, err
	}
	return l, nil
}

// ID returns the id of the topic, which differs after the topic was made again.
func (l *Ledger) ID() string { return l.id }

// Close gives up what is not written yet.
func (l *Ledger) Close() { l.appender.Close() }

// Append implements [notifier.Ledger].
func (l *Ledger) Append(ctx context.Context, partition int32, entry any, stored func(int64, error)) {
	key, value, err := ledger.Encode(nil, entry)
	if err != nil {
		stored(-1, err)
		return
	}
	l.appender.Append(ctx, []byte(key.String()), value, partition, stored)
}

// Read implements [notifier.Ledger].
func (l *Ledger) Read(ctx context.Context, partition int32, from int64, prefix string, each func(int64, any) bool) (int64, error) {
	return l.read(ctx, partition, from, prefix, false, each)
}

// Restore implements [notifier.Ledger].
func (l *Ledger) Restore(ctx context.Context, partition int32, from int64, each func(int64, any) bool) (int64, error) {
	return l.read(ctx, partition, from, "", true, each)
}

func (l *Ledger) read(ctx context.Context, partition int32, from int64, prefix string, barrier bool, each func(int64, any) bool) (int64, error) {
	var fault error
	end, err := l.cluster.Extent(ctx, l.topic, partition, from, barrier, func(r stream.Record) bool {
		if !strings.HasPrefix(string(r.Key), prefix) {
			return each(r.Offset, nil)
		}
		entry, err := ledger.Decode(r.Key, r.Value)
		if err != nil {
			fault = fmt.Errorf("ledger at %d:%d: %w", r.Partition, r.Offset, err)
			return false
		}
		return entry == nil || each(r.Offset, entry)
	})
	return end, errors.Join(err, fault)
}

// At implements [notifier.Ledger].
func (l *Ledger) At(ctx context.Context, partition int32, instant time.Time) (int64, error) {
	return l.cluster.At(ctx, l.topic, partition, instant)
}
