package verdict

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// lookBack are the distances before the instant of a change at which the search for its record
// begins, in turn. The clocks of instances differ, and the clock of a hospital may be ahead of
// them. 0: the beginning of the log.
var lookBack = []time.Duration{time.Minute, 25 * time.Hour, 0}

// lookWithin bounds the search in one part of the log.
const lookWithin = 600 * time.Millisecond

// Faults of [Log.Change].
var (
	ErrNoChange = errors.New("the log has no such change")
	ErrAway     = errors.New("the log does not answer")
)

// Log finds changes in the changelog, which keeps all records of the last seven days. It reads
// them anew each time: whoever asks again asks rarely, so changes are not kept in memory for that.
type Log struct {
	Cluster    *stream.Cluster
	Topic      string // of the verdicts
	Partitions int32
}

// Change returns the change of a hospital with a version. at is about when it was made. The error
// is [ErrNoChange], [ErrAway], or that the record cannot be decoded.
func (l Log) Change(ctx context.Context, hospital string, version int64, at acuity.Instant) (*acuity.Change, error) {
	partition := schemas.Partition([]byte(hospital), l.Partitions)
	for _, back := range lookBack {
		from := int64(0)
		if back > 0 {
			var err error
			if from, err = l.Cluster.At(ctx, l.Topic, partition, at.Time().Add(-back)); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrAway, err)
			}
		}
		change, err := l.changeFrom(ctx, partition, from, hospital, version)
		if !errors.Is(err, ErrNoChange) && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return change, err
		}
	}
	return nil, ErrNoChange
}

// changeFrom returns the change of a hospital with a version, if its record is at an offset or
// after it, else [ErrNoChange]. A later change of the hospital ends the search. The log has one,
// namely that of the request that asks.
func (l Log) changeFrom(ctx context.Context, partition int32, from int64, hospital string, version int64) (found *acuity.Change, err error) {
	if from > 0 { // the offset may lie after all records
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lookWithin)
		defer cancel()
	}
	fault := ErrNoChange
	err = l.Cluster.From(ctx, l.Topic, partition, from, func(r stream.Record) bool {
		if string(r.Key) != hospital {
			return true
		}
		head, unread := schemas.PeekChange(r.Value)
		if unread != nil || head.Version < version {
			return true
		}
		if head.Version == version {
			found, fault = schemas.ChangeCodec.Decode(r.Value)
		}
		return false
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return found, fault
}
