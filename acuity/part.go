package acuity

import (
	"slices"
	"time"

	"svc/acuity/codes"
)

// partake keeps the index of the visits that are a part of another by an Encounter
// (partOf). If the other visit has another patient, this patient is her newborn
// (clinical-decisions F12), whichever of the two came first.
func (t *timelines) partake(v *visit) {
	i, was := slices.BinarySearchFunc(t.parts, v.ID, byVisitID)
	is := v.timeline.motherVisit != "" && !v.born
	switch {
	case is && !was:
		t.parts = slices.Insert(t.parts, i, v)
	case was && !is:
		t.parts = slices.Delete(t.parts, i, i+1)
	}
}

// Neonate is the coding of a FHIR Patient who was younger than 28 days at the time of
// the version (SNOMED CT, Neonate (person)). Nothing else is kept of a birth date.
var Neonate = Coding{System: codes.SNOMED, Code: "133933007"}

// neonateFor is how long after that version an admission still is a newborn's.
const neonateFor = 24 * time.Hour

// isNewborn reports whether the patient is a newborn: by an event, by the FHIR Patient,
// or because the visit is a part of the mother's.
func (t *timelines) isNewborn(v *visit) bool {
	return v.born || t.people.isNeonate(v) || t.encounters.bornOf(v)
}

func (r *Reference) isNeonate() bool { return len(r.Codings) > 0 && r.Codings[0] == Neonate }

// MultipleBirth is the system of a coding for a FHIR Patient of a multiple birth. Its
// code is the order of birth, a digit.
const MultipleBirth = "multiple-birth"

// birthOrder returns the order of birth of a Patient; 0: none.
func (r *Reference) birthOrder() uint8 {
	for _, c := range r.Codings {
		if c.System == MultipleBirth && len(c.Code) == 1 && c.Code[0] >= '1' && c.Code[0] <= '9' {
			return c.Code[0] - '0'
		}
	}
	return 0
}

// ofPerson reports whether the reference says more about a patient than names.
func (r *Reference) ofPerson() bool { return r.isNeonate() || r.birthOrder() != 0 }

// bornOf reports whether a visit is a part of a visit of another patient. Names
// distinguish patients only if they are of one kind: the mother by number and by
// reference are not two. So both kinds must be known of one of them, or both have names
// by Encounters.
func (c *encounters) bornOf(v *visit) bool {
	whole := c.visitCalled(v.timeline.motherVisit)
	if v.timeline.motherVisit == "" || whole == nil || whole == v {
		return false
	}
	names, others := c.people.namesOf(slices.Clone(v.names)), c.people.namesOf(slices.Clone(whole.names))
	if len(names) == 0 || len(others) == 0 {
		return false
	}
	alike := len(v.timeline.subjects) > 0 && len(whole.timeline.subjects) > 0
	if !alike && len(names) == 1 && len(others) == 1 {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(others, n) })
}
