package hospital

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/acuity/identity"
)

func ofReferences(at time.Time, list ...acuity.Reference) *acuity.Observation {
	return &acuity.Observation{Hospital: "north", ReceivedAt: acuity.At(at), Channel: acuity.ChannelFHIR, References: list}
}

// A statement may name its drug only by a reference to a Medication. The drug is known once the Medication arrives,
// and is then removed from the worklist. A newer version of the Medication replaces the drug.
func TestMedicationComesLater(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u := New("north")
	said := &acuity.Observation{
		Hospital: "north", ReceivedAt: acuity.At(at), Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: 4},
		Signals: []acuity.Signal{{Room: 4, Kind: catalogue.KindMedication, System: codes.SystemLocal, Code: "Medication/m", StartedAt: acuity.At(at)}},
	}
	if c := u.Apply(said, 1); len(c.Activated) != 0 || len(c.Unmapped) != 1 || len(u.worklist.Codes.Rows) != 1 {
		t.Fatalf("%+v, %d codes", c, len(u.worklist.Codes.Rows))
	}
	magnesium := acuity.Reference{Name: "Medication/m", UpdatedAt: acuity.At(at), Codings: []acuity.Coding{{System: codes.RxNorm, Code: "6585"}}}
	if c := u.Apply(ofReferences(at, magnesium), 2); len(c.Activated) != 1 || len(u.worklist.Codes.Rows) != 0 {
		t.Fatalf("%+v, %d codes", c, len(u.worklist.Codes.Rows))
	}
	water := acuity.Reference{Name: "Medication/m", UpdatedAt: acuity.At(at.Add(-time.Hour)), Codings: []acuity.Coding{{System: codes.RxNorm, Code: "11295"}}}
	if c := u.Apply(ofReferences(at, water), 3); len(c.Expired) != 0 {
		t.Errorf("an older version counts: %+v", c)
	}
	water.UpdatedAt = acuity.At(at.Add(time.Hour))
	if c := u.Apply(ofReferences(at, water), 4); len(c.Expired) != 1 {
		t.Errorf("a newer version does not count: %+v", c)
	}
}

// The newest references are kept, even after a restore.
func TestReferencesAreBounded(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u := New("north")
	kept := map[string]facts.Record{}
	for i := range identity.CapReferences + 10 {
		u.Apply(ofReferences(at, acuity.Reference{Name: fmt.Sprint("Medication/", i), Codings: []acuity.Coding{{System: codes.RxNorm, Code: "6585", Display: ""}}}), int64(i))
		u.Dirty(func(key []byte, s facts.Record) {
			if s == nil {
				delete(kept, string(key))
			} else if r, ok := s.(*facts.ReferenceState); ok {
				kept[string(key)] = r
			}
		})
	}
	again := New("north")
	for key, s := range kept {
		if err := again.Restore(key, s); err != nil {
			t.Fatal(err)
		}
	}
	again.Restored()
	for _, unit := range []*State{u, again} {
		if len(unit.names.References.Rows) != identity.CapReferences || unit.names.References.Rows["Medication/9"] != nil || unit.names.References.Rows["Medication/10"] == nil {
			t.Errorf("%d references", len(unit.names.References.Rows))
		}
	}
}

// A dropped reference has no effect: the unit equals a unit restored without the reference.
func TestForgottenReferenceHasNoEffect(t *testing.T) {
	now := day
	for name, c := range map[string]struct {
		reference acuity.Reference
		said      acuity.Observation
	}{
		"Medication": {
			acuity.Reference{Name: "Medication/m", Codings: []acuity.Coding{{System: codes.RxNorm, Code: "6585"}}},
			clinicalRequest(now, 4, acuity.Signal{Room: 4, Kind: catalogue.KindMedication, System: codes.SystemLocal, Code: "Medication/m", StartedAt: now}),
		},
		"Location": {
			acuity.Reference{Name: "Location/l", Place: ldr("L1")},
			arrival(now, acuity.Event{ID: "e", Type: acuity.A01, Visit: "v", Class: 'I', Place: acuity.Location{Room: "Location/l"}}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			u, log := New(testHospital), changelog{}
			apply := func(o acuity.Observation) {
				o.Hospital, o.ReceivedAt = testHospital, now
				u.Apply(&o, 1)
				log.write(u)
			}
			apply(acuity.Observation{Channel: acuity.ChannelFHIR, References: []acuity.Reference{c.reference}})
			apply(c.said)
			before := rendered(u.Chart().Rooms)
			others := acuity.Observation{Channel: acuity.ChannelFHIR}
			for i := range identity.CapReferences {
				others.References = append(others.References, acuity.Reference{Name: fmt.Sprint("Medication/", i), Codings: []acuity.Coding{{System: codes.RxNorm, Code: "11295"}}})
			}
			apply(others)
			after, restored := rendered(u.Chart().Rooms), rendered(log.restore(t).Chart().Rooms)
			if after == before || after != restored {
				t.Errorf("before\n%s\nafter\n%s\nrestored\n%s", before, after, restored)
			}
		})
	}
}
