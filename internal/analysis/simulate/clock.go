package simulate

import "time"

// clock is an instant in seconds since 1970 UTC, or a span in seconds.
type clock int64

const (
	second clock = 1
	minute       = 60 * second
	hour         = 60 * minute
	day          = 24 * hour
	week         = 7 * day
)

func at(t time.Time) clock { return clock(t.Unix()) }

func (c clock) time() time.Time { return time.Unix(int64(c), 0).UTC() }

// written returns the instant that is written for an instant of the unit.
func (u *unit) written(t clock) time.Time {
	if u.options.Clock == nil {
		return t.time()
	}
	return u.options.Clock(t.time()).UTC()
}
