package acuity

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity/codes"
)

func ofReferences(at time.Time, list ...Reference) *Observation {
	return &Observation{Hospital: "north", ReceivedAt: At(at), Channel: ChannelFHIR, References: list}
}

// A drug that a statement only names becomes known when the Medication comes, and leaves
// the worklist. A newer version of the Medication counts.
func TestMedicationComesLater(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u := NewUnit("north")
	said := &Observation{
		Hospital: "north", ReceivedAt: At(at), Channel: ChannelClinical, Room: &RoomRef{ID: 4},
		Signals: []Signal{{Room: 4, Kind: KindMedication, System: codes.SystemLocal, Code: "Medication/m", StartedAt: At(at)}},
	}
	if c := u.Apply(said, 1); len(c.Activated) != 0 || len(c.Unmapped) != 1 || len(u.worklist.codes) != 1 {
		t.Fatalf("%+v, %d codes", c, len(u.worklist.codes))
	}
	magnesium := Reference{Name: "Medication/m", UpdatedAt: At(at), Codings: []Coding{{System: codes.RxNorm, Code: "6585"}}}
	if c := u.Apply(ofReferences(at, magnesium), 2); len(c.Activated) != 1 || len(u.worklist.codes) != 0 {
		t.Fatalf("%+v, %d codes", c, len(u.worklist.codes))
	}
	water := Reference{Name: "Medication/m", UpdatedAt: At(at.Add(-time.Hour)), Codings: []Coding{{System: codes.RxNorm, Code: "11295"}}}
	if c := u.Apply(ofReferences(at, water), 3); len(c.Expired) != 0 {
		t.Errorf("an older version counts: %+v", c)
	}
	water.UpdatedAt = At(at.Add(time.Hour))
	if c := u.Apply(ofReferences(at, water), 4); len(c.Expired) != 1 {
		t.Errorf("a newer version does not count: %+v", c)
	}
}

// The newest are kept, also after a restore.
func TestReferencesAreBounded(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u := NewUnit("north")
	kept := map[string]State{}
	for i := range capReferences + 10 {
		u.Apply(ofReferences(at, Reference{Name: fmt.Sprint("Medication/", i), Codings: []Coding{{codes.RxNorm, "6585", ""}}}), int64(i))
		u.Dirty(func(key []byte, s State) {
			if s == nil {
				delete(kept, string(key))
			} else if r, ok := s.(*ReferenceState); ok {
				kept[string(key)] = r
			}
		})
	}
	again := NewUnit("north")
	for key, s := range kept {
		if err := again.Restore(key, s); err != nil {
			t.Fatal(err)
		}
	}
	again.Restored()
	for _, unit := range []*Unit{u, again} {
		if len(unit.people.references) != capReferences || unit.people.references["Medication/9"] != nil || unit.people.references["Medication/10"] == nil {
			t.Errorf("%d references", len(unit.people.references))
		}
	}
}

// A forgotten reference has no effect: the unit equals one restored without it.
func TestForgottenReferenceHasNoEffect(t *testing.T) {
	now := day
	for name, c := range map[string]struct {
		reference Reference
		said      Observation
	}{
		"Medication": {
			Reference{Name: "Medication/m", Codings: []Coding{{System: codes.RxNorm, Code: "6585"}}},
			spoken(now, 4, Signal{Room: 4, Kind: KindMedication, System: codes.SystemLocal, Code: "Medication/m", StartedAt: now}),
		},
		"Location": {
			Reference{Name: "Location/l", Place: ldr("L1")},
			arrival(now, Event{ID: "e", Type: A01, Visit: "v", Class: 'I', Place: Location{Room: "Location/l"}}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			u, log := NewUnit(testHospital), changelog{}
			apply := func(o Observation) {
				o.Hospital, o.ReceivedAt = testHospital, now
				u.Apply(&o, 1)
				log.write(u)
			}
			apply(Observation{Channel: ChannelFHIR, References: []Reference{c.reference}})
			apply(c.said)
			before := rendered(u.Chart().Rooms)
			others := Observation{Channel: ChannelFHIR}
			for i := range capReferences {
				others.References = append(others.References, Reference{Name: fmt.Sprint("Medication/", i), Codings: []Coding{{System: codes.RxNorm, Code: "11295"}}})
			}
			apply(others)
			after, restored := rendered(u.Chart().Rooms), rendered(log.restore(t).Chart().Rooms)
			if after == before || after != restored {
				t.Errorf("before\n%s\nafter\n%s\nrestored\n%s", before, after, restored)
			}
		})
	}
}
