package verdict

import (
	"slices"
	"testing"

	"svc/acuity"
)

// TestSnapshotsSayHowLongEachLevelWas: a snapshot contains the seconds spent at each level in the previous hour, as
// far as the task has observed that hour. A task that has just been restored has not observed any of it.
func TestSnapshotsSayHowLongEachLevelWas(t *testing.T) {
	const start = 492_000 // an hour of the year 2026
	at := func(hour int32, minutes int64) acuity.Instant {
		return acuity.Instant(start+hour)*hourMillis + acuity.Instant(minutes*60_000)
	}
	change := func(level acuity.Level, when acuity.Instant) acuity.Change {
		return acuity.Change{Level: level, AppliedAt: when}
	}
	full := func(hour int32, level acuity.Level) acuity.Change {
		return acuity.Change{Level: level, AppliedAt: at(hour, 0), Snapshot: &acuity.Snapshot{Hour: start + hour}}
	}
	backfill := full(1, acuity.LevelGreen)
	backfill.AppliedAt, backfill.Snapshot.Backfill = at(2, 1), 1
	var levels LevelTime
	for i, tt := range []struct {
		acuity.Change
		want    []int32
		restart bool
	}{
		{Change: change(acuity.LevelYellow, at(0, 30))}, // the first observed change
		{Change: change(acuity.LevelRed, at(0, 40))},
		{Change: full(1, acuity.LevelRed), want: []int32{0, 600, 0, 1200}},
		{Change: change(acuity.LevelGreen, at(1, 15))},
		{Change: change(acuity.LevelGreen, at(1, 45))},
		{Change: change(acuity.LevelOrange, at(1, 50))},
		{Change: full(2, acuity.LevelOrange), want: []int32{2100, 0, 600, 900}},
		{Change: backfill},
		{Change: change(acuity.LevelYellow, at(2, 20)), restart: true},
		{Change: full(3, acuity.LevelYellow), want: []int32{0, 2400, 0, 0}},
	} {
		if tt.restart {
			levels = LevelTime{}
		}
		if got := levels.Add(&tt.Change); !slices.Equal(got, tt.want) {
			t.Errorf("change %d: %v, want %v", i, got, tt.want)
		}
	}
}
