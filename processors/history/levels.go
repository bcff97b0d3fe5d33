package history

import (
	"slices"

	"svc/acuity"
)

// levelTime measures how long a unit has each level within the hour. It is in memory only: after a
// restore it begins anew, and the next snapshot has fewer seconds.
type levelTime struct {
	level acuity.Level
	since acuity.Instant // instant up to which spent counts
	spent [acuity.LevelRed + 1]int64
}

const (
	hourMillis   = 3_600_000
	secondMillis = 1000
)

// setLevel sets the level after a change at an instant.
func (l *levelTime) setLevel(level acuity.Level, at acuity.Instant) {
	l.pass(at)
	l.level = level
}

// pass adds the time up to an instant. The clock of a hospital never goes back.
func (l *levelTime) pass(at acuity.Instant) {
	if at > l.since {
		l.spent[l.level] += int64(at - l.since)
		l.since = at
	}
}

// finishHour returns the seconds of each level in the hour that ends at an instant, and begins the
// next hour.
func (l *levelTime) finishHour(end acuity.Instant) []int32 {
	l.pass(end)
	seconds := make([]int32, len(l.spent))
	for i, ms := range l.spent {
		seconds[i] = int32(min(ms, hourMillis) / secondMillis) //nolint:gosec // of one hour
	}
	clear(l.spent[:])
	return slices.Clip(seconds)
}
