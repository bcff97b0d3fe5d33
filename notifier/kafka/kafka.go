// Package kafka connects the notifier to its topics.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"svc/internal/outbound"
	"svc/internal/stream"
	"svc/notifier"
	"svc/schemas"
	"svc/schemas/ledger"
)

// Member implements [stream.Sharer]. It decodes Kafka records for the notifier.
type Member struct {
	*notifier.Notifier
	// Took receives a token when a partition has been assigned.
	Took chan struct{}
	log  *slog.Logger
}

// NewMember returns the notifier as a member of its consumer group.
func NewMember(n *notifier.Notifier, log *slog.Logger) Member {
	return Member{n, make(chan struct{}, 1), log}
}

// Assign implements [stream.Sharer].
func (m Member) Assign(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error) {
	next, side, err = m.Notifier.Assign(ctx, partition, committed, note)
	select {
	case m.Took <- struct{}{}:
	default:
	}
	return next, side, err
}

// Records implements [stream.Sharer].
func (m Member) Records(partition int32, records []stream.Record, through int64, behind bool) {
	var changes []notifier.Change
	for _, r := range records {
		if r.Value == nil || !schemas.IsChange(r.Key) {
			continue
		}
		head, err := schemas.PeekChange(r.Value)
		if err == nil && !head.Effects {
			continue
		}
		change, err := schemas.ChangeCodec.Decode(r.Value)
		if err != nil {
			// A newer release wrote the record. A notifier of that release will process it once it owns the
			// partition.
			m.Fail(fmt.Errorf("change at %d:%d: %w", r.Partition, r.Offset, err))
			return
		}
		changes = append(changes, notifier.Change{Offset: r.Offset, Change: change, Traceparent: r.Traceparent})
	}
	if err := m.Changes(partition, changes, through, behind); err != nil {
		m.Fail(err)
	}
}

// Side implements [stream.Sharer]. It forwards the commands that other processes write to the ledger.
func (m Member) Side(r stream.Record) {
	key, err := schemas.ParseKey(r.Key)
	if err != nil || key.Kind != ledger.KindCommand || r.Value == nil {
		return
	}
	order, err := ledger.OrderCodec.Decode(r.Value)
	if err != nil {
		m.log.Error("command not decoded", "partition", r.Partition, "offset", r.Offset, "error", err)
		return
	}
	m.Order(r.Partition, r.Offset, order)
}

// Positions implements [stream.Sharer].
func (m Member) Positions() map[int32]stream.Mark {
	all := map[int32]stream.Mark{}
	for p, mark := range m.Notifier.Positions() {
		all[p] = stream.Mark(mark)
	}
	return all
}

// Ledger implements [notifier.Ledger] with the deliveries topic.
type Ledger struct {
	cluster  *stream.Cluster
	appender *stream.Appender
	topic    string
	id       string // id of the topic
}

// OpenLedger opens the ledger that is stored in a deliveries topic.
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

// ID returns the id of the topic, which changes if the topic is deleted and created again.
func (l *Ledger) ID() string { return l.id }

// Close discards entries that have not been written yet.
func (l *Ledger) Close() { l.appender.Close() }

// Append implements [notifier.Ledger].
func (l *Ledger) Append(ctx context.Context, partition int32, entry any, stored func(int64, error)) {
	key, value, err := ledger.Encode(nil, entry)
	if err != nil {
		stored(-1, err)
		return
	}
	l.appender.Append(ctx, []byte(key.String()), value, partition, *traceparentOf(entry), stored)
}

// Read implements [notifier.Ledger].
func (l *Ledger) Read(ctx context.Context, partition int32, from int64, prefix string, fn func(int64, any) bool) (int64, error) {
	return l.read(ctx, partition, from, prefix, false, fn)
}

// Restore implements [notifier.Ledger].
func (l *Ledger) Restore(ctx context.Context, partition int32, from int64, fn func(int64, any) bool) (int64, error) {
	return l.read(ctx, partition, from, "", true, fn)
}

func (l *Ledger) read(
	ctx context.Context, partition int32, from int64, prefix string, barrier bool, fn func(int64, any) bool,
) (int64, error) {
	var fault error
	end, err := l.cluster.Extent(ctx, l.topic, partition, from, barrier, func(r stream.Record) bool {
		if !strings.HasPrefix(string(r.Key), prefix) {
			return fn(r.Offset, nil)
		}
		entry, err := ledger.Decode(r.Key, r.Value)
		if err != nil {
			fault = fmt.Errorf("ledger at %d:%d: %w", r.Partition, r.Offset, err)
			return false
		}
		*traceparentOf(entry) = r.Traceparent
		return entry == nil || fn(r.Offset, entry)
	})
	return end, errors.Join(err, fault)
}

// At implements [notifier.Ledger].
func (l *Ledger) At(ctx context.Context, partition int32, instant time.Time) (int64, error) {
	return l.cluster.At(ctx, l.topic, partition, instant)
}

// traceparentOf returns the traceparent of an entry, which is a header of its record. An entry without a traceparent has
// an empty one that is not stored.
func traceparentOf(entry any) *string {
	switch e := entry.(type) {
	case *outbound.Event:
		return &e.Traceparent
	case *outbound.Entry:
		return &e.Traceparent
	}
	return new(string)
}
