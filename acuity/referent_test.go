package acuity

import (
	"fmt"
	"testing"
	"time"
)

func ofReferents(at time.Time, list ...Referent) *Observation {
	return &Observation{Hospital: "north", ReceivedAt: At(at), Channel: ChannelFHIR, Referents: list}
}

// A drug that a statement only names becomes known, and unknown codes are no work
// any more, whenever the Medication comes; a newer version of it counts.
func TestMedicationComesLater(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u := NewUnit("north")
	said := &Observation{
		Hospital: "north", ReceivedAt: At(at), Channel: ChannelClinical, Room: &RoomRef{ID: 4},
		Signals: []Signal{{Room: 4, Kind: KindMedication, System: SystemLocal, Code: "Medication/m", StartedAt: At(at)}},
	}
	if c := u.Apply(said, 1); len(c.Activated) != 0 || len(c.Unmapped) != 1 || len(u.codes) != 1 {
		t.Fatalf("%+v, %d codes", c, len(u.codes))
	}
	magnesium := Referent{Name: "Medication/m", UpdatedAt: At(at), Codings: []Coding{{System: RxNorm, Code: "6585"}}}
	if c := u.Apply(ofReferents(at, magnesium), 2); len(c.Activated) != 1 || len(u.codes) != 0 {
		t.Fatalf("%+v, %d codes", c, len(u.codes))
	}
	water := Referent{Name: "Medication/m", UpdatedAt: At(at.Add(-time.Hour)), Codings: []Coding{{System: RxNorm, Code: "11295"}}}
	if c := u.Apply(ofReferents(at, water), 3); len(c.Expired) != 0 {
		t.Errorf("an older version counts: %+v", c)
	}
	water.UpdatedAt = At(at.Add(time.Hour))
	if c := u.Apply(ofReferents(at, water), 4); len(c.Expired) != 1 {
		t.Errorf("a newer version does not count: %+v", c)
	}
}

// The newest are kept, also over a restore.
func TestReferentsAreBounded(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u := NewUnit("north")
	kept := map[string]State{}
	for i := range capReferents + 10 {
		u.Apply(ofReferents(at, Referent{Name: fmt.Sprint("Medication/", i), Codings: []Coding{{RxNorm, "6585", ""}}}), int64(i))
		u.Dirty(func(key []byte, s State) {
			if s == nil {
				delete(kept, string(key))
			} else if r, ok := s.(*ReferentState); ok {
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
		if len(unit.referents) != capReferents || unit.referents["Medication/9"] != nil || unit.referents["Medication/10"] == nil {
			t.Errorf("%d referents", len(unit.referents))
		}
	}
}

// What is forgotten counts no more: the unit is as one that is restored without it.
func TestForgottenReferentCountsNoMore(t *testing.T) {
	now := day
	for name, c := range map[string]struct {
		referent Referent
		said     Observation
	}{
		"Medication": {
			Referent{Name: "Medication/m", Codings: []Coding{{System: RxNorm, Code: "6585"}}},
			spoken(now, 4, Signal{Room: 4, Kind: KindMedication, System: SystemLocal, Code: "Medication/m", StartedAt: now}),
		},
		"Location": {
			Referent{Name: "Location/l", Place: ldr("L1")},
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
			apply(Observation{Channel: ChannelFHIR, Referents: []Referent{c.referent}})
			apply(c.said)
			before := rendered(u.Chart().Rooms)
			others := Observation{Channel: ChannelFHIR}
			for i := range capReferents {
				others.Referents = append(others.Referents, Referent{Name: fmt.Sprint("Medication/", i), Codings: []Coding{{System: RxNorm, Code: "11295"}}})
			}
			apply(others)
			after, restored := rendered(u.Chart().Rooms), rendered(log.restore(t).Chart().Rooms)
			if after == before || after != restored {
				t.Errorf("before\n%s\nafter\n%s\nrestored\n%s", before, after, restored)
			}
		})
	}
}
