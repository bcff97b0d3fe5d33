package verdict

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// TestPastStaffingSurvivesARestart: a batch contains the staffing of past hours. The snapshots that a backfill makes
// for these hours contain that staffing, even if the task is restarted first and a later batch begins another
// backfill.
func TestPastStaffingSurvivesARestart(t *testing.T) {
	l := newLog(t)
	send := func(offset int64, at acuity.Instant, change func(o *acuity.Observation)) {
		t.Helper()
		r := past(t, at, offset, 1)
		o, _, err := schemas.ReadInput(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		change(o)
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		l.apply(stream.Record{Offset: offset, Key: r.Key, Value: value})
		l.commit()
	}
	shift := morning.Add(-12 * time.Hour)
	send(0, morning, func(o *acuity.Observation) {
		o.PastStaffing = []acuity.Staffing{{AsOf: shift, Nurses: 2, Call: acuity.No}, {AsOf: morning.Add(-20 * time.Hour), Nurses: 7, Call: acuity.Yes}}
	})
	l.task.Close()
	l.start()
	later := morning.Add(time.Second)
	send(1, later, func(o *acuity.Observation) { o.Events = o.Events[:1]; o.Events[0].ID = "late" })

	newest := map[int32]*acuity.Snapshot{}
	now := morning.Add(time.Minute)
	for !l.task.Due().After(now.Time()) {
		if err := l.task.Advance(now.Time()); err != nil {
			t.Fatal(err)
		}
		l.commit()
	}
	for _, c := range l.changes() {
		if c.Snapshot != nil {
			newest[c.Snapshot.Hour] = c.Snapshot
		}
	}
	if len(newest) < 20 {
		t.Fatalf("%d hours were cut", len(newest))
	}
	for hour, s := range newest {
		want := "-1 0"
		switch at := acuity.Instant(hour) * 3_600_000; {
		case at >= shift:
			want = "2 1"
		case at >= morning.Add(-20*time.Hour):
			want = "7 2"
		}
		if got := fmt.Sprint(s.Nurses, " ", s.Call); got != want {
			t.Errorf("%d hours before: nurses and call %s, want %s", morning.Hour()-hour, got, want)
		}
	}
}
