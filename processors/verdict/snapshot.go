package verdict

import (
	"fmt"
	"slices"
	"strconv"

	"svc/acuity"
	"svc/schemas"
)

// SnapshotKey returns the key of a hospital's snapshot for an hour.
func SnapshotKey(hospital string, hour int32) []byte {
	return []byte(schemas.Key{Hospital: hospital, Kind: kindSnapshot, ID: strconv.Itoa(int(hour))}.String())
}

// IsSnapshot reports whether an output with this key belongs to the snapshots topic rather than the changelog.
func IsSnapshot(key []byte) bool { return hasKind(key, kindSnapshot) }

// recordSnapshot encodes the snapshot of a change for Outputs.
func (t *task) recordSnapshot(h *hospitalEntry, s *acuity.Snapshot, seconds []int32) error {
	record := schemas.Snapshot{Hospital: h.id, Snapshot: *s, LevelSeconds: seconds}
	encoded, err := schemas.SnapshotCodec.Encode(t.scratch[:0], &record)
	t.scratch = encoded
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	t.changes = append(t.changes, output{SnapshotKey(h.id, s.Hour), t.keepRecord(encoded)})
	return nil
}

// LevelTime measures how long a unit is at each level within an hour. It is kept only in memory: measurement starts
// with the first change after a restore, so the next snapshot covers fewer seconds. The zero value is ready to use.
type LevelTime struct {
	seen  bool
	level acuity.Level
	since acuity.Instant // instant up to which the time is counted in spent
	spent [acuity.LevelRed + 1]int64
}

const (
	hourMillis   = 3_600_000
	secondMillis = 1000
)

// Add records the level after a change. If the change has an hourly snapshot that is not part of a backfill, Add
// returns the seconds spent at each level in the hour before the snapshot, starting with the best level. For all
// other changes, it returns nil.
func (l *LevelTime) Add(c *acuity.Change) (seconds []int32) {
	if !l.seen {
		l.seen, l.level, l.since = true, c.Level, c.AppliedAt
	}
	switch {
	case c.Snapshot == nil:
	case c.Snapshot.Backfill > 0:
		return nil // the snapshot is for a past hour, which has no measured time
	default:
		seconds = l.finishHour(acuity.Instant(c.Snapshot.Hour) * hourMillis)
	}
	l.addTime(c.AppliedAt)
	l.level = c.Level
	return seconds
}

// addTime adds the time since the last call, up to the given instant, to the time spent at the current level. A
// hospital's clock never moves back.
func (l *LevelTime) addTime(at acuity.Instant) {
	if at > l.since {
		l.spent[l.level] += int64(at - l.since)
		l.since = at
	}
}

// finishHour returns the seconds spent at each level in the hour that ends at an instant, and starts the next hour.
func (l *LevelTime) finishHour(end acuity.Instant) []int32 {
	l.addTime(end)
	seconds := make([]int32, len(l.spent))
	for i, ms := range l.spent {
		seconds[i] = int32(min(ms, hourMillis) / secondMillis) //nolint:gosec // at most one hour
	}
	clear(l.spent[:])
	return slices.Clip(seconds)
}
