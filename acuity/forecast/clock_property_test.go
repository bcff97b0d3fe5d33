package forecast_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
)

// alone returns the past hours and the current state of a unit with one visit and no earlier visits.
func alone(last acuity.SnapshotVisit) ([]acuity.Snapshot, acuity.Snapshot) {
	list := make([]acuity.Snapshot, 24)
	for i := range list {
		list[i] = acuity.Snapshot{Hour: firstHour + int32(i), Observed: true, Nurses: 2, Call: acuity.Yes, Rooms: 5}
	}
	now := list[23]
	now.Visits, now.Occupied = []acuity.SnapshotVisit{last}, 1
	return list, now
}

// TestKnownClock: if a unit has no other history, the demand of a patient in recovery follows the clock: one nurse,
// then a half, then a third.
func TestKnownClock(t *testing.T) {
	v := acuity.SnapshotVisit{Visit: 1, Class: acuity.StageRecovery, Demand: [9]uint8{60, 60, 30, 30, 30, 30, 20, 20, 20}}
	for h := range v.Score {
		v.Score[h] = 20
	}
	list, now := alone(v)
	m := learnt(list, nil)
	f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(m.Hour) * 3_600_000, Snapshot: &now})
	if err != nil {
		t.Fatal(err)
	}
	for h, want := range [8]float64{1, .5, .5, .5, .5, .33, .33, .33} {
		if got := f.Hours[h].Mean; got != want || f.Hours[h].Nurses[forecast.P50] != want || f.Hours[h].Census != 1 {
			t.Errorf("%d h: %+v, want %v", h+1, f.Hours[h], want)
		}
	}
}

// TestClockChange covers the weeks in which an hour is skipped or repeated.
func TestClockChange(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []time.Time{time.Date(2026, 3, 8, 0, 0, 0, 0, zone), time.Date(2026, 11, 1, 0, 0, 0, 0, zone)} {
		list := anyUnit(rand.New(rand.NewPCG(5, 0)), 14*24)
		from := acuity.At(day.AddDate(0, 0, -7)).Hour()
		for i := range list {
			list[i].Hour, list[i].Observed = from+int32(i), true
			if i < 40 || i%5 != 0 {
				continue
			}
			m := learnt(list[i-30:i+1], zone)
			f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(m.Hour)*3_600_000 + 1_799_000, Snapshot: &list[i], Zone: zone})
			if err != nil {
				t.Fatal(err)
			}
			sound(t, &f)
		}
		m := learnt(list, zone)
		sunday := [3]float32{m.Weeks[1], m.Weeks[2], m.Weeks[25]} // 1:00 and 2:00 on Sunday, 1:00 on Monday
		want := [3]float32{2, 1, 2}
		if day.Month() == time.November {
			want = [3]float32{3, 2, 2}
		}
		for i := range want {
			if math.Abs(float64(sunday[i]-want[i])) > .35 {
				t.Errorf("%s: hours seen %v, want about %v", day.Format(time.DateOnly), sunday, want)
			}
		}
	}
}

// TestGap: after thirty hours that were not observed, or for which there are no snapshots, no hour before the gap is
// compared with an hour after it, and the hours in the gap are not learned.
func TestGap(t *testing.T) {
	list := anyUnit(rand.New(rand.NewPCG(9, 0)), 200)
	for i := range list {
		list[i].Observed = i < 100 || i >= 130
	}
	m := learnt(list[:130], nil)
	if len(m.Pending) != 0 || m.Learnt != 100 {
		t.Errorf("%d origins pending, %d hours learnt", len(m.Pending), m.Learnt)
	}
	if n := len(learnt(list[:101], nil).Pending); n != 0 {
		t.Errorf("%d origins pending after one hour that was not observed", n)
	}
	told := slices.Delete(slices.Clone(list), 100, 130) // no snapshots at all for the hours in the gap, as after a failure of svc
	m = learnt(told[:101], nil)
	if len(m.Pending) != 1 || m.Pending[0].Snapshot.Hour != list[130].Hour {
		t.Errorf("%d origins pending after hours that were not told", len(m.Pending))
	}
	m = learnt(list, nil)
	f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(m.Hour) * 3_600_000, Snapshot: &list[199]})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, &f)
}
