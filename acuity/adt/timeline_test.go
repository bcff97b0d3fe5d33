package adt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
)

// minute returns the instant n minutes after the reference time of the tests.
func minute(n int) acuity.Instant { return acuity.Instant(1_772_600_000_000 + n*60_000) }

// event returns an event that was received a minute after it occurred.
func event(id string, kind acuity.EventType, at int, place string) acuity.Event {
	e := acuity.Event{
		ID: id, Type: kind, At: minute(at), RecordedAt: minute(at), ReceivedAt: minute(at + 1),
		Visit: "v1", Patient: "p1", Place: spot(place), Feed: acuity.ChannelHL7,
	}
	return e
}

// spot parses a location such as "OBTRI^T02^01".
func spot(s string) acuity.Location {
	parts := append(strings.Split(s, "^"), "", "")
	return acuity.Location{PointOfCare: parts[0], Room: parts[1], Bed: parts[2]}
}

// cancel returns a cancel with the event time minute(at) for the event at minute(key). If key is negative, the cancel
// does not name the time of the event to cancel.
func cancel(id string, kind acuity.EventType, at, key int, place string) acuity.Event {
	e := event(id, kind, at, "")
	e.Cancels = minute(key)
	if key < 0 {
		e.Cancels = 0
	}
	if kind == acuity.A12 {
		e.Prior = spot(place)
	} else {
		e.Place = spot(place)
	}
	return e
}

func preadmitted(e *acuity.Event) { e.Class = 'P' }

func with(e acuity.Event, change func(*acuity.Event)) acuity.Event {
	change(&e)
	return e
}

// store returns events in the form in which a visit stores them.
func store(events []acuity.Event) []Event {
	return StoreEvents(events)
}

// testRooms compares rooms by point of care and room, regardless of the bed.
func testRooms(a, b *acuity.Location) bool {
	return a.PointOfCare == b.PointOfCare && a.Room == b.Room && a.Room != ""
}

// asSent returns what is known about a location for which the hospital has no mapping.
func asSent(l *acuity.Location) *CachedPlace {
	return &CachedPlace{Place: Place{PointOfCare: l.PointOfCare, Label: cmp.Or(l.Label, l.Room)}}
}

// outline returns a short form of a timeline: its stays, its class, its moves, whether it is open,
// and the dispositions of the events.
func outline(s Timeline) string {
	var b strings.Builder
	for _, p := range s.Stays {
		name := p.Place().Room
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(&b, "%s %s ", name, since(p.From))
		if p.To != 0 {
			fmt.Fprintf(&b, "to %s ", since(p.To))
		}
	}
	if !s.Open {
		b.WriteString("closed ")
	}
	if s.Class != 0 {
		fmt.Fprintf(&b, "class %c ", s.Class)
	}
	fmt.Fprintf(&b, "moves %d", len(s.Moves))
	if len(s.Waiting) > 0 {
		fmt.Fprintf(&b, " waiting %d", len(s.Waiting))
	}
	for _, t := range s.Events {
		if r := t.Disposition.Reason(); r != "" {
			fmt.Fprintf(&b, " %s:%s", t.Event.ID, r)
		}
		if t.Remarks != 0 {
			fmt.Fprintf(&b, " %s!%s", t.Event.ID, strings.Join(t.Remarks.Codes(), ","))
		}
	}
	return b.String()
}

func since(i acuity.Instant) string { return fmt.Sprint(int(i-minute(0)) / 60_000) }

var visits = map[string]struct {
	events []acuity.Event
	how    Options
	want   string
}{
	"nothing": {want: "closed moves 0"},
	"admit":   {events: []acuity.Event{event("a", acuity.A01, 0, "LD^1")}, want: "1 0 class I moves 1"},
	"register then admit is a conversion, and two moves (R11, R12)": {
		events: []acuity.Event{event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A01, 60, "LD^1")},
		want:   "2 0 to 60 1 60 class I moves 2",
	},
	"transfer and discharge": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 60, "MBU^3"), event("c", acuity.A03, 120, "MBU^3")},
		want:   "1 0 to 60 3 60 to 120 closed class I moves 3",
	},
	"same room": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1^A"), event("b", acuity.A02, 60, "LD^1^B")},
		want:   "1 0 class I moves 1 b:same_room",
	},
	"transfer first opens (R5)": {events: []acuity.Event{event("a", acuity.A02, 0, "LD^1")}, want: "1 0 class I moves 1"},
	"transfer after discharge (R5)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 10, ""), event("c", acuity.A02, 20, "MBU^3")},
		want:   "1 0 to 10 closed class I moves 2 c:transfer_after_discharge c!transfer_after_discharge",
	},
	"update alone keeps facts only (R5)": {
		events: []acuity.Event{with(event("a", acuity.A08, 0, "LD^1"), func(e *acuity.Event) { e.Class = 'I' })},
		want:   "closed class I moves 0",
	},
	"trusted update places": {
		events: []acuity.Event{event("a", acuity.A08, 0, "LD^1"), event("b", acuity.A08, 9, "LD^2")},
		how:    Options{TrustA08: true}, want: "1 0 to 9 2 9 moves 0",
	},
	"update never moves": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A08, 5, "LD^2")},
		want:   "1 0 class I moves 1 b!place_differs",
	},
	"null place (P6)": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A08, 5, ""), func(e *acuity.Event) { e.PlaceNull = true }),
			with(event("c", acuity.A02, 9, ""), func(e *acuity.Event) { e.PlaceNull = true }),
		},
		want: "1 0 to 9 - 9 class I moves 2 b!place_differs",
	},
	"admit without place is unplaced": {events: []acuity.Event{event("a", acuity.A01, 0, "")}, want: "- 0 class I moves 1"},
	"transfer without place": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "")},
		want:   "1 0 class I moves 1 b:location_missing",
	},
	"registration of an inpatient is an update (R11)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A04, 9, "TRI^2"), func(e *acuity.Event) { e.Class = 'O' })},
		want:   "1 0 class I moves 1 b!place_differs",
	},
	"outpatient to inpatient and back (R1)": {
		events: []acuity.Event{event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A06, 9, "LD^1"), event("c", acuity.A07, 20, "TRI^2")},
		want:   "2 0 to 9 1 9 to 20 2 20 class O moves 3",
	},
	"cancel of a conversion leaves the registration": {
		events: []acuity.Event{event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A01, 60, "LD^1"), cancel("c", acuity.A11, 66, 60, "LD^1")},
		want:   "2 0 class O moves 1 b:cancelled",
	},
	"cancel without key takes the last (R2)": {
		events: []acuity.Event{event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A01, 60, "LD^1"), cancel("c", acuity.A11, 66, -1, "TRI^2")},
		want:   "2 0 class O moves 1 b:cancelled",
	},
	"cancel of admit voids what follows (R4)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "MBU^3"), event("c", acuity.A03, 20, ""), cancel("d", acuity.A11, 5, 0, "")},
		want:   "closed moves 0 a:cancelled b:admit_cancelled c:admit_cancelled",
	},
	"but not what follows the next admit (R4)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "MBU^3"), event("c", acuity.A01, 20, "LD^4"), event("d", acuity.A02, 30, "MBU^5"), cancel("e", acuity.A11, 5, 0, "")},
		want:   "4 20 to 30 5 30 class I moves 2 a:cancelled b:admit_cancelled",
	},
	"cancel of transfer": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "OR^1"), cancel("c", acuity.A12, 12, 9, "OR^1")},
		want:   "1 0 class I moves 1 b:cancelled",
	},
	"location selects among transfers of one time (R2)": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "OR^1"), event("c", acuity.A02, 9, "MBU^3"), cancel("d", acuity.A12, 12, 9, "MBU^3"),
		},
		want: "1 0 to 9 1 9 class I moves 2 c:cancelled",
	},
	"a location that none has is ignored (R2)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "OR^1"), cancel("c", acuity.A12, 12, 9, "LD^1")},
		want:   "1 0 class I moves 1 b:cancelled",
	},
	"cancel of discharge": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), cancel("c", acuity.A13, 12, 9, "")},
		want:   "1 0 class I moves 1 b:cancelled",
	},
	"cancel of a repeated discharge": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A03, 12, ""), cancel("d", acuity.A13, 20, 12, "")},
		want:   "1 0 class I moves 1 b:cancelled c:cancelled",
	},
	"cancel of a discharge that was repeated": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A03, 12, ""), cancel("d", acuity.A13, 20, 9, "")},
		want:   "1 0 class I moves 1 b:cancelled c:cancelled",
	},
	"cancel of a repeated discharge, without key": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A03, 12, ""), cancel("d", acuity.A13, 20, -1, "")},
		want:   "1 0 class I moves 1 b:cancelled c:cancelled",
	},
	"each repeated discharge has its cancel": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A03, 12, ""), cancel("d", acuity.A13, 20, -1, ""), cancel("e", acuity.A13, 21, -1, ""),
		},
		want: "1 0 class I moves 1 b:cancelled c:cancelled",
	},
	"a discharge recorded after the cancel stands": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), cancel("c", acuity.A13, 12, 9, ""), event("d", acuity.A03, 20, "")},
		want:   "1 0 to 20 closed class I moves 2 b:cancelled",
	},
	"a discharge before a readmission stands": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A01, 30, "LD^2"), event("d", acuity.A03, 40, ""), cancel("e", acuity.A13, 50, 40, ""),
		},
		want: "1 0 to 9 2 30 class I moves 3 d:cancelled",
	},
	"cancel of a repeated admission": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A01, 9, "LD^1"), cancel("c", acuity.A11, 20, 9, "")},
		want:   "closed moves 0 a:cancelled b:cancelled",
	},
	"cancel of an admission that was repeated": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A01, 9, "LD^1"), event("c", acuity.A02, 12, "LD^3"), cancel("d", acuity.A11, 20, 0, ""),
		},
		want: "closed moves 0 a:cancelled b:cancelled c:admit_cancelled",
	},
	"an admission to another room is a move, and its cancel restores the room (R11)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A01, 9, "LD^2"), cancel("c", acuity.A11, 20, -1, "")},
		want:   "1 0 class I moves 1 b:cancelled",
	},
	"cancel of a repeated admission, without key": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A01, 9, "LD^1"), cancel("c", acuity.A11, 20, -1, "")},
		want:   "closed moves 0 a:cancelled b:cancelled",
	},
	"cancel of a repeated admission leaves the registration, and the next cancel ends that": {
		events: []acuity.Event{
			event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A01, 9, "LD^1"), event("c", acuity.A01, 12, "LD^1"), cancel("d", acuity.A11, 20, -1, ""),
			event("e", acuity.A08, 25, ""), cancel("f", acuity.A11, 30, -1, ""), event("g", acuity.A04, 40, "TRI^3"),
		},
		want: "3 40 class O moves 1 a:cancelled b:cancelled c:cancelled",
	},
	"cancel of a repeated registration": {
		events: []acuity.Event{event("a", acuity.A04, 0, "TRI^2"), event("b", acuity.A04, 9, "TRI^2"), cancel("c", acuity.A11, 20, -1, "")},
		want:   "closed moves 0 a:cancelled b:cancelled",
	},
	"an admission recorded after the cancel stands": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), cancel("b", acuity.A11, 5, 0, ""), event("c", acuity.A01, 9, "LD^2")},
		want:   "2 9 class I moves 1 a:cancelled",
	},
	"an admission after a discharge stands": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A01, 30, "LD^2"), cancel("d", acuity.A11, 50, 30, ""),
		},
		want: "1 0 to 9 closed class I moves 2 c:cancelled",
	},
	"an admission before a change of class stands": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A07, 9, "LD^1"), event("c", acuity.A01, 30, "LD^1"), cancel("d", acuity.A11, 50, 30, ""),
		},
		want: "1 0 class O moves 2 c:cancelled",
	},
	"cancel of an admission that an Encounter repeats": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A01, 9, "LD^1"), func(e *acuity.Event) { e.Resource = "E" }), cancel("c", acuity.A11, 20, 0, ""),
		},
		want: "closed moves 0 a:cancelled b:cancelled",
	},
	"a version of the Encounter after the cancel stands": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"),
			with(event("b", acuity.A01, 9, "LD^1"), func(e *acuity.Event) { e.Resource, e.UpdatedAt = "E", minute(30) }), cancel("c", acuity.A11, 20, 0, ""),
		},
		want: "1 9 class I moves 1 a:cancelled",
	},
	"a pre-admission does not place": {
		events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), preadmitted), event("b", acuity.A08, 9, "LD^1")},
		want:   "closed class P moves 0 a!preadmission",
	},
	"an admission after a pre-admission places": {
		events: []acuity.Event{
			with(event("a", acuity.A01, 0, "LD^1"), preadmitted), with(event("b", acuity.A01, 60, "LD^2"), func(e *acuity.Event) { e.Class = 'I' }),
		},
		want: "2 60 class I moves 1 a!preadmission",
	},
	"a trusted pre-admission does not place either": {
		events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), preadmitted)}, how: Options{TrustA08: true},
		want: "closed class P moves 0 a!preadmission",
	},
	"a pre-admission of a patient who is here changes neither room nor class": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A01, 9, "LD^2"), preadmitted)},
		want:   "1 0 class I moves 1 b!preadmission",
	},
	"a registration of class P places, because the patient has arrived": {
		events: []acuity.Event{with(event("a", acuity.A04, 0, "TRI^2"), preadmitted)}, want: "2 0 class P moves 1",
	},
	"a pre-admission is not the next admission (R4)": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A01, 9, "LD^2"), preadmitted), event("c", acuity.A02, 12, "LD^2"),
			with(cancel("d", acuity.A11, 20, 0, ""), func(e *acuity.Event) { e.RecordedAt = minute(5) }),
		},
		want: "closed class P moves 0 a:cancelled b!preadmission c:admit_cancelled",
	},
	"discharge alone (R14)": {events: []acuity.Event{event("a", acuity.A03, 0, "LD^1")}, want: "closed moves 0"},
	"second discharge": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A03, 12, "")},
		want:   "1 0 to 9 closed class I moves 2 c:already_discharged",
	},
	"cancel that waits": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), cancel("b", acuity.A12, 12, 9, "OR^1")},
		want:   "1 0 class I moves 1 waiting 1 b!cancel_waiting",
	},
	"re-issue lives (R6)": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), cancel("b", acuity.A11, 5, 0, "LD^1"),
			with(event("c", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.RecordedAt = minute(9) }),
		},
		want: "1 0 class I moves 1 a:cancelled",
	},
	"at least the earliest goes, though recorded after its cancel (R6)": {
		events: []acuity.Event{
			with(event("a", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.RecordedAt = minute(8) }),
			with(event("b", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.RecordedAt = minute(9) }), cancel("c", acuity.A11, 5, 0, "LD^1"),
		},
		want: "1 0 class I moves 1 a:cancelled",
	},
	"a cancel sent again does not take the re-issue": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), cancel("b", acuity.A11, 5, 0, "LD^1"), cancel("c", acuity.A11, 5, 0, "LD^1"),
			with(event("d", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.RecordedAt = minute(9) }),
		},
		want: "1 0 class I moves 1 a:cancelled",
	},
	"a cancel without key sent again takes one": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 3, "LD^2"), event("c", acuity.A02, 6, "LD^3"),
			cancel("d", acuity.A12, 9, -1, ""), cancel("e", acuity.A12, 9, -1, ""),
		},
		want: "1 0 to 3 2 3 class I moves 2 c:cancelled",
	},
	"two cancels without key take two": {
		events: []acuity.Event{
			event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 3, "LD^2"), event("c", acuity.A02, 6, "LD^3"),
			cancel("d", acuity.A12, 9, -1, ""), cancel("e", acuity.A12, 10, -1, ""),
		},
		want: "1 0 class I moves 1 b:cancelled c:cancelled",
	},
	"join at the coarser precision (R3)": {
		events: []acuity.Event{
			with(event("a", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.At += 42_000; e.Precision = acuity.Second }),
			with(cancel("b", acuity.A11, 5, 0, ""), func(e *acuity.Event) { e.CancelsPrecision = acuity.Minute }),
		},
		want: "closed moves 0 a:cancelled",
	},
	"no join outside of the span (R3)": {
		events: []acuity.Event{
			with(event("a", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.At += 60_000; e.Precision = acuity.Second }),
			with(cancel("b", acuity.A11, 5, 0, ""), func(e *acuity.Event) { e.CancelsPrecision = acuity.Minute }),
		},
		want: "1 1 class I moves 1 waiting 1 b!cancel_waiting",
	},
	"equal times (R8)": {
		events: []acuity.Event{event("a", acuity.A03, 0, ""), event("b", acuity.A02, 0, "MBU^3"), event("c", acuity.A01, 0, "LD^1"), event("d", acuity.A04, 0, "TRI^2")},
		want:   "2 0 to 0 1 0 to 0 3 0 to 0 closed class I moves 4",
	},
	"equal times and types, by the text of the place (R8)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("z", acuity.A02, 9, "AP^2"), event("b", acuity.A02, 9, "MBU^3")},
		want:   "1 0 to 9 2 9 to 9 3 9 class I moves 3",
	},
	"duplicate": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("a", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.ReceivedAt += 9 })},
		want:   "1 0 class I moves 1 a:duplicate",
	},
	"other event": {events: []acuity.Event{event("a", acuity.EventOther, 0, "LD^1")}, want: "closed moves 0 a:event_type"},
	"the later first location of an Encounter is part of its admission (R12)": {
		events: []acuity.Event{
			with(event("a", acuity.A01, 0, ""), func(e *acuity.Event) { e.Resource = "E" }),
			with(event("b", acuity.A02, 9, "LD^1"), func(e *acuity.Event) { e.Resource = "E" }),
		},
		want: "- 0 to 9 1 9 class I moves 1",
	},
	"a cancelled registration that an Encounter repeats, with its location from a minute later (R6)": {
		events: []acuity.Event{
			event("a", acuity.A04, 0, "TRI^1"), cancel("c", acuity.A11, 9, 0, "TRI^1"),
			with(event("b", acuity.A04, 0, ""), func(e *acuity.Event) { e.Resource = "E" }),
			with(event("d", acuity.A02, 1, "TRI^1"), func(e *acuity.Event) { e.Resource = "E" }),
		},
		want: "closed moves 0 b:cancelled a:cancelled d:admit_cancelled",
	},
	"an admission that another feed repeats without the place (R12)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A01, 0, ""), func(e *acuity.Event) { e.Resource = "E" })},
		want:   "- 0 to 0 1 0 class I moves 1",
	},
	"newborn makes no turnover (R12)": {
		events: []acuity.Event{with(event("a", acuity.A01, 0, "NBN^1"), func(e *acuity.Event) { e.Newborn = true })}, want: "1 0 class I moves 0",
	},
	"the future is now (T2)": {
		events: []acuity.Event{with(event("a", acuity.A01, 60, "LD^1"), func(e *acuity.Event) { e.ReceivedAt = minute(50) })},
		want:   "1 50 class I moves 1 a!time_in_future",
	},
	"a little ahead is now without a word (T2)": {
		events: []acuity.Event{with(event("a", acuity.A01, 60, "LD^1"), func(e *acuity.Event) { e.ReceivedAt = minute(55) })},
		want:   "1 55 class I moves 1",
	},
	"prior place only warns (R15)": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A02, 9, "OR^2"), func(e *acuity.Event) { e.Prior = spot("LD^7") })},
		want:   "1 0 to 9 2 9 class I moves 2 b!prior_place_differs",
	},
	"cancel of what was folded away (R10)": {
		events: []acuity.Event{event(foldedID, acuity.A01, 0, "LD^1"), cancel("b", acuity.A12, 30, 5, ""), event("c", acuity.A02, 4, "LD^9")},
		how:    Options{FoldAt: minute(10)},
		want:   "1 0 class I moves 1 c:event_too_old c!event_too_old b:cancel_too_late b!event_too_old",
	},
	"readmission under the same number": {
		events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A03, 9, ""), event("c", acuity.A01, 90, "LD^2")},
		want:   "1 0 to 9 2 90 class I moves 3",
	},
}

func TestTimeline(t *testing.T) {
	for name, c := range visits {
		t.Run(name, func(t *testing.T) {
			c.how.SameRoom = testRooms
			if got := outline(Build(store(c.events), c.how)); got != c.want {
				t.Errorf("timeline\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// An event can delete the service and the mother, until a later event has a value again.
func TestTimelineDeletes(t *testing.T) {
	tell := func(text string) func(*acuity.Event) {
		return func(e *acuity.Event) { e.Service, e.MotherPatient = text, text }
	}
	for _, c := range []struct {
		then []string
		want string
	}{
		{then: []string{""}, want: "X"},
		{then: []string{deleted}},
		{then: []string{deleted, ""}},
		{then: []string{deleted, "Y"}, want: "Y"},
	} {
		events := []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), tell("X"))}
		for i, text := range c.then {
			events = append(events, with(event(fmt.Sprint(i), acuity.A08, 1+i, ""), tell(text)))
		}
		if s := Build(store(events), Options{}); s.Service != c.want || s.MotherPatient != c.want {
			t.Errorf("%q: service %q, mother %q, want %q", c.then, s.Service, s.MotherPatient, c.want)
		}
	}
}

func TestTimelineWaitsADay(t *testing.T) {
	s := Build(store([]acuity.Event{cancel("b", acuity.A12, 12, 9, ""), cancel("c", acuity.A13, 20, 9, "")}), Options{})
	for name, c := range map[string]struct{ now, count int }{
		"both":      {now: 30, count: 2},
		"not yet":   {now: 12 + 24*60, count: 2},
		"the first": {now: 13 + 24*60, count: 1},
		"neither":   {now: 21 + 24*60},
	} {
		if count := s.CancelsWaiting(minute(c.now)); count != c.count {
			t.Errorf("%s: %d waiting, want %d", name, count, c.count)
		}
	}
}

func BenchmarkTimeline(b *testing.B) {
	events := store([]acuity.Event{
		event("a", acuity.A04, 0, "TRI^2"), with(event("b", acuity.A08, 10, "TRI^2"), withCodes(acuity.DiagnosisSnapshot, "O13.3")), event("c", acuity.A01, 60, "LD^1"),
		with(event("d", acuity.A08, 90, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "O13.3", "O14.13")), event("e", acuity.A02, 100, "OR^1"),
		cancel("f", acuity.A12, 105, 100, "OR^1"), event("g", acuity.A02, 200, "MBU^3"), event("h", acuity.A08, 300, "MBU^3"),
		event("i", acuity.A08, 400, "MBU^3"), event("j", acuity.A03, 900, ""),
	})
	b.Run("timeline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = Build(events, Options{SameRoom: testRooms})
		}
	})
	b.Run("primary", func(b *testing.B) {
		s := Build(events[:9], Options{SameRoom: testRooms})
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Primary(asSent, 0, false)
		}
	})
}

// The newest event that identifies the patient decides whether the visit is a newborn's
// (docs/decisions.md#newborn-or-mother). An event that identifies nobody changes nothing.
func TestNewestEventTellsNewborn(t *testing.T) {
	baby := func(e *acuity.Event) { e.Newborn = true }
	mother := func(e *acuity.Event) { e.AdmissionType = 'L' }
	both := func(e *acuity.Event) { e.Newborn, e.AdmissionType = true, 'L' }
	routine := func(e *acuity.Event) { e.AdmissionType, e.Class = 'R', 'I' }
	for name, tc := range map[string]struct {
		events []acuity.Event
		want   bool
	}{
		"corrected":              {[]acuity.Event{with(event("a", acuity.A04, 0, "TRI^1"), baby), with(event("b", acuity.A08, 9, ""), mother)}, false},
		"not corrected":          {[]acuity.Event{with(event("a", acuity.A04, 0, "TRI^1"), baby), with(event("b", acuity.A08, 9, ""), routine)}, true},
		"still the placeholder":  {[]acuity.Event{with(event("a", acuity.A04, 0, "TRI^1"), baby), with(event("b", acuity.A08, 9, ""), both)}, true},
		"mistaken, then a baby":  {[]acuity.Event{with(event("a", acuity.A01, 0, "NBN^1"), mother), with(event("b", acuity.A08, 9, ""), baby)}, true},
		"correction is canceled": {[]acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), baby), with(event("b", acuity.A02, 9, "LD^2"), mother), cancel("c", acuity.A12, 12, 9, "LD^2")}, true},
	} {
		slices.Reverse(tc.events)
		if s := Build(store(tc.events), Options{SameRoom: testRooms}); s.Newborn != tc.want || s.Newborn != (len(s.Moves) == 0) {
			t.Errorf("%s: newborn %v, want %v; %d moves", name, s.Newborn, tc.want, len(s.Moves))
		}
	}
}
