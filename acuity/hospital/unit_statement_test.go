package hospital

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/registry"
	"svc/acuity/stays"
	"svc/acuity/terminology"
)

// dirtyKeys returns the keys of the dirty records, without the hospital prefix. A minus sign precedes the key of a
// deleted record.
func dirtyKeys(u *State) []string {
	keys := map[string]bool{}
	u.Dirty(func(k []byte, s facts.Record) {
		key := strings.TrimPrefix(string(k), testHospital+"/")
		if s == nil {
			key = "-" + key
		}
		keys[key] = true
	})
	return slices.Sorted(maps.Keys(keys))
}

// Each statement has a separate record. A new statement does not cause older ones to be written again, and the room
// is written only if its factors have changed. After a day, the statements move to the visit and are written once
// more. They are deleted together with the visit.
func TestStatementIsARecord(t *testing.T) {
	category := func(minute int, words string) acuity.Observation {
		return clinicalRequest(clockAt(minute), 1, acuity.Signal{Kind: catalogue.KindDevice, System: codes.LOINC, Code: "32421-5", Value: codes.ParseValue(words)})
	}
	u := New(testHospital)
	feed(u, listing(clockAt(0)), arrival(clockAt(1), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Place: ldr("L1")}), category(2, "Category II"))
	dirtyKeys(u)
	for _, step := range []struct {
		name  string
		input acuity.Observation
		want  []string
	}{
		{"another of the same", category(3, "Category II"), []string{"statement/2", "unit"}},
		{"within minutes: that in the middle goes", category(4, "Category II"), []string{"-statement/2", "statement/3", "unit"}},
		{"it changes what is active", category(5, "Category III"), []string{"room/1", "statement/4", "unit"}},
	} {
		feed(u, step.input)
		if got := dirtyKeys(u); !slices.Equal(got, step.want) {
			t.Errorf("%s: wrote %v, want %v", step.name, got, step.want)
		}
	}
	u.advance(nil, clockAt(0).Add(26*time.Hour))
	feed(u, clinicalRequest(clockAt(0).Add(26*time.Hour), 2))
	got := dirtyKeys(u)
	for _, want := range []string{"statement/1", "statement/3", "statement/4"} {
		if !slices.Contains(got, want) {
			t.Errorf("after a day wrote %v, want also %s", got, want)
		}
	}
	if n := u.registry.Visits["v"].Statements.Len(); n != 3 {
		t.Errorf("the visit has %d statements, want 3", n)
	}
	feed(u, arrival(clockAt(0).Add(27*time.Hour), acuity.Event{ID: "b", Type: acuity.A03, Visit: "v"}))
	feed(u, clinicalRequest(clockAt(0).Add(9*24*time.Hour), 2))
	got = dirtyKeys(u)
	for _, want := range []string{"-statement/1", "-statement/3", "-statement/4", "-visit/v"} {
		if !slices.Contains(got, want) {
			t.Errorf("forgetting wrote %v, want also %s", got, want)
		}
	}
}

// If a visit has more statements than the unit stores for one visit, the unit drops observations that a newer
// observation of the same code supersedes. It never drops a running infusion.
func TestManyObservationsLeaveTheInfusion(t *testing.T) {
	u := New(testHospital)
	bag := magnesium(clockAt(0), acuity.SignalActive)
	bag.Visit, bag.Resource = "v", "bag"
	feed(u, listing(clockAt(-10)), arrival(clockAt(0), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Class: 'I', Place: ldr("L1")}))
	feed(u, acuity.Observation{ReceivedAt: clockAt(1), Channel: acuity.ChannelFHIR, Signals: []acuity.Signal{bag}})
	for n := range 600 {
		s := acuity.Signal{
			Kind: catalogue.KindObservation, System: codes.LOINC, Code: "999-1", Display: "MEWS score", Value: codes.NumberValue(2000, ""),
			Visit: "v", Resource: fmt.Sprint("o", n), ObservedAt: clockAt(n + 2),
		}
		feed(u, acuity.Observation{ReceivedAt: clockAt(n + 2), Channel: acuity.ChannelFHIR, Signals: []acuity.Signal{s}})
	}
	if n := len(u.registry.Visits["v"].ResourceStatements); n > evidence.MaxStatements {
		t.Errorf("%d statements are kept, want at most %d", n, evidence.MaxStatements)
	}
	if !u.roomVerdict(1).Has(cataloguetest.Factor(t, "high-mag")) {
		t.Errorf("the infusion is lost: %+v", u.roomVerdict(1))
	}
}

// The chart counts the waiting cancels and statements. None of them waits longer than a day.
func TestWhatWaitsIsCounted(t *testing.T) {
	u := New(testHospital)
	about := func(visit, patient string) acuity.Signal {
		return acuity.Signal{Kind: catalogue.KindCondition, System: codes.ICD10CM, Code: "O14.13", Visit: visit, Patient: patient, Resource: "c" + visit + patient}
	}
	wrong := acuity.Signal{Resource: "gone", Status: acuity.SignalRetracted}
	waiting := func(cancels, statements int32) {
		t.Helper()
		if c := u.Chart().Unit; c.CancelsWaiting != cancels || c.StatementsWaiting != statements {
			t.Errorf("%d cancels and %d statements wait, want %d and %d", c.CancelsWaiting, c.StatementsWaiting, cancels, statements)
		}
	}
	feed(u, acuity.Observation{ReceivedAt: clockAt(0), Channel: acuity.ChannelFHIR, Signals: []acuity.Signal{about("v", ""), about("", "p"), wrong}})
	waiting(0, 3)
	feed(u, arrival(clockAt(5), acuity.Event{ID: "c", Type: acuity.A12, Visit: "w", Cancels: clockAt(1)}))
	waiting(1, 3)
	feed(u, arrival(clockAt(10), acuity.Event{ID: "a", Type: acuity.A01, Visit: "v", Patient: "p", Class: 'I', Place: ldr("L1")}))
	waiting(1, 1)
	feed(u, arrival(clockAt(25*60), acuity.Event{ID: "b", Type: acuity.A08, Visit: "v"}))
	waiting(0, 0)
	if len(u.names.BySubject) != 0 {
		t.Errorf("%d names are kept", len(u.names.BySubject))
	}
}

// If a sender sends the same statement three times within minutes, the unit drops the second version, even if the
// statements are matched again before the third version arrives.
func TestThinningOutlivesReading(t *testing.T) {
	wrong := acuity.Signal{Kind: catalogue.KindMedication, Resource: "bag", Status: acuity.SignalRetracted}
	coded := acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "X1", Patient: "p", Also: []acuity.Coding{{System: codes.LOINC, Code: "X2", Display: ""}}}
	named := coded
	named.Visit, named.Patient = "v", ""
	learnt := func(u *State) *State {
		feed(u, acuity.Observation{ReceivedAt: clockAt(1), Channel: acuity.ChannelTerminology, Mappings: []acuity.Mapping{{ID: "m", System: codes.LOINC, Code: "X2", Factor: cataloguetest.Factor(t, "high-cardiac")}}})
		return u
	}
	heard := func(minute int, s acuity.Signal) acuity.Observation {
		return acuity.Observation{Hospital: testHospital, ReceivedAt: clockAt(minute), Channel: acuity.ChannelFHIR, Signals: []acuity.Signal{s}}
	}
	kept := func(u *State) (n int) {
		for _, r := range u.names.BySubject {
			n += len(r.Statements)
		}
		for _, v := range u.registry.Visits {
			n += v.Statements.Len()
		}
		return n
	}
	for name, c := range map[string]struct {
		said    acuity.Signal
		between func(u *State) *State
	}{
		"nothing between": {wrong, func(u *State) *State { return u }},
		"all derived anew": {wrong, func(u *State) *State {
			u.registry.Work.Plain = true
			feed(u, acuity.Observation{ReceivedAt: clockAt(1), Channel: acuity.ChannelStaffing})
			return u
		}},
		"restored": {wrong, func(u *State) *State {
			log := changelog{}
			log.write(u)
			return log.restore(t)
		}},
		"readings forgotten": {wrong, func(u *State) *State {
			u.matcher.Signals, u.matcher.Identities = map[uint64]*terminology.MatchedSignal{}, map[terminology.Identity]*terminology.Identity{}
			return u
		}},
		"another coding counts":            {coded, learnt},
		"another coding counts, of a name": {named, learnt},
	} {
		u := New(testHospital)
		feed(u, heard(0, c.said), heard(1, c.said))
		u = c.between(u)
		feed(u, heard(2, c.said))
		if n := kept(u); n != 2 || u.Chart().Unit.StatementsWaiting != 2 {
			t.Errorf("%s: %d are kept and %d counted, want 2", name, n, u.Chart().Unit.StatementsWaiting)
		}
	}
}

// A statement about a room is moved to the visit in that room 24 hours after its receipt, independently of other
// statements. A statement about an occupant without a visit remains in the room.
func TestStatementsAreSettledOneByOne(t *testing.T) {
	const hour = 60
	u := New(testHospital)
	mark := func(room int32, at int) {
		feed(u, clinicalRequest(clockAt(at), room, acuity.Signal{Room: room, Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "env-interpreter"}))
	}
	feed(u, listing(clockAt(0), acuity.CensusRoom{ID: 1, Visit: "v", Status: acuity.RoomOccupied}, acuity.CensusRoom{ID: 2, Status: acuity.RoomOccupied}))
	mark(1, 10)
	mark(2, 11)
	mark(1, 20*hour)
	for _, c := range []struct{ at, settled int }{{23 * hour, 0}, {25 * hour, 1}, {43 * hour, 1}, {45 * hour, 2}} {
		feed(u, acuity.Observation{ReceivedAt: clockAt(c.at), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 3}})
		if n := u.registry.Visits["v"].Statements.Len(); n != c.settled {
			t.Errorf("after %d h: %d statements settled, want %d", c.at/hour, n, c.settled)
		}
	}
	if n := u.registry.Room(1).Statements.Len(); n != 0 {
		t.Errorf("room 1 still has %d statements", n)
	}
	if n := u.registry.Room(2).Statements.Len(); n != 1 || !u.roomVerdict(2).Has(factor("env-interpreter")) {
		t.Errorf("of the occupant of room 2 there are %d statements, and she has %+v", n, u.roomVerdict(2).Factors)
	}
}

// A statement about a room belongs to the mother who was in the room at that time or, if there was none, to the
// newborn who arrived last. Patients who have left the room are ignored.
func TestWhoWasInARoom(t *testing.T) {
	mother, first, last := &registry.Visit{}, &registry.Visit{}, &registry.Visit{}
	first.Timeline.Newborn, last.Timeline.Newborn = true, true
	for name, c := range map[string]struct {
		sits []registry.RoomStay
		want *registry.Visit
	}{
		"nobody":         {[]registry.RoomStay{{V: mother, From: 1, To: 2}, {V: last, From: 4}}, nil},
		"newborns":       {[]registry.RoomStay{{V: first, From: 1}, {V: last, From: 2}}, last},
		"with a mother":  {[]registry.RoomStay{{V: mother, From: 1}, {V: first, From: 1}, {V: last, From: 2}}, mother},
		"the last left":  {[]registry.RoomStay{{V: first, From: 1}, {V: last, From: 2, To: 3}}, first},
		"she comes back": {[]registry.RoomStay{{V: mother, From: 1, To: 2}, {V: first, From: 1}, {V: mother, From: 3}}, mother},
	} {
		if got := stays.OwnerAt((&registry.Room{Stays: c.sits}), 3); got.V != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
