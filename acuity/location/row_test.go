package location

import (
	"testing"

	"svc/acuity"
)

// The id of a row contains the sender's name of its place, whatever the case and the spaces.
func TestRowIDs(t *testing.T) {
	for name, c := range map[string]struct {
		row  acuity.Place
		back acuity.Place
	}{
		"a room alone":      {acuity.Place{HasRoomID: true, RoomID: 7, Label: "Sky"}, acuity.Place{HasRoomID: true, RoomID: 7}},
		"a point of care":   {acuity.Place{PointOfCare: "l & d", Outside: true}, acuity.Place{PointOfCare: "L&D"}},
		"a room of it":      {acuity.Place{PointOfCare: "L&D", Room: "ldr 04", HasRoomID: true, RoomID: 7}, acuity.Place{PointOfCare: "L&D", Room: "LDR04"}},
		"a bed":             {acuity.Place{PointOfCare: "X", Room: "1", Bed: "b"}, acuity.Place{PointOfCare: "X", Room: "1", Bed: "B"}},
		"a room by itself":  {acuity.Place{Room: "1"}, acuity.Place{Room: "1"}},
		"not only of ASCII": {acuity.Place{PointOfCare: "Größe"}, acuity.Place{PointOfCare: "GRößE"}},
	} {
		id := RowID(&c.row)
		if got, ok := RowByID(id); !ok || got != c.back {
			t.Errorf("%s: %q is %+v %v, want %+v", name, id, got, ok, c.back)
		}
	}
	names := []acuity.Place{{PointOfCare: "AB"}, {PointOfCare: "A", Room: "B"}, {Room: "AB"}, {PointOfCare: "A", Bed: "B"}}
	seen := map[string]bool{}
	for i := range names {
		seen[RowID(&names[i])] = true
	}
	if len(seen) != len(names) {
		t.Errorf("%d ids for %d places: %v", len(seen), len(names), seen)
	}
	for _, id := range []string{"", "room-", "room--1", "room-07", "room-2147483648", "loc-", "loc-!", "loc-QQ", "loc-AAA", "loc-YQAA", "7"} {
		if p, ok := RowByID(id); ok {
			t.Errorf("%q is the row of %+v", id, p)
		}
	}
}
