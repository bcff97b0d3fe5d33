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

// lookBack are the distances before the instant of a change at which the search for its record
// begins, in turn. The clocks of instances differ, and the clock of a hospital may be ahead of
// them. 0: the beginning of the log.
var lookBack = []time.Duration{time.Minute, 25 * time.Hour, 0}

// lookWithin bounds the search in one part of the log.
const lookWithin = 600 * time.Millisecond

// repeated is [ingest.Repeated]. It reads the change from the verdicts, which keep all records of
// the last seven days. Repeated requests are rare, so changes are not kept in memory for them.
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

// changeFrom returns the change of a hospital with a version, if its record is at an offset or
// after it, else ErrPending. A later change ends the search. The log has one, namely that of the
// repeating request.
func (h *service) changeFrom(ctx context.Context, topic string, partition int32, from int64, hospital string, version int64) (found acuity.Change, err error) {
	if from > 0 { // the offset may lie after all records
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
