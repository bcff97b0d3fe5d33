package verify

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/testkit/loadgen"
)

// If the values of a unit differ from those derived from its facts, verify reports the first field that differs, at
// the version of the derivation. This difference replaces a difference at a later version that verify has already
// reported.
func TestDerivedAnew(t *testing.T) {
	v := &Verify{deriving: make(chan struct{}, 1)}
	u := newUnitCheck(&partitionCheck{v: v}, "h000")
	feeds := loadgen.New(1, 12, acuity.At(time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)), time.Minute)
	for range 400 {
		u.fold.Apply(&inputlog.Input{Observation: feeds.Next()}, func(*acuity.Change) {})
	}
	u.startDerivation()
	if u.waitDerivation(); u.Difference != nil {
		t.Fatal(u.Difference)
	}
	version := u.version()
	u.unit.Chart().Rooms[3].Label += "?"
	u.startDerivation()
	u.reportDifference(&Difference{Fault: WrongChange, Version: version + 1})
	u.waitDerivation()
	if d := u.Difference; d.Fault != WrongDerived || d.Version != version || d.Hospital != "h000" || d.Key != "view room/4" {
		t.Errorf("found %v", d)
	}
}
