package adt

import (
	"testing"

	"svc/acuity"
)

// For a visit with transfers and cancels, PlacedAt returns the start of the current stay, IsWithdrawn is true for the
// events that no longer count, and TakenBack returns the time of the event that a cancel cancels.
func TestPlacedAndWithdrawn(t *testing.T) {
	moved := []acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "OR^1")}
	for name, c := range map[string]struct {
		events    []acuity.Event
		placed    int    // minute at which the current stay starts, or -1 if the visit is not open
		withdrawn string // points of care of the withdrawn events
		takenBack int    // minute of the event that the last event cancels, or -1
	}{
		"moved":                      {events: moved, placed: 9, takenBack: -1},
		"transfer cancelled":         {events: append(moved[:2:2], cancel("c", acuity.A12, 12, 9, "OR^1")), withdrawn: "OR", takenBack: 9},
		"transfer without key":       {events: append(moved[:2:2], cancel("c", acuity.A12, 12, -1, "")), withdrawn: "OR", takenBack: 9},
		"cancel that waits":          {events: append(moved[:2:2], cancel("c", acuity.A12, 12, 5, "")), placed: 9, takenBack: -1},
		"admission cancelled (R4)":   {events: append(moved[:2:2], cancel("c", acuity.A11, 12, 0, "")), placed: -1, withdrawn: "LDOR", takenBack: 0},
		"discharged":                 {events: append(moved[:2:2], event("c", acuity.A03, 12, "")), placed: -1, takenBack: -1},
		"discharge cancelled":        {events: append(moved[:2:2], event("c", acuity.A03, 12, ""), cancel("d", acuity.A13, 15, 12, "")), placed: 9, takenBack: 12},
		"Encounter never was (F4)":   {events: []acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), func(e *acuity.Event) { e.Void = true })}, placed: -1, withdrawn: "LD", takenBack: -1},
		"transfer to where she is":   {events: append(moved[:2:2], event("c", acuity.A02, 12, "OR^1")), placed: 9, takenBack: -1},
		"never placed, only updated": {events: []acuity.Event{event("a", acuity.A08, 0, "LD^1")}, placed: -1, takenBack: -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := Build(store(c.events), Options{SameRoom: testRooms})
			placed, takenBack := acuity.Instant(0), acuity.Instant(0)
			if c.placed >= 0 {
				placed = minute(c.placed)
			}
			if c.takenBack >= 0 {
				takenBack = minute(c.takenBack)
			}
			if got := s.PlacedAt(); got != placed {
				t.Errorf("placed at %s, want %d", since(got), c.placed)
			}
			withdrawn := ""
			for i := range s.Events {
				if e := &s.Events[i]; e.IsWithdrawn() && e.Event.Type != acuity.A03 {
					withdrawn += e.Event.Place.PointOfCare
				}
			}
			if withdrawn != c.withdrawn {
				t.Errorf("withdrawn %q, want %q", withdrawn, c.withdrawn)
			}
			last := &s.Events[len(s.Events)-1]
			if got := s.TakenBack(last); got != takenBack {
				t.Errorf("the last event took back %s, want %d", since(got), c.takenBack)
			}
		})
	}
}

// An event that is exact only to the minute may have placed the visit after a census in the same minute, provided
// that svc received the event after the census.
func TestPlacedAbout(t *testing.T) {
	census := minute(5) + 30_000
	for name, c := range map[string]struct {
		at        int
		precision acuity.Precision
		received  acuity.Instant
		want      bool
	}{
		"the minute of the census":  {5, acuity.Minute, census + 1, true},
		"exact to the second":       {5, acuity.Second, census + 1, false},
		"known before the census":   {5, acuity.Minute, census, false},
		"the minute before":         {4, acuity.Minute, census + 1, false},
		"the minute after":          {6, acuity.Minute, minute(7), false},
		"the hour, five minutes in": {0, acuity.Hour, census + 1, true},
	} {
		e := with(event("a", acuity.A01, c.at, "LD^1"), func(e *acuity.Event) { e.Precision, e.ReceivedAt = c.precision, c.received })
		s := Build(store([]acuity.Event{e}), Options{})
		if got := s.PlacedAbout(census); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// NamesNoPlace is true for an event without PV1-3 and for an Encounter whose location is a ward: in these cases, the
// census determines the location (docs/decisions.md#encounter-without-location).
func TestNamesNoPlace(t *testing.T) {
	ward := func(l *acuity.Location) bool { return l.Room == "" }
	for name, c := range map[string]struct {
		place    string
		null     bool
		resource string
		want     bool
	}{
		"no PV1-3":                {want: true},
		"a place taken away (P6)": {null: true},
		"a room":                  {place: "LD^1"},
		"a room of an Encounter":  {place: "LD^1", resource: "r"},
		"a ward by HL7":           {place: "LD"},
		"a ward of an Encounter":  {place: "LD", resource: "r", want: true},
	} {
		e := with(event("a", acuity.A01, 0, c.place), func(e *acuity.Event) { e.PlaceNull, e.Resource = c.null, c.resource })
		if got := store([]acuity.Event{e})[0].NamesNoPlace(ward); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
