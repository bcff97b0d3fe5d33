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

// lookBack lists how long before the instant of a change the search for the change starts. [Log.Change] tries the
// durations in this order; 0 means the start of the log. The durations allow for clock differences between instances,
// and for a hospital whose clock is fast.
var lookBack = []time.Duration{time.Minute, 25 * time.Hour, 0}

// The errors of [Log.Change].
var (
	ErrNoChange = errors.New("the log has no such change")
	ErrAway     = errors.New("no response from Kafka")
)

// Log finds changes in the changelog, which keeps all records of the last seven days. It reads them from Kafka each
// time, because changes are requested too rarely to keep them in memory.
type Log struct {
	Cluster    *stream.Cluster
	Topic      string // the verdicts topic
	Partitions int32
}

// Change returns the change with the given version. at must be the approximate instant of the change. The error is
// [ErrNoChange], [ErrAway], or an error from decoding the record.
func (l Log) Change(ctx context.Context, hospital string, version int64, at acuity.Instant) (*acuity.Change, error) {
	partition := schemas.Partition([]byte(hospital), l.Partitions)
	for _, back := range lookBack {
		var since time.Time
		if back > 0 {
			since = at.Time().Add(-back)
		}
		change, err := l.changeSince(ctx, partition, since, hospital, version)
		if !errors.Is(err, ErrNoChange) {
			return change, err
		}
	}
	return nil, ErrNoChange
}

// changeSince returns the change with the given version if its record was written since the given instant, and
// [ErrNoChange] if not. The search ends at a later change of the hospital.
func (l Log) changeSince(
	ctx context.Context, partition int32, since time.Time, hospital string, version int64,
) (found *acuity.Change, err error) {
	spans, err := l.Cluster.Spans(ctx, l.Topic, since, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	fault := ErrNoChange
	err = l.Cluster.Range(ctx, l.Topic, spans[partition], func(r stream.Record) error {
		if string(r.Key) != hospital {
			return nil
		}
		head, unread := schemas.PeekChange(r.Value)
		if unread != nil || head.Version < version {
			return nil //nolint:nilerr // this release cannot read the record as a change
		}
		if head.Version == version {
			found, fault = schemas.ChangeCodec.Decode(r.Value)
		}
		return stream.ErrStop
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return found, fault
}
