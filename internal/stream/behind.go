package stream

import (
	"context"
	"time"
)

// Behind tells how many records of a partition lie after applied, -1 for all, and
// the timestamp of the first of them; zero if there is none, or it could not be
// read in time. The topic holds no transactions.
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
	if err != nil { // the lag alone is worth telling
		return lag, oldest, nil //nolint:nilerr // as above
	}
	return lag, oldest, nil
}
