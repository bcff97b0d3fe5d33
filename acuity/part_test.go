package acuity

import (
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
	if !u.visits["birth"].story.newborn || u.visits["again"].story.newborn || len(u.newborns) != 1 {
		t.Errorf("birth %v, again %v", u.visits["birth"].story.newborn, u.visits["again"].story.newborn)
	}
	if len(u.moves) != 1 {
		t.Errorf("%d moves, want that of the second stay", len(u.moves))
	}
	told := at.Add(49 * time.Hour)
	u.Apply(ofReferents(told, Referent{Name: "ref", UpdatedAt: At(told), Codings: []Coding{Neonate}}), 4)
	if !u.visits["again"].story.newborn || len(u.moves) != 0 {
		t.Errorf("told again: %v, %d moves", u.visits["again"].story.newborn, len(u.moves))
	}
	u.Apply(ofReferents(told.Add(time.Minute), Referent{Name: "ref", Patient: "number", UpdatedAt: At(told.Add(time.Minute))}), 5)
	if u.visits["again"].story.newborn || len(u.newborns) != 0 || len(u.moves) != 1 {
		t.Errorf("taken back: %d newborns, %d moves", len(u.newborns), len(u.moves))
	}
}
