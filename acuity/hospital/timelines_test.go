package hospital

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// A FHIR Patient version that says "neonate" marks a visit as a newborn's if the visit began before that version or
// within a day after it. A later version can undo this.
func TestNeonate(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	admitted := func(u *State, visit string, when time.Time, offset int64) {
		u.Apply(&acuity.Observation{Hospital: "north", ReceivedAt: acuity.At(when), Channel: acuity.ChannelFHIR, Events: []acuity.Event{{
			ID: visit, Type: acuity.A01, At: acuity.At(when), Visit: visit, Patient: "ref", Class: 'I', Resource: "r" + visit, Place: acuity.Location{PointOfCare: "LD", Room: "1"},
		}}}, offset)
	}
	u := New("north")
	u.Apply(ofReferences(at, acuity.Reference{Name: "ref", UpdatedAt: acuity.At(at), Codings: []acuity.Coding{acuity.Neonate}}), 1)
	admitted(u, "birth", at.Add(time.Hour), 2)
	admitted(u, "again", at.Add(48*time.Hour), 3)
	if !u.registry.Visits["birth"].Timeline.Newborn || u.registry.Visits["again"].Timeline.Newborn || len(u.timelines.Newborns) != 1 {
		t.Errorf("birth %v, again %v", u.registry.Visits["birth"].Timeline.Newborn, u.registry.Visits["again"].Timeline.Newborn)
	}
	if len(u.timelines.Moves) != 1 {
		t.Errorf("%d moves, want that of the second stay", len(u.timelines.Moves))
	}
	told := at.Add(49 * time.Hour)
	u.Apply(ofReferences(told, acuity.Reference{Name: "ref", UpdatedAt: acuity.At(told), Codings: []acuity.Coding{acuity.Neonate}}), 4)
	if !u.registry.Visits["again"].Timeline.Newborn || len(u.timelines.Moves) != 0 {
		t.Errorf("told again: %v, %d moves", u.registry.Visits["again"].Timeline.Newborn, len(u.timelines.Moves))
	}
	u.Apply(ofReferences(told.Add(time.Minute), acuity.Reference{Name: "ref", Patient: "number", UpdatedAt: acuity.At(told.Add(time.Minute))}), 5)
	if u.registry.Visits["again"].Timeline.Newborn || len(u.timelines.Newborns) != 0 || len(u.timelines.Moves) != 1 {
		t.Errorf("taken back: %d newborns, %d moves", len(u.timelines.Newborns), len(u.timelines.Moves))
	}
}

// The number of babies in a mother's chart is the highest birth order of her newborns, from their events or from FHIR
// Patients. The newest version of a Patient applies, even after a restore.
func TestBirthOrder(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u, kept, offset := New("north"), changelog{}, int64(0)
	apply := func(o *acuity.Observation) {
		offset++
		u.Apply(o, offset)
		kept.write(u)
	}
	patient := func(minute int, codings ...acuity.Coding) {
		when := at.Add(time.Duration(minute) * time.Minute)
		apply(ofReferences(at.Add(time.Hour), acuity.Reference{Name: "ref", Patient: "number", UpdatedAt: acuity.At(when), Codings: codings}))
	}
	want := func(when string, u *State, count uint8) {
		t.Helper()
		for _, r := range u.Chart().Rooms {
			for _, p := range r.Patients {
				if slices.ContainsFunc(p.Evidence, func(e acuity.Evidence) bool {
					return e.Factor == terminology.CatalogueIndex().Multiples && e.Count == count
				}) {
					return
				}
			}
		}
		t.Errorf("%s: want %d babies in %+v", when, count, u.Chart().Rooms)
	}
	order := func(n string) acuity.Coding { return acuity.Coding{System: acuity.MultipleBirth, Code: n} }
	stay := acuity.Event{Type: acuity.A01, At: acuity.At(at), Class: 'I', Place: acuity.Location{PointOfCare: "LD", Room: "1"}}
	mother, first, third := stay, stay, stay
	mother.ID, mother.Visit, mother.Patient = "m", "mother", "her"
	mother.Diagnoses, mother.DiagnosisMode = []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O30.009"}}, acuity.DiagnosisSnapshot
	first.ID, first.Visit, first.Patient, first.MotherVisit, first.Newborn, first.Babies = "a", "first", "one", "mother", true, 3
	third.ID, third.Visit, third.Patient, third.MotherVisit, third.Newborn = "b", "third", "number", "mother", true
	for _, e := range []acuity.Event{mother, third} {
		apply(&acuity.Observation{Hospital: "north", ReceivedAt: acuity.At(at), Channel: acuity.ChannelHL7, Events: []acuity.Event{e}})
	}
	want("unknown", u, 2)
	patient(1, order("4"))
	want("told apart", u, 4)
	patient(0, order("5"))
	want("an older version", u, 4)
	again := New("north")
	for key, s := range kept {
		if err := again.Restore(key, s); err != nil {
			t.Fatal(err)
		}
	}
	again.Restored()
	want("restored", again, 4)
	patient(2, acuity.Neonate, order("2"))
	want("corrected", u, 2)
	apply(&acuity.Observation{Hospital: "north", ReceivedAt: acuity.At(at), Channel: acuity.ChannelHL7, Events: []acuity.Event{first}})
	want("another one's event", u, 3)
	patient(3, order("4"))
	patient(4)
	want("taken back", u, 3)
}

// An event whose time is far in the future counts at its receipt, even when it is folded: later events still apply.
func TestFoldedEventOfTheFuture(t *testing.T) {
	u := New(testHospital)
	for n := range capEvents + 1 {
		e := acuity.Event{ID: fmt.Sprint(n), Type: acuity.A08, Visit: "v", Patient: "p"}
		switch n {
		case 0:
			e.Type, e.Place = acuity.A01, ldr("L1")
		case capEvents/4 - 1: // the newest of the events that are folded
			e.At = clockAt(1_000_000)
		}
		feed(u, arrival(clockAt(n), e))
	}
	c := last(feed(u, arrival(clockAt(3000), acuity.Event{ID: "moves", Type: acuity.A02, Visit: "v", Patient: "p", Place: ldr("L2")})))
	if c.Outcome != acuity.Applied || u.registry.Visits["v"].Folded == 0 {
		t.Errorf("%+v", c)
	}
}
