package history

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/schemas"
)

// levelTime measures how long a unit has each level within the hour. It is kept in memory only: after a restore it
// restarts, and the next snapshot has fewer seconds.
type levelTime struct {
	level acuity.Level
	since acuity.Instant // up to this instant, the time is included in spent
	spent [acuity.LevelRed + 1]int64
}

const (
	hourMillis   = 3_600_000
	secondMillis = 1000
)

// setLevel records the level after a change at an instant.
func (l *levelTime) setLevel(level acuity.Level, at acuity.Instant) {
	l.pass(at)
	l.level = level
}

// pass adds the time up to an instant. A hospital's clock never moves back.
func (l *levelTime) pass(at acuity.Instant) {
	if at > l.since {
		l.spent[l.level] += int64(at - l.since)
		l.since = at
	}
}

// finishHour returns the seconds of each level in the hour that ends at an instant, and starts the next hour.
func (l *levelTime) finishHour(end acuity.Instant) []int32 {
	l.pass(end)
	seconds := make([]int32, len(l.spent))
	for i, ms := range l.spent {
		seconds[i] = int32(min(ms, hourMillis) / secondMillis) //nolint:gosec // of one hour
	}
	clear(l.spent[:])
	return slices.Clip(seconds)
}

// relearnSpan is the period from which a model is learned again. Older hours have less than half the weight and are
// deleted a week later.
const relearnSpan = 56 * 24 * time.Hour

// relearn rebuilds the models of hospitals from the copied snapshots. Of several snapshots of an hour, the one of the
// latest generation counts.
func (t *task) relearn(list ...*hospital) error {
	if len(list) == 0 {
		return nil
	}
	newest := int32(0)
	hours := map[string]map[int32]*acuity.Snapshot{}
	for _, h := range list {
		newest = max(newest, h.copied, h.past)
		hours[h.id] = map[int32]*acuity.Snapshot{}
	}
	since := time.Unix(int64(newest)*3600, 0).Add(-relearnSpan)
	oldest := acuity.At(since).Hour()
	add := func(s *schemas.Snapshot) {
		byHour, wanted := hours[s.Hospital]
		if !wanted || s.Snapshot.Hour < oldest {
			return
		}
		if old := byHour[s.Snapshot.Hour]; old == nil || old.Generation <= s.Snapshot.Generation {
			byHour[s.Snapshot.Hour] = &s.Snapshot
		}
	}
	err := t.Past(t.partition, since, func(value []byte) error {
		s, err := schemas.SnapshotCodec.Decode(value)
		if err != nil {
			return fmt.Errorf("read snapshot: %w", err)
		}
		add(s)
		return nil
	})
	if err != nil {
		return fmt.Errorf("relearn: %w", err)
	}
	for i := range t.snapshots { // not committed yet
		s := t.snapshots[i]
		add(&s)
	}
	for _, h := range list {
		model := forecast.NewModel(h.id)
		for _, hour := range slices.Sorted(maps.Keys(hours[h.id])) {
			forecast.Learn(model, hours[h.id][hour], t.Zone(h.id))
		}
		model.Offset = h.model.Offset
		h.model = model
	}
	return nil
}
