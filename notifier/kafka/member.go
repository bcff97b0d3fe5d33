// Package kafka connects the notifier to its topics.
package kafka

import (
	"context"
	"fmt"
	"log/slog"

	"svc/internal/stream"
	"svc/notifier"
	"svc/schemas"
	"svc/schemas/ledger"
)

// Member implements [stream.Sharer]. It decodes records of Kafka for the notifier.
type Member struct {
	*notifier.Notifier
	// Took holds a token after a partition was assigned.
	Took chan struct{}
	log  *slog.Logger
}

// NewMember returns the notifier as a member of its group.
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
			// A newer release wrote it. A notifier of that release reads it, once it owns the
			// partition.
			m.Fail(fmt.Errorf("change at %d:%d: %w", r.Partition, r.Offset, err))
			return
		}
		changes = append(changes, notifier.Change{Offset: r.Offset, Change: change})
	}
	if err := m.Changes(partition, changes, through, behind); err != nil {
		m.Fail(err)
	}
}

// Side implements [stream.Sharer]. It passes on the commands in the ledger, which other processes
// write.
func (m Member) Side(r stream.Record) {
	key, err := schemas.ParseKey(r.Key)
	if err != nil || key.Kind != ledger.KindCommand || r.Value == nil {
		return
	}
	order, err := ledger.OrderCodec.Decode(r.Value)
	if err != nil {
		m.log.Error("command not understood", "partition", r.Partition, "offset", r.Offset, "error", err)
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
