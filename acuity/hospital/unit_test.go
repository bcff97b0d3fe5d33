package hospital

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
	"svc/acuity/score"
)

const testHospital = "st-test"

// day is the instant at which the tests start.
var day = acuity.At(time.Date(2026, 3, 4, 8, 0, 0, 0, time.UTC))

// clockAt returns the instant n minutes after day.
func clockAt(n int) acuity.Instant { return day.Add(time.Duration(n) * time.Minute) }

// feed applies observations to a unit, and runs the steps that are due between them.
func feed(u *State, list ...acuity.Observation) []acuity.Change {
	var changes []acuity.Change
	for i := range list {
		list[i].Hospital = testHospital
		changes = u.advance(changes, list[i].ReceivedAt)
		changes = append(changes, u.Apply(&list[i], u.registry.Facts.Offset+1))
	}
	return changes
}

// advance runs all steps that are due by now, and returns the given changes followed by the changes of these steps.
func (u *State) advance(changes []acuity.Change, now acuity.Instant) []acuity.Change {
	for {
		c, more := u.Advance(now)
		if !more {
			return changes
		}
		changes = append(changes, c)
	}
}

// clinicalRequest returns the observation for a clinical request about one room.
func clinicalRequest(at acuity.Instant, room int32, signals ...acuity.Signal) acuity.Observation {
	for i := range signals {
		signals[i].Room = room
	}
	return acuity.Observation{ReceivedAt: at, Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: room}, Signals: signals}
}

// arrival returns an observation with one ADT event.
func arrival(at acuity.Instant, e acuity.Event) acuity.Observation {
	if e.At == 0 {
		e.At = at
	}
	return acuity.Observation{ReceivedAt: at, Channel: acuity.ChannelADT, Events: []acuity.Event{e}}
}

func magnesium(at acuity.Instant, status acuity.SignalStatus) acuity.Signal {
	return acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", Display: "magnesium sulfate", StartedAt: at, Status: status}
}

func last(changes []acuity.Change) acuity.Change { return changes[len(changes)-1] }

func ids(list []acuity.FactorChange) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Factor.ID())
	}
	return out
}

func TestMagnesiumSteps(t *testing.T) {
	u := New(testHospital)
	c := last(feed(u, clinicalRequest(clockAt(0), 4, magnesium(clockAt(0), acuity.SignalActive))))
	if got := ids(c.Activated); len(got) != 1 || got[0] != "high-mag" {
		t.Fatalf("activated %v, want high-mag", got)
	}
	if len(c.Effects) != 1 || c.Effects[0].RoomID != 4 || c.Effects[0].Color != acuity.ColorOrange || c.Effects[0].Score != 50 {
		t.Fatalf("effects %+v, want room 4 orange with 50", c.Effects)
	}
	if c.Version != 1 || c.Outcome != acuity.Applied || len(c.Active) != 1 {
		t.Errorf("change %+v", c)
	}
	if due := u.Due(); due != clockAt(60) {
		t.Fatalf("due %v, want an hour later", due.Time())
	}
	if _, more := u.Advance(clockAt(60) - 1); more {
		t.Error("advanced before the hour")
	}
	step, more := u.Advance(clockAt(61))
	if !more || step.AppliedAt != clockAt(60) || step.Outcome != acuity.Time || step.Cause != acuity.CauseTime || len(step.Effects) != 0 {
		t.Errorf("step %+v", step)
	}
	if rv := u.roomVerdict(4); rv.Score != 40 || rv.Demand != 30 {
		t.Errorf("room %+v, want 40 and half a nurse", rv)
	}
	c = last(feed(u, clinicalRequest(clockAt(90), 4, magnesium(clockAt(0), acuity.SignalEnded))))
	if got := ids(c.Expired); len(got) != 1 || got[0] != "high-mag" {
		t.Fatalf("expired %v, want high-mag", got)
	}
	if len(c.Effects) != 1 || c.Effects[0].Color != acuity.ColorGray || c.Effects[0].PriorColor != acuity.ColorOrange {
		t.Fatalf("effects %+v, want orange to gray", c.Effects)
	}
}

func TestVisitTakesItsEvidenceAlong(t *testing.T) {
	place := func(room string) acuity.Location { return acuity.Location{PointOfCare: "LDR", Room: room} }
	u := New(testHospital)
	c := last(feed(u, arrival(clockAt(0), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v1", Class: 'I', Place: place("L1")})))
	if len(c.Items) != 1 || !c.Items[0].HasRoom {
		t.Fatalf("items %+v", c.Items)
	}
	first := c.Items[0].RoomID
	feed(u, clinicalRequest(clockAt(5), first, magnesium(clockAt(5), acuity.SignalActive)))
	c = last(feed(u, arrival(clockAt(10), acuity.Event{ID: "b", Type: acuity.A02, Visit: "v1", Place: place("L2")})))
	second := c.Items[0].RoomID
	if second == first {
		t.Fatal("did not move")
	}
	if rv := u.roomVerdict(second); !rv.Has(cataloguetest.Factor(t, "high-mag")) || !rv.Has(cataloguetest.Factor(t, "labor-standard")) {
		t.Errorf("second room %+v", rv)
	}
	if rv := u.roomVerdict(first); rv.Status != acuity.RoomEmpty || len(rv.Factors) != 0 {
		t.Errorf("first room %+v", rv)
	}
	c = last(feed(u, arrival(clockAt(20), acuity.Event{ID: "b", Type: acuity.A02, Visit: "v1", Place: place("L2")})))
	if c.Outcome != acuity.Duplicate || !c.Items[0].HasRoom || c.Items[0].RoomID != second {
		t.Errorf("outcome %v, items %+v, want a duplicate and the second room", c.Outcome, c.Items)
	}
}

func (u *State) roomVerdict(id int32) *score.RoomVerdict {
	_, rv := u.scoring.verdicts(u.registry.Room(id))
	return rv
}
