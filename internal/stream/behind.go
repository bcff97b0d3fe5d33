package stream

import (
	"context"
	"time"
)

// Behind returns how many records of a partition lie after the offset applied (-1: all), and
// the timestamp of the first of them. The timestamp is zero if there is none, or if it could
// not be read in time. The topic must have no transactions.
func (c *Cluster) Behind(ctx context.Context, topic string, partition int32, applied int64) (lag int64, oldest time.Time, err error) {
	if !c.Away().IsZero() {
		return 0, oldest, ErrAway
	}
	ends, err := c.ends(ctx, topic)
	if err != nil {
		return 0, oldest, err
	}
	if lag = ends[partition] - applied - 1; lag <= 0 {
		return 0, oldest, nil
	}
	err = c.From(ctx, topic, partition, applied+1, func(r Record) bool {
		oldest = r.Timestamp
		return false
	})
	if err != nil {
		return lag, oldest, nil //nolint:nilerr // the lag is known without the timestamp
	}
	return lag, oldest, nil
}
