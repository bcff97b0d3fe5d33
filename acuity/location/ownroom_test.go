package location

import (
	"testing"

	"svc/acuity"
)

// A room that is named only in events is new at its first use. Its name is the first of its spellings in lexicographic
// order. A spelling is unused when no event with that spelling remains.
func TestUses(t *testing.T) {
	var table Table
	if !table.AddUse(spot("mbu^t 2")) || table.AddUse(spot("MBU^T2")) || table.AddUse(spot("MBU^T2^B")) {
		t.Error("a room is new once")
	}
	if table.AddUse(spot("MBU")) || table.AddUse(acuity.Location{HasRoomID: true, RoomID: 7, Room: "T2"}) {
		t.Error("a unit without a room, or a room with an id, is no room of events")
	}
	id := table.Resolve(spot("MBU^T2")).Room
	if point, room, ok := table.Spelling(id); point != "MBU" || room != "T2" || !ok {
		t.Errorf("it is spelled %q %q %v", point, room, ok)
	}
	if _, _, ok := table.Spelling(id + 1); ok {
		t.Error("a room that nobody named has a spelling")
	}
	table.DropUse(spot("mbu^t 2")) // a different spelling
	table.DropUse(spot("MBU^T2"))
	if table.IsUnused(spot("MBU^T2")) {
		t.Error("an event with this spelling is left")
	}
	table.DropUse(spot("MBU^T2^A"))
	if !table.IsUnused(spot("mbu^T2")) || table.IsUnused(spot("MBU^T3")) {
		t.Error("no event with this spelling is left")
	}
}

// A spelling that comes before the others changes the words in the name of a point of care, and so the answers for the
// other points of care that use the number.
func TestSpellingOfANumber(t *testing.T) {
	var table Table
	table.AddUse(spot("MainICU^12"))
	for _, c := range []struct {
		place string
		want  bool
	}{{"mainicu^12", false}, {"Main ICU^12", true}, {"Main ICU^12", false}, {"Main ICU^ 12", false}} {
		if changed := table.AddUse(spot(c.place)); changed != c.want {
			t.Errorf("%s: changed %v, want %v", c.place, changed, c.want)
		}
	}
}

func TestIsWard(t *testing.T) {
	var table Table
	table.SetRoom(9, "OBOR", "")
	for place, want := range map[string]bool{"L&D": true, "L&D^1": false, "ICU": false, "OBOR": false, "": false} {
		l := spot(place)
		if got := table.IsWard(&l); got != want {
			t.Errorf("%q: %v, want %v", place, got, want)
		}
	}
}
