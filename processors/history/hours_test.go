package history_test

import (
	"slices"
	"testing"

	"svc/acuity"
	"svc/schemas"
)

// A snapshot has the seconds of each level in the hour before it, as far as the task has observed
// them. A restored task has observed none.
func TestSnapshotsSayHowLongEachLevelWas(t *testing.T) {
	l := newLog(t)
	version := int64(0)
	at := func(n int32, minutes int64) acuity.Instant {
		return acuity.Instant(start+n)*hourLong + acuity.Instant(minutes*60_000)
	}
	change := func(level acuity.Level, when acuity.Instant) {
		version++
		l.apply(version, acuity.Change{Hospital: "h", Version: version, Cause: acuity.CauseIngest, Level: level, AppliedAt: when})
	}
	full := func(n int32, level acuity.Level) {
		version++
		c := hour("h", version, n)
		c.Level = level
		l.apply(version, c)
	}
	change(acuity.LevelYellow, at(0, 30)) // the first observed change
	change(acuity.LevelRed, at(0, 40))
	full(1, acuity.LevelRed)
	change(acuity.LevelGreen, at(1, 15))
	change(acuity.LevelGreen, at(1, 45))
	version++
	l.apply(version, acuity.Change{Hospital: "h", Version: version, Cause: acuity.CauseTime, Outcome: acuity.Time, Level: acuity.LevelOrange, AppliedAt: at(1, 50)})
	full(2, acuity.LevelOrange)
	version++
	l.apply(version, past("h", 1, 1, 1))
	l.commit()
	l.start()
	change(acuity.LevelYellow, at(2, 20))
	full(3, acuity.LevelYellow)
	l.commit()
	want := [][]int32{{0, 600, 0, 1200}, {2100, 0, 600, 900}, nil, {0, 2400, 0, 0}}
	for i, value := range l.snapshots {
		s, err := schemas.SnapshotCodec.Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.LevelSeconds, want[i]) {
			t.Errorf("snapshot %d: %v, want %v", i, s.LevelSeconds, want[i])
		}
	}
	if len(l.snapshots) != len(want) {
		t.Errorf("%d snapshots", len(l.snapshots))
	}
}
