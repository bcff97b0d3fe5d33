package verdict

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/stream"
	"svc/schemas"
)

// wards returns census records of many hospitals, each with the given number of rooms.
func wards(t testing.TB, hospitals, rooms int) (records []stream.Record) {
	t.Helper()
	labor, _ := catalogue.FactorByID("labor-standard")
	for n := range hospitals {
		o := acuity.Observation{Hospital: fmt.Sprintf("h%04d", n), ReceivedAt: morning.Add(time.Minute), Channel: acuity.ChannelCensus, Census: &acuity.Census{}}
		for i := range rooms {
			o.Census.Rooms = append(o.Census.Rooms, acuity.CensusRoom{
				ID: int32(i), Label: fmt.Sprint("R", i), Status: acuity.RoomOccupied, Primary: labor, Visit: fmt.Sprint("visit-", i),
			})
		}
		value, err := schemas.EncodeObservation(nil, &o)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, stream.Record{Offset: int64(n), Key: []byte(o.Hospital), Value: value})
	}
	return records
}

// TestHourIsCutInSlices: an hourly snapshot is due at many hospitals at once. The snapshots, exactly one for each
// hospital, are made in slices.
func TestHourIsCutInSlices(t *testing.T) {
	const hospitals = 100
	l := newLog(t)
	for _, r := range wards(t, hospitals, 20) {
		l.apply(r)
	}
	l.commit()
	hour := morning.Add(time.Hour).Time()
	if due := l.task.Due(); !due.Equal(hour.Add(10 * time.Second)) {
		t.Fatalf("due %v", due)
	}
	before, slices := len(l.changes()), 0
	for now := hour.Add(10 * time.Second); !l.task.Due().After(now); slices++ {
		if slices > hospitals {
			t.Fatal("there is no end")
		}
		if err := l.task.Advance(now); err != nil {
			t.Fatal(err)
		}
		l.commit()
	}
	if slices < 3 {
		t.Errorf("all in %d slices", slices)
	}
	cut := map[string]bool{}
	for _, c := range l.changes()[before:] {
		if c.Snapshot == nil || cut[c.Hospital] || len(c.Snapshot.Visits) != 20 {
			t.Fatalf("change %+v", c)
		}
		cut[c.Hospital] = true
	}
	if len(cut) != hospitals {
		t.Errorf("%d hospitals were cut", len(cut))
	}
}

// BenchmarkHour makes the snapshots of one hour for 60 hospitals with 40 rooms each, which is one partition's share of
// 2,700 hospitals. A slice is the work between two polls.
func BenchmarkHour(b *testing.B) {
	t := &testing.T{}
	b.ReportAllocs()
	cut, slices := 0, 0
	var longest time.Duration
	for b.Loop() {
		b.StopTimer()
		l := newLog(t)
		for _, r := range wards(b, 60, 40) {
			l.apply(r)
		}
		l.commit()
		now := morning.Add(time.Hour + 10*time.Second).Time()
		b.StartTimer()
		for !l.task.Due().After(now) {
			began := time.Now()
			if err := l.task.Advance(now); err != nil {
				b.Fatal(err)
			}
			longest = max(longest, time.Since(began))
			slices++
			b.StopTimer()
			l.commit()
			b.StartTimer()
		}
		cut += 60
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(cut), "µs/hospital")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(slices)/1000, "ms/slice")
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-slice")
}
