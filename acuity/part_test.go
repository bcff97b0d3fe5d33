package acuity

import (
	"slices"
	"testing"
	"time"
)

// Who is a newborn by a Patient that was told apart is so for the stays that began
// before that, or within a day after; a later version takes it back.
func TestNeonate(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	admitted := func(u *Unit, visit string, when time.Time, offset int64) {
		u.Apply(&Observation{Hospital: "north", ReceivedAt: At(when), Channel: ChannelFHIR, Events: []Event{{
			ID: visit, Type: A01, At: At(when), Visit: visit, Patient: "ref", Class: 'I', Resource: "r" + visit, Place: Location{PointOfCare: "LD", Room: "1"},
		}}}, offset)
	}
	u := NewUnit("north")
	u.Apply(ofReferents(at, Referent{Name: "ref", UpdatedAt: At(at), Codings: []Coding{Neonate}}), 1)
	admitted(u, "birth", at.Add(time.Hour), 2)
	admitted(u, "again", at.Add(48*time.Hour), 3)
	if !u.visits["birth"].timeline.newborn || u.visits["again"].timeline.newborn || len(u.newborns) != 1 {
		t.Errorf("birth %v, again %v", u.visits["birth"].timeline.newborn, u.visits["again"].timeline.newborn)
	}
	if len(u.moves) != 1 {
		t.Errorf("%d moves, want that of the second stay", len(u.moves))
	}
	told := at.Add(49 * time.Hour)
	u.Apply(ofReferents(told, Referent{Name: "ref", UpdatedAt: At(told), Codings: []Coding{Neonate}}), 4)
	if !u.visits["again"].timeline.newborn || len(u.moves) != 0 {
		t.Errorf("told again: %v, %d moves", u.visits["again"].timeline.newborn, len(u.moves))
	}
	u.Apply(ofReferents(told.Add(time.Minute), Referent{Name: "ref", Patient: "number", UpdatedAt: At(told.Add(time.Minute))}), 5)
	if u.visits["again"].timeline.newborn || len(u.newborns) != 0 || len(u.moves) != 1 {
		t.Errorf("taken back: %d newborns, %d moves", len(u.newborns), len(u.moves))
	}
}

// How many are born a mother's chart says by the highest order of her newborns, by their
// events or by Patients that were told apart, of which the newest version counts, over
// a restore too.
func TestBirthOrder(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	u, kept, offset := NewUnit("north"), changelog{}, int64(0)
	apply := func(o *Observation) {
		offset++
		u.Apply(o, offset)
		kept.write(u)
	}
	patient := func(minute int, codings ...Coding) {
		when := at.Add(time.Duration(minute) * time.Minute)
		apply(ofReferents(at.Add(time.Hour), Referent{Name: "ref", Patient: "number", UpdatedAt: At(when), Codings: codings}))
	}
	want := func(when string, u *Unit, count uint8) {
		t.Helper()
		for _, r := range u.Chart().Rooms {
			for _, p := range r.Patients {
				if slices.ContainsFunc(p.Evidence, func(e Evidence) bool { return e.Factor == u.cat.index.multiples && e.Count == count }) {
					return
				}
			}
		}
		t.Errorf("%s: want %d babies in %+v", when, count, u.Chart().Rooms)
	}
	order := func(n string) Coding { return Coding{System: MultipleBirth, Code: n} }
	stay := Event{Type: A01, At: At(at), Class: 'I', Place: Location{PointOfCare: "LD", Room: "1"}}
	mother, first, third := stay, stay, stay
	mother.ID, mother.Visit, mother.Patient = "m", "mother", "her"
	mother.Diagnoses, mother.DiagnosisMode = []Diagnosis{{System: ICD10CM, Code: "O30.009"}}, DiagnosisSnapshot
	first.ID, first.Visit, first.Patient, first.MotherVisit, first.Newborn, first.Babies = "a", "first", "one", "mother", true, 3
	third.ID, third.Visit, third.Patient, third.MotherVisit, third.Newborn = "b", "third", "number", "mother", true
	for _, e := range []Event{mother, third} {
		apply(&Observation{Hospital: "north", ReceivedAt: At(at), Channel: ChannelHL7, Events: []Event{e}})
	}
	want("unknown", u, 2)
	patient(1, order("4"))
	want("told apart", u, 4)
	patient(0, order("5"))
	want("an older version", u, 4)
	again := NewUnit("north")
	for key, s := range kept {
		if err := again.Restore(key, s); err != nil {
			t.Fatal(err)
		}
	}
	again.Restored()
	want("restored", again, 4)
	patient(2, Neonate, order("2"))
	want("corrected", u, 2)
	apply(&Observation{Hospital: "north", ReceivedAt: At(at), Channel: ChannelHL7, Events: []Event{first}})
	want("another one's event", u, 3)
	patient(3, order("4"))
	patient(4)
	want("taken back", u, 3)
}
