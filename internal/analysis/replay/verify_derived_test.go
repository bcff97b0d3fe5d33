package replay

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/testkit/shift"
)

// What is derived step by step and is not what the facts make is found, with its
// field and version, and counts before what differs later.
func TestDerivedAnew(t *testing.T) {
	v := &Verify{deriving: make(chan struct{}, 1)}
	u := newUnitCheck(&partitionCheck{v: v}, "h000")
	feeds := shift.New(1, 12, acuity.At(time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)), time.Minute)
	for range 400 {
		u.fold.Take(&Input{Observation: feeds.Next()}, func(*acuity.Change) {})
	}
	u.deriveAnew()
	if u.derived(); u.Difference != nil {
		t.Fatal(u.Difference)
	}
	version := u.version()
	u.unit.Chart().Rooms[3].Label += "?"
	u.deriveAnew()
	u.differ(&Difference{Fault: WrongChange, Version: version + 1})
	u.derived()
	if d := u.Difference; d.Fault != WrongDerived || d.Version != version || d.Hospital != "h000" || d.Key != "view room/4" {
		t.Errorf("found %v", d)
	}
}
