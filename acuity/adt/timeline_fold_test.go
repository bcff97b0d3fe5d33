package adt

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue/cataloguetest"
)

// ending formats the final state of a timeline, which the folded events must reproduce.
func ending(s *Timeline) string {
	if !s.Open {
		return "closed " + since(s.ClosedAt)
	}
	place := s.Stays[len(s.Stays)-1].Place()
	text := fmt.Sprintf("at %+v since %s, class %c, newborn %v, cesarean %v, birth %v", *place, since(s.PlacedAt()), s.Class, s.Newborn, s.Cesarean, s.Birth)
	for _, d := range s.Diagnoses {
		text += fmt.Sprintf(", %s since %v", d.Code, d.Start)
	}
	return text
}

// Folding the events of a visit does not change its end state (docs/decisions.md#folded-events).
func TestFoldedEventsEndAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		newest := acuity.Instant(0)
		for i := range events {
			newest = max(newest, events[i].At)
		}
		all := Build(store(events), Options{SameRoom: testRooms})
		folded := all.Fold("v1", asSent)
		if len(folded) > 2 {
			t.Fatalf("%d events are left", len(folded))
		}
		again := Build(store(folded), Options{SameRoom: testRooms, FoldAt: newest})
		if !all.Open && all.ClosedAt == 0 { // the visit never opened, or its admission was canceled
			if len(all.Stays) == 0 && len(folded) > 0 {
				t.Fatalf("a visit without an effect leaves %d events", len(folded))
			}
			return
		}
		if got, want := ending(&again), ending(&all); got != want {
			t.Fatalf("folded\n%s\nnot\n%s", got, want)
		}
	})
}

// Folding keeps an explicit primary factor and the hints of the reason for admission only if they still apply.
func TestFoldedEventsKeepThePrimary(t *testing.T) {
	explicit := func(e *acuity.Event) { e.Primary = cataloguetest.Factor(t, "ap-unstable") }
	ripening := func(e *acuity.Event) { e.Reasons = ParseReasons("cervical ripening") }
	for name, events := range map[string][]acuity.Event{
		"explicit in the area":        {with(event("a", acuity.A01, 0, "AP^1"), explicit), event("b", acuity.A02, 9, "AP^2")},
		"explicit in an earlier area": {with(event("a", acuity.A01, 0, "AP^1"), explicit), event("b", acuity.A02, 9, "LD^3")},
		"explicit before a discharge": {with(event("a", acuity.A01, 0, "AP^1"), explicit), event("b", acuity.A03, 9, ""), event("c", acuity.A01, 20, "AP^1")},
		"explicit before a place":     {with(event("a", acuity.A01, 0, ""), explicit)},
		"a reason":                    {with(event("a", acuity.A01, 0, "LD^1"), ripening), event("b", acuity.A02, 9, "LD^2")},
		"a reason before a discharge": {with(event("a", acuity.A01, 0, "LD^1"), ripening), event("b", acuity.A03, 9, ""), event("c", acuity.A01, 20, "LD^1")},
	} {
		before := Build(store(events), Options{SameRoom: testRooms})
		for _, later := range [][]acuity.Event{nil, {event("z", acuity.A02, 30, "AP^9")}} {
			all := Build(store(slices.Concat(events, later)), Options{SameRoom: testRooms})
			folded := Build(store(slices.Concat(before.Fold("v1", asSent), later)), Options{SameRoom: testRooms})
			want, got := all.Primary(asSent, 0, false), folded.Primary(asSent, 0, false)
			if got.Factor != want.Factor || got.AssignedBy != want.AssignedBy {
				t.Errorf("%s, %d later: %s by %s, want %s by %s", name, len(later), got.Factor.ID(), got.AssignedBy, want.Factor.ID(), want.AssignedBy)
			}
		}
	}
}

// A cancel of a folded event has no effect.
func TestFoldedEventIsNotCancelled(t *testing.T) {
	before := Build(store([]acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "MBU^3")}), Options{SameRoom: testRooms})
	after := append(before.Fold("v1", asSent), cancel("c", acuity.A12, 20, 9, "MBU^3"))
	s := Build(store(after), Options{SameRoom: testRooms, FoldAt: minute(9)})
	if got, want := outline(s), "3 9 class I moves 1 c:cancel_too_late c!event_too_old"; got != want {
		t.Errorf("timeline\n got %s\nwant %s", got, want)
	}
}
