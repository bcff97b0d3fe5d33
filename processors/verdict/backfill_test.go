package verdict

import (
	"fmt"
	"math"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// past returns a batch record with the events of a small unit in the days before an instant.
func past(t testing.TB, until acuity.Instant, offset int64, days int) stream.Record {
	t.Helper()
	o := acuity.Observation{Hospital: "north", ReceivedAt: until, Channel: acuity.ChannelBatch}
	for n := range days * 24 {
		at := until.Add(time.Duration(n-days*24) * time.Hour)
		e := acuity.Event{ID: fmt.Sprint("in-", n), Type: acuity.A01, At: at, Visit: fmt.Sprint("visit-", n), Class: 'I', Place: acuity.Location{PointOfCare: "LDR", Room: fmt.Sprint("R", n%40)}}
		o.Events = append(o.Events, e)
		if out := at.Add(30 * time.Hour); out < until {
			o.Events = append(o.Events, acuity.Event{ID: fmt.Sprint("out-", n), Type: acuity.A03, At: out, Visit: e.Visit})
		}
	}
	value, err := schemas.EncodeObservation(nil, &o)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{Offset: offset, Key: []byte(o.Hospital), Value: value}
}

// TestPastIsToldInSlices: a task that restarts during a backfill has replayed all earlier events by the end of the
// restore. A late event with an earlier time makes the backfill replay its events again, in several slices, none of
// which costs much more than a slice before the restart.
func TestPastIsToldInSlices(t *testing.T) {
	const days = 20
	l := newLog(t)
	l.apply(past(t, morning, 0, days))
	l.commit()
	north := func() (*task, *hospitalEntry) {
		on, ok := l.task.(*task)
		if !ok {
			t.Fatal("another task")
		}
		return on, on.hospitals["north"]
	}
	now := morning.Add(time.Minute)
	hours, most := 0, 0
	slice := func() {
		t.Helper()
		before := len(l.changes())
		if err := l.task.Advance(now.Time()); err != nil {
			t.Fatal(err)
		}
		l.commit()
		on, _ := north()
		most = max(most, on.weight)
		for _, c := range l.changes()[before:] {
			if c.Snapshot != nil {
				hours++
			}
		}
	}
	for hours < days*12 {
		slice()
	}
	usual := most

	l.task.Close()
	l.start()
	if _, h := north(); h.unit.Due() > now {
		t.Fatal("no backfill goes on")
	}
	if _, h := north(); true {
		if applied, there := h.unit.Recall(math.MaxInt64, 1); applied != 0 || !there {
			t.Errorf("after the restart %d events are left to tell, at least", applied)
		}
	}

	late := acuity.Observation{Hospital: "north", ReceivedAt: l.changes()[len(l.changes())-1].AppliedAt, Channel: acuity.ChannelADT, Events: []acuity.Event{
		{ID: "late", Type: acuity.A01, At: morning.Add(-50 * time.Hour), Visit: "late", Class: 'I', Place: acuity.Location{PointOfCare: "LDR", Room: "R1"}},
	}}
	value, err := schemas.EncodeObservation(nil, &late)
	if err != nil {
		t.Fatal(err)
	}
	l.apply(stream.Record{Offset: 1, Key: []byte("north"), Value: value})
	l.commit()
	most = 0
	before, empty := hours, 0
	for !l.task.Due().After(now.Time()) {
		if slice(); hours == before {
			empty++
		}
	}
	if empty == 0 {
		t.Error("all was told again in one slice")
	}
	if most > usual+recallAtOnce*eventWeight {
		t.Errorf("a slice of weight %d, usually at most %d", most, usual)
	}
	if want := days*24 - 1; hours < want {
		t.Errorf("%d hours were cut, want %d", hours, want)
	}
}
