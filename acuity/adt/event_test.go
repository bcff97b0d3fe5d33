package adt

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/codes"
)

// fill sets a value and all its fields to non-zero values.
func fill(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // an event has no other kinds of fields
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(3)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f)
		}
	default:
		panic("an event has a " + v.Kind().String())
	}
}

// An event that is stored and converted back is unchanged, for any combination of fields and any preceding event.
func TestStoredEventIsTheEvent(t *testing.T) {
	whole := acuity.Event{}
	fill(reflect.ValueOf(&whole).Elem())
	whole.Warnings = nil // warnings belong to the request, so an event does not store them
	events := []acuity.Event{whole, {}, whole}
	for i := range reflect.TypeFor[acuity.Event]().NumField() {
		e := acuity.Event{}
		fill(reflect.ValueOf(&e).Elem().Field(i))
		e.Warnings = nil
		without := whole
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		events = append(events, e, e, whole, without)
	}
	for i := range events {
		events[i].Visit = "visit"
	}
	var got []acuity.Event
	for _, e := range store(events) {
		got = e.AppendTo(got, "visit")
	}
	for i := range events {
		if !reflect.DeepEqual(got[i], events[i]) {
			t.Errorf("event %d is\n%+v\nnot\n%+v", i, got[i], events[i])
		}
	}
}

// A hospital has thousands of events, so each event must be small, and equal parts must be stored only once.
func TestStoredEventIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Event{}); size > 88 {
		t.Errorf("an event takes %d bytes", size)
	}
	e := with(event("a", acuity.A08, 0, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "O13.3"))
	e.Patient, e.Prior = "her", e.Place
	list := store([]acuity.Event{e, e})
	a, b := &list[0], &list[1]
	if a.Place != b.Place || b.Prior != a.Place || a.naming != b.naming || &a.Diagnoses[0] != &b.Diagnoses[0] {
		t.Errorf("%+v and %+v share too little", a, b)
	}
	if c := store([]acuity.Event{event("b", acuity.A08, 0, "")})[0]; c.extra != noExtra || c.Place != noLocation {
		t.Errorf("%+v keeps what it does not say", c)
	}
}

// Every order of the events of each visit results in the same timeline.
func TestTimelineInAnyOrder(t *testing.T) {
	for name, c := range visits {
		c.how.SameRoom = testRooms
		want := Build(store(c.events), c.how)
		permute(slices.Clone(c.events), func(events []acuity.Event) {
			if got := Build(store(events), c.how); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: another order tells\n%s\nfor\n%s", name, outline(got), outline(want))
			}
		})
	}
}

// A complete visit of up to seven events has the same timeline in every order of its events (5,040 orders for seven).
func TestTimelineWholeVisitInAnyOrder(t *testing.T) {
	visits := map[string][]acuity.Event{
		"transfer cancelled": {
			event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A01, 60, "LD^1"), with(event("c", acuity.A08, 90, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "O14.13")),
			event("d", acuity.A02, 100, "OR^1"), cancel("e", acuity.A12, 105, 100, "OR^1"), event("f", acuity.A02, 200, "MBU^3"), event("g", acuity.A03, 900, ""),
		},
		"admit cancelled and again": {
			event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A01, 60, "LD^1"), cancel("c", acuity.A11, 65, 60, ""), event("d", acuity.A02, 62, "LD^4"),
			event("d", acuity.A02, 62, "LD^4"), event("e", acuity.A01, 80, "LD^5"), cancel("f", acuity.A13, 70, 66, ""),
		},
		"discharge cancelled, cancels without keys": {
			with(event("a", acuity.A01, 0, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "O13.3", "Z37.0")), event("b", acuity.A02, 30, "MBU^3"),
			event("c", acuity.A03, 40, ""), cancel("d", acuity.A13, 50, -1, ""), cancel("e", acuity.A12, 60, -1, ""), event("f", acuity.A02, 70, "MBU^4"),
			with(event("g", acuity.A08, 80, ""), withCodes(acuity.DiagnosisDelta, "O72.1")),
		},
	}
	for name, events := range visits {
		t.Run(name, func(t *testing.T) {
			how := Options{SameRoom: testRooms}
			want := Build(store(events), how)
			primary := want.Primary(asSent, 0, false)
			permute(slices.Clone(events), func(events []acuity.Event) {
				got := Build(store(events), how)
				if outline(got) != outline(want) || !reflect.DeepEqual(got.Diagnoses, want.Diagnoses) || got.Primary(asSent, 0, false) != primary {
					t.Fatalf("another order tells\n%s\nfor\n%s", outline(got), outline(want))
				}
			})
		})
	}
}

// permute calls f with every order of events.
func permute(events []acuity.Event, f func([]acuity.Event)) {
	var next func(n int)
	next = func(n int) {
		if n <= 1 {
			f(events)
			return
		}
		for i := range n {
			next(n - 1)
			if n%2 == 0 {
				events[i], events[n-1] = events[n-1], events[i]
			} else {
				events[0], events[n-1] = events[n-1], events[0]
			}
		}
	}
	next(len(events))
}

// withCodes returns a function that adds ICD-10-CM diagnoses to an event.
func withCodes(mode acuity.DiagnosisMode, list ...string) func(*acuity.Event) {
	return func(e *acuity.Event) {
		e.DiagnosisMode = mode
		for _, c := range list {
			e.Diagnoses = append(e.Diagnoses, acuity.Diagnosis{System: codes.ICD10CM, Code: c})
		}
	}
}

// anyEvents draws the events of a visit, with conflicting times and keys.
func anyEvents(t *rapid.T) []acuity.Event {
	types := []acuity.EventType{acuity.A01, acuity.A02, acuity.A02, acuity.A03, acuity.A04, acuity.A06, acuity.A08, acuity.A08, acuity.A11, acuity.A12, acuity.A13}
	places := []string{"", "TRI^1", "LD^1", "LD^2", "OR^1", "MBU^1"}
	n := rapid.IntRange(0, 9).Draw(t, "n")
	var events []acuity.Event
	for i := range n {
		e := event(fmt.Sprint(i), rapid.SampledFrom(types).Draw(t, "type"), rapid.IntRange(0, 6).Draw(t, "at"),
			rapid.SampledFrom(places).Draw(t, "place"))
		e.RecordedAt = e.At + acuity.Instant(rapid.IntRange(-1, 2).Draw(t, "recorded")*60_000)
		e.ReceivedAt = e.At + acuity.Instant(rapid.IntRange(-1, 3).Draw(t, "received")*60_000)
		e.Class = rapid.SampledFrom([]byte{0, 0, 'I', 'O'}).Draw(t, "class")
		e.Newborn = rapid.IntRange(0, 4).Draw(t, "newborn") == 0
		e.AdmissionType = rapid.SampledFrom([]byte{0, 0, 'L', 'R'}).Draw(t, "admission type")
		if IsCancel(e.Type) {
			e.Prior = spot(rapid.SampledFrom(places).Draw(t, "prior"))
			if rapid.Bool().Draw(t, "keyed") {
				e.Cancels = minute(rapid.IntRange(0, 6).Draw(t, "key"))
			}
		}
		switch rapid.IntRange(0, 4).Draw(t, "diagnoses") {
		case 0:
			withCodes(acuity.DiagnosisSnapshot, rapid.SampledFrom([]string{"O13.3", "Z37.0", "O82"}).Draw(t, "code"))(&e)
		case 1:
			withCodes(acuity.DiagnosisDelta, "O14.10")(&e)
			e.Diagnoses[0].Delete = rapid.Bool().Draw(t, "delete")
		}
		events = append(events, e)
	}
	if n > 0 && rapid.Bool().Draw(t, "again") {
		again := events[rapid.IntRange(0, n-1).Draw(t, "which")]
		again.ReceivedAt += 1
		if again.ReceivedAt > again.At+1 { // if the copy were received earlier, it would count at its time of receipt
			events = append(events, again)
		}
	}
	return events
}

func TestTimelineOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		how := Options{SameRoom: testRooms, TrustA08: rapid.Bool().Draw(t, "trust")}
		want := Build(store(events), how)
		shuffled := slices.Clone(events)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := Build(store(shuffled), how); !reflect.DeepEqual(got, want) {
			t.Fatalf("another order tells\n%s\nfor\n%s", outline(got), outline(want))
		}
	})
}

// facts formats a timeline without the dispositions of its events.
func facts(s Timeline) string {
	s.Events = nil
	return fmt.Sprintf("%s %+v %v %v", outline(s), s.Diagnoses, s.Birth, s.Cesarean)
}

func TestTimelineReplayChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		how := Options{SameRoom: testRooms}
		once, twice := Build(store(events), how), Build(store(append(slices.Clone(events), events...)), how)
		if facts(once) != facts(twice) || once.Primary(asSent, 0, false) != twice.Primary(asSent, 0, false) {
			t.Fatalf("twice tells\n%s\nfor\n%s", outline(twice), outline(once))
		}
	})
}

// A transfer and its cancel, or an admission and its cancel, leave the visit unchanged, including the clock of the
// primary factor (docs/decisions.md#primary-clock).
func TestTimelineCancelRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := slices.DeleteFunc(anyEvents(t), func(e acuity.Event) bool { return IsCancel(e.Type) })
		for i := range events {
			events[i].RecordedAt, events[i].ReceivedAt = events[i].At, events[i].At+1
		}
		kind, undo := acuity.A02, acuity.A12
		if rapid.Bool().Draw(t, "admit") {
			kind, undo = acuity.A01, acuity.A11
		}
		how := Options{SameRoom: testRooms}
		at := rapid.IntRange(20, 30).Draw(t, "at") // later than every event drawn above, so that none of them depends on the added event
		place := rapid.SampledFrom([]string{"LD^9", "OR^1", "MBU^8"}).Draw(t, "place")
		repeats := func(e acuity.Event) bool { l := spot(place); return e.Type == kind && testRooms(&e.Place, &l) }
		if kind == acuity.A01 && slices.ContainsFunc(events, repeats) {
			return // the cancel also applies to the admission that the added one repeats (docs/decisions.md#cancelled-admit)
		}
		key := at
		if rapid.Bool().Draw(t, "without key") {
			key = -1
		}
		before := Build(store(events), how)
		after := Build(store(append(slices.Clone(events), event("x", kind, at, place), cancel("y", undo, at+2, key, place))), how)
		if facts(before) != facts(after) || before.Primary(asSent, 0, false) != after.Primary(asSent, 0, false) {
			t.Fatalf("cancelled event left\n%s\nfor\n%s", outline(after), outline(before))
		}
	})
}
