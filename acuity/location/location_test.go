package location

import (
	"testing"

	"svc/acuity"
)

// A location that refers to FHIR Locations resolves to the place that those FHIR Locations describe.
func TestFHIRLocations(t *testing.T) {
	const ref = acuity.LocationName
	places := map[string]acuity.Location{
		ref + "room": {PointOfCare: "LD", Room: "4"},
		ref + "bed":  {PointOfCare: ref + "ward", Room: "4", Bed: "B"},
		ref + "ward": {PointOfCare: "MBU"},
		ref + "a":    {PointOfCare: ref + "b"},
		ref + "b":    {PointOfCare: ref + "a"},
	}
	table := Table{References: func(name string) acuity.Location { return places[name] }}
	for name, c := range map[string]struct {
		sent, want acuity.Location
	}{
		"no Location":                {spot("LD^4"), spot("LD^4")},
		"a room":                     {acuity.Location{Room: ref + "room"}, spot("LD^4")},
		"a room, and the bed":        {acuity.Location{Room: ref + "room", Bed: "A"}, spot("LD^4^A")},
		"a bed in a ward":            {acuity.Location{Room: ref + "bed"}, spot("MBU^4^B")},
		"a ward":                     {acuity.Location{PointOfCare: ref + "ward", Room: "7"}, spot("MBU^7")},
		"a bed in place of the ward": {acuity.Location{PointOfCare: ref + "bed", Room: "7"}, spot("MBU^4^7")},
		"an unknown one":             {acuity.Location{PointOfCare: "LD", Room: ref + "other"}, spot("LD^other")},
		"an unknown one, by number":  {acuity.Location{Room: ref + "other", Label: "12"}, acuity.Location{Room: "12"}},
		"known by its number":        {acuity.Location{Room: ref + "other", Label: "room"}, spot("LD^4")},
		"a bed of an unknown one":    {acuity.Location{PointOfCare: "LD", Room: ref + "other", Bed: "B"}, spot("LD^B")},
		"a circle":                   {acuity.Location{PointOfCare: ref + "a", Room: "1"}, acuity.Location{Room: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := table.resolveReference(c.sent); got != c.want {
				t.Errorf("it stands for %+v, want %+v", got, c.want)
			}
			if got, want := table.Resolve(c.sent), table.Resolve(c.want); got != want {
				t.Errorf("it is in %+v, want %+v", got, want)
			}
		})
	}
	var none Table
	if got := none.resolveReference(acuity.Location{Room: ref + "room"}); got != (acuity.Location{Room: "room"}) {
		t.Errorf("without references: %+v", got)
	}
}

// The id of a row encodes the sender's name for the location. Names that differ only in case or spaces have the same
// id.
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
