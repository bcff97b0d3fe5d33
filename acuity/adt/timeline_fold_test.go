package adt

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
)

// ending formats the final state of a timeline, which the folded events must reproduce.
func ending(s *Timeline) string {
	if !s.Open {
		return "closed " + since(s.ClosedAt)
	}
	place := s.Stays[len(s.Stays)-1].Place()
	text := fmt.Sprintf("at %+v since %s, class %c, cesarean %v, birth %v", *place, since(s.PlacedAt()), s.Class, s.Cesarean, s.Birth)
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
		folded := all.Fold("v1")
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

// A cancel of a folded event has no effect.
func TestFoldedEventIsNotCancelled(t *testing.T) {
	before := Build(store([]acuity.Event{event("a", acuity.A01, 0, "LD^1"), event("b", acuity.A02, 9, "MBU^3")}), Options{SameRoom: testRooms})
	after := append(before.Fold("v1"), cancel("c", acuity.A12, 20, 9, "MBU^3"))
	s := Build(store(after), Options{SameRoom: testRooms, FoldAt: minute(9)})
	if got, want := outline(s), "3 9 class I moves 1 c:cancel_too_late c!event_too_old"; got != want {
		t.Errorf("timeline\n got %s\nwant %s", got, want)
	}
}
