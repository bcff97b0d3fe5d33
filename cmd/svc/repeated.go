package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/stream"
	"svc/schemas"
)

// lookBack is how long before the instant at which a change was made its record
// is looked for, in turn: the clocks of instances differ, and the clock of a
// hospital may run ahead of theirs. 0: from the beginning of the log.
var lookBack = []time.Duration{time.Minute, 25 * time.Hour, 0}

// lookWithin bounds the look at a part of the log.
const lookWithin = 600 * time.Millisecond

// repeated is [ingest.Repeated]: it reads the change from the verdicts, where the
// records of the last seven days are all kept. A request that comes again is rare,
// so nothing is kept in memory for it.
func (h *service) repeated(ctx context.Context, hospital string, version int64, at acuity.Instant) (acuity.Change, error) {
	topic := h.topic(schemas.Verdicts())
	partition := schemas.Partition([]byte(hospital), h.partitions)
	for _, back := range lookBack {
		from := int64(0)
		if back > 0 {
			var err error
			if from, err = h.cluster.At(ctx, topic, partition, at.Time().Add(-back)); err != nil {
				return acuity.Change{}, fmt.Errorf("%w: %w", ingest.ErrAway, err)
			}
		}
		change, err := h.changeFrom(ctx, topic, partition, from, hospital, version)
		if !errors.Is(err, ingest.ErrPending) && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return change, err
		}
	}
	return acuity.Change{}, ingest.ErrPending
}

// changeFrom returns the change of a hospital with a version if its record is at
// an offset or after it, else ErrPending. The log holds a later one: that of the
// request that asks.
func (h *service) changeFrom(ctx context.Context, topic string, partition int32, from int64, hospital string, version int64) (found acuity.Change, err error) {
	if from > 0 { // it may lie after all there is
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lookWithin)
		defer cancel()
	}
	fault := ingest.ErrPending
	err = h.cluster.From(ctx, topic, partition, from, func(r stream.Record) bool {
		if string(r.Key) != hospital {
			return true
		}
		head, unread := schemas.PeekChange(r.Value)
		if unread != nil || head.Version < version {
			return true
		}
		if head.Version == version {
			var change *acuity.Change
			if change, fault = schemas.DecodeChange(r.Value); fault == nil {
				found = *change
			}
		}
		return false
	})
	if err != nil {
		return found, fmt.Errorf("%w: %w", ingest.ErrAway, err)
	}
	return found, fault
}
