package hospital

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/score"
)

// Any permutation of the events of a mother and her newborn results in the same chart and the same verdict, even if
// all events are sent a second time.
func TestOrderOfEventsMeansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: clockAt(600)}
		var events []acuity.Event
		for range rapid.IntRange(2, 7).Draw(t, "events") {
			e := w.event()
			e.Account = ""
			switch {
			case e.Newborn:
				e.Visit, e.ByPatient = "b1", false
			case e.ByPatient:
				e.Visit, e.Patient = "of p1", "p1"
			default:
				e.Visit, e.Patient = "v1", "p1"
			}
			e.ID = fmt.Sprint("e", len(events))
			events = append(events, e)
		}
		rooms := w.census()
		rooms.AsOf = clockAt(500)
		signals := []acuity.Signal{w.signal(1), w.signal(2)}
		play := func(order []acuity.Event) *State {
			u := New(testHospital)
			feed(u, acuity.Observation{ReceivedAt: clockAt(500), Channel: acuity.ChannelCensus, Census: rooms})
			feed(u, acuity.Observation{ReceivedAt: w.now, Channel: acuity.ChannelClinical, Signals: signals})
			for _, e := range order {
				feed(u, acuity.Observation{ReceivedAt: w.now, Channel: acuity.ChannelADT, Events: []acuity.Event{e}})
			}
			return u
		}
		first := play(events)
		other := rapid.Permutation(events).Draw(t, "order")
		sameEnd(t, "another order", first, play(other))
		sameEnd(t, "sent again", play(events), play(append(events, other...)))
	})
}

// sameEnd fails the test unless both units have equal verdicts and equal charts. It ignores versions, the times of
// the last changes and the run of the level. It first calls the functions in the last argument, which clear other
// parts of the charts that may differ.
func sameEnd(t *rapid.T, what string, a, b *State, but ...func(*acuity.Chart)) {
	end := func(u *State) (chart, verdict string) {
		c, v := *u.Chart(), u.scoring.verdict
		c.Unit.Version, v.Version = 0, 0 // versions depend on the order
		c.Unit.Since, v.AsOf = 0, 0
		c.Unit.Run, v.Run = acuity.LevelRun{}, acuity.LevelRun{}
		for _, leave := range but {
			leave(&c)
		}
		return rendered(&c), shown(v)
	}
	chart, verdict := end(a)
	otherChart, otherVerdict := end(b)
	if chart != otherChart {
		t.Fatalf("%s: charts differ\n%s", what, difference(chart, otherChart))
	}
	if verdict != otherVerdict {
		t.Fatalf("%s: verdicts differ\n%s", what, difference(verdict, otherVerdict))
	}
}

// Facts from ADT, FHIR, signals and a census about several visits in the same rooms give the same result in any order,
// even if some of them are repeated.
func TestOrderOfMixedFeedsMeansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: clockAt(600)}
		ages := rapid.Permutation(ages()).Draw(t, "ages")
		own := func() acuity.Instant { // returns a time for one fact only: between equal times, the order of arrival would decide
			age := ages[0]
			ages = ages[1:]
			return w.now.Add(-age)
		}
		var list []acuity.Observation
		for i := range rapid.IntRange(2, 15).Draw(t, "observations") {
			o := acuity.Observation{ReceivedAt: w.now, Channel: acuity.ChannelFHIR, Source: "key"}
			switch pick(t, "kind", 'a', 'a', 'a', 's', 'e', 'r', 'r') {
			case 'a':
				o.Channel, o.Events = acuity.ChannelADT, []acuity.Event{w.event()}
			case 's':
				s := w.signal(pick(t, "room", int32(1), 2, 7))
				s.ObservedAt, s.Visit = own(), ""
				if pick(t, "received", 'n', 'o') == 'o' { // the census below may be newer
					o.ReceivedAt = s.ObservedAt
				}
				o.Channel, o.Room, o.Signals = acuity.ChannelClinical, &acuity.RoomRef{ID: s.Room}, []acuity.Signal{s}
			case 'e':
				o.Events = w.encounter()
				at := own()
				for n := range o.Events {
					e := &o.Events[n]
					e.ID, e.UpdatedAt = fmt.Sprint("version ", i, n), at
					identify(e)
				}
			case 'r':
				s := w.resource()
				s.ObservedAt, s.UpdatedAt = own(), own()
				if s.Patient == "p2" && s.Subject != "" {
					s.Subject = "ref P2"
				}
				o.Signals = []acuity.Signal{s}
			}
			list = append(list, o)
		}
		rooms := []acuity.CensusRoom{
			{ID: 1, Label: "L1", Area: "LDR", Status: acuity.RoomEmpty},
			{ID: 2, Label: "L2", Area: "LDR", Status: acuity.RoomEmpty},
			{ID: 7, Label: "L7", Status: acuity.RoomEmpty},
		}
		if pick(t, "late census", false, true) {
			list = append(list, acuity.Observation{ReceivedAt: w.now, Channel: acuity.ChannelCensus, Census: &acuity.Census{AsOf: own(), TotalRooms: 6, Rooms: rooms[:pick(t, "rows", 1, 2, 3)]}})
		}
		play := func(order []acuity.Observation) *State {
			u := New(testHospital)
			feed(u, acuity.Observation{ReceivedAt: clockAt(100), Channel: acuity.ChannelCensus, Census: &acuity.Census{AsOf: clockAt(100), TotalRooms: 6, Rooms: rooms}})
			for _, o := range order {
				feed(u, o)
			}
			return u
		}
		other := rapid.Permutation(list).Draw(t, "order")
		counted := func(c *acuity.Chart) { // repeated statements count each time, and a fact is observed no later than the clock
			c.Unit.StatementsWaiting, c.Unit.ObservedAt = 0, 0
		}
		sameEnd(t, "another order", play(list), play(other), counted)
		sameEnd(t, "sent again", play(list), play(slices.Concat(list, other)), counted)
	})
}

// A patient is transferred and discharged at the time of receipt. The readmission is dated in the future, so it
// counts at the time of receipt too, and the visit has two stays with the same start. Canceling the transfer removes
// only the first stay, whether the cancel arrives before or after the readmission.
func TestCancelOfStayWithTheStartOfAnother(t *testing.T) {
	now := clockAt(600)
	event := func(id string, kind acuity.EventType, at acuity.Instant) acuity.Observation {
		e := acuity.Event{ID: id, Digest: "d", Type: kind, At: at, Visit: "v1", Patient: "p1", Place: acuity.Location{PointOfCare: "LDR", Room: "L1"}}
		if kind == acuity.A12 {
			e.Cancels = now
		}
		return acuity.Observation{ReceivedAt: now, Channel: acuity.ChannelADT, Source: "key", Events: []acuity.Event{e}}
	}
	there, away := event("e1", acuity.A02, now), event("e2", acuity.A03, now)
	back, cancel := event("e3", acuity.A01, now.Add(time.Minute)), event("e4", acuity.A12, now)
	for name, order := range map[string][]acuity.Observation{"cancel last": {there, away, back, cancel}, "cancel before": {there, away, cancel, back}} {
		u := New(testHospital)
		feed(u, acuity.Observation{ReceivedAt: clockAt(100), Channel: acuity.ChannelCensus, Census: &acuity.Census{AsOf: clockAt(100), TotalRooms: 1, Rooms: []acuity.CensusRoom{{ID: 1, Label: "L1", Area: "LDR", Status: acuity.RoomEmpty}}}})
		for _, o := range order {
			feed(u, o)
		}
		if r := u.Chart().Rooms; len(r) != 1 || r[0].Status != acuity.RoomOccupied || len(r[0].Patients) != 1 {
			t.Errorf("%s: rooms %+v", name, r)
		}
	}
}

// If a census reports the area of a room, the area also applies to a patient whom ADT placed in that room before the
// census, even if the room was already known.
func TestAreaOfRoomCountsForWhoIsThere(t *testing.T) {
	unit, plain := New(testHospital), New(testHospital)
	plain.registry.Work.Plain = true
	for _, o := range []acuity.Observation{
		{ReceivedAt: clockAt(100), Channel: acuity.ChannelCensus, Census: &acuity.Census{AsOf: clockAt(100), TotalRooms: 2, Rooms: []acuity.CensusRoom{{ID: 1, Label: "L1", Status: acuity.RoomEmpty}}}},
		{ReceivedAt: clockAt(200), Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: 2}, Signals: []acuity.Signal{{Room: 2, Kind: catalogue.KindObservation, Code: "X1", ObservedAt: clockAt(190)}}},
		{ReceivedAt: clockAt(300), Channel: acuity.ChannelADT, Events: []acuity.Event{{ID: "e1", Digest: "d", Type: acuity.A01, At: clockAt(300), Visit: "v1", Patient: "p1", Class: 'O', Place: acuity.Location{HasRoomID: true, RoomID: 2}}}},
		{ReceivedAt: clockAt(400), Channel: acuity.ChannelCensus, Census: &acuity.Census{AsOf: clockAt(400), TotalRooms: 2, Rooms: []acuity.CensusRoom{{ID: 1, Label: "L1", Status: acuity.RoomEmpty}, {ID: 2, Label: "L2", Area: "LDR", Status: acuity.RoomOccupied}}}},
	} {
		feed(unit, o)
		feed(plain, o)
	}
	if got, want := rendered(unit.Chart()), rendered(plain.Chart()); got != want {
		t.Error(difference(got, want))
	}
}

// ages returns 60 distinct durations, from 0 to 59 minutes, which tests subtract from the current time.
func ages() []time.Duration {
	list := make([]time.Duration, 60)
	for i := range list {
		list[i] = time.Duration(i) * time.Minute
	}
	return list
}

// identify gives all versions of an Encounter the same visit and patient. A retraction names the visit only by the
// Encounter's reference.
func identify(e *acuity.Event) {
	e.Subject = "ref P1"
	switch e.Resource {
	case "E1":
		e.Visit = "v1"
	case "E2":
		e.Visit, e.Patient, e.Subject = "v2", "p2", "ref P2"
	default:
		e.Visit = e.Encounter
	}
	if e.Void {
		e.Visit = e.Encounter
	}
	if e.Patient != "p1" && e.Resource != "E2" {
		e.Patient = e.Subject
	}
}

// If a transfer, an admission or a discharge is canceled, the rooms are the same as before that event, including
// their clocks (invariant 4).
func TestCancelGivesBackWhatWas(t *testing.T) {
	admit := arrival(clockAt(0), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")})
	tests := map[string]struct{ before, between []acuity.Observation }{
		"transfer": {
			before: []acuity.Observation{listing(clockAt(-10)), admit},
			between: []acuity.Observation{
				arrival(clockAt(30), acuity.Event{ID: "b", Type: acuity.A02, Visit: "v", Place: acuity.Location{PointOfCare: "OBOR", Room: "OR1"}}),
				arrival(clockAt(40), acuity.Event{ID: "c", Type: acuity.A12, Visit: "v", Cancels: clockAt(30), Place: ldr("L1")}),
			},
		},
		"admit": {
			before: []acuity.Observation{listing(clockAt(-10))},
			between: []acuity.Observation{
				admit,
				arrival(clockAt(10), acuity.Event{ID: "c", Type: acuity.A11, Visit: "v", Cancels: clockAt(0)}),
			},
		},
		"discharge": {
			before: []acuity.Observation{listing(clockAt(-10)), admit, clinicalRequest(clockAt(5), 1, magnesium(clockAt(5), acuity.SignalActive))},
			between: []acuity.Observation{
				arrival(clockAt(30), acuity.Event{ID: "d", Type: acuity.A03, Visit: "v"}),
				arrival(clockAt(40), acuity.Event{ID: "c", Type: acuity.A13, Visit: "v", Cancels: clockAt(30)}),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := New(testHospital)
			feed(u, tc.before...)
			before := rendered(u.Chart().Rooms)
			feed(u, tc.between...)
			if after := rendered(u.Chart().Rooms); after != before {
				t.Errorf("rooms differ\n%s", difference(before, after))
			}
		})
	}
}

// No displayed value changes before the instant that Due returns (invariant 3).
func TestNothingChangesBeforeItIsDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: day}
		u := New(testHospital)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			o := w.next()
			feed(u, o)
			due := u.Due()
			if due == 0 {
				continue
			}
			now := u.registry.Facts.Clock
			at := now + acuity.Instant(rapid.Int64Range(0, int64(due-now-1)).Draw(t, "at"))
			if x, y := shown(u.scoring.verdict), shown(score.Judge(u.Chart(), at)); x != y {
				t.Fatalf("changed at %v, due %v\n%s", at, due, difference(x, y))
			}
		}
	})
}

// If a visit gets more events and signals than a unit may store, the unit's records remain below the size limit, and
// new events still take effect.
func TestRecordsStaySmall(t *testing.T) {
	u := New(testHospital)
	feed(u, listing(clockAt(0)))
	for n := range 450 {
		e := acuity.Event{ID: fmt.Sprintf("%064d", n), Type: acuity.A02, Visit: "v", Patient: fmt.Sprintf("%064d", 1), Place: ldr(fmt.Sprint("L", n%2+1))}
		if n == 0 {
			e.Type, e.DiagnosisMode, e.Diagnoses = acuity.A01, acuity.DiagnosisSnapshot, []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O14.13"}}
		}
		c := last(feed(u, arrival(clockAt(n+1), e)))
		if c.Outcome != acuity.Applied || len(c.Items) != 1 || c.Items[0].RoomID != int32(n%2+1) {
			t.Fatalf("event %d: %+v", n, c)
		}
		s := acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: fmt.Sprint("C", n), Display: "eighty characters would be the most that a display may have, this has fewer"}
		feed(u, clinicalRequest(clockAt(n+1), 1, s))
	}
	feed(u, arrival(clockAt(3000), acuity.Event{ID: "late", Type: acuity.A08, Visit: "v"}))
	if got := occupants(u, 2); len(got) != 1 || !u.roomVerdict(2).Has(cataloguetest.Factor(t, "high-preeclampsia")) {
		t.Errorf("room 2 has %v, %+v", got, u.roomVerdict(2))
	}
	records := 0
	u.Dirty(func(key []byte, s facts.Record) {
		records++
		if n := len(rendered(s)); n > 4*64<<10 { // JSON with all field names; the wire format needs a quarter
			t.Errorf("%s takes %d bytes", key, n)
		}
	})
	if v := u.registry.Visits["v"]; len(v.Events) > capEvents || v.Folded == 0 || v.Statements.Len() > evidence.MaxStatements+16 {
		t.Errorf("%d events, %d folded, %d signals", len(v.Events), v.Folded, v.Statements.Len())
	}
	if records == 0 {
		t.Error("nothing was written")
	}
}
