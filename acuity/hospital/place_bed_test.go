package hospital

import (
	"testing"

	"svc/acuity"
)

// F10: a display is a label as it stands, then without its bed.
func TestDisplayWithBed(t *testing.T) {
	place := acuity.Location{Label: "LDR 4, Bed 2", Room: "LDR 4", Bed: "2"}
	var table roomTable
	table.know(4, "LDR 4", "")
	if p := table.resolve(place); p != (placement{inRoom, 4}) {
		t.Errorf("the room: %+v", p)
	}
	table.know(42, "LDR 4, Bed 2", "")
	if p := table.resolve(place); p != (placement{inRoom, 42}) {
		t.Errorf("the bed that is a room: %+v", p)
	}
}
