package hospital

import (
	"slices"
	"time"
)

// partake keeps the index of the visits that are a part of another by an Encounter
// (partOf). If the other visit has another patient, this patient is her newborn
// (clinical-decisions F12), whichever of the two came first.
func (t *timelines) partake(v *visit) {
	i, was := slices.BinarySearchFunc(t.parts, v.ID, byVisitID)
	is := v.timeline.MotherVisit != "" && !v.born
	switch {
	case is && !was:
		t.parts = slices.Insert(t.parts, i, v)
	case was && !is:
		t.parts = slices.Delete(t.parts, i, i+1)
	}
}

// neonateFor is how long after that version an admission still is a newborn's.
const neonateFor = 24 * time.Hour

// isNewborn reports whether the patient is a newborn: by an event, by the FHIR Patient,
// or because the visit is a part of the mother's.
func (t *timelines) isNewborn(v *visit) bool {
	return v.born || t.people.isNeonate(v) || t.encounters.bornOf(v)
}

// bornOf reports whether a visit is a part of a visit of another patient. Names
// distinguish patients only if they are of one kind: the mother by number and by
// reference are not two. So both kinds must be known of one of them, or both have names
// by Encounters.
func (c *encounters) bornOf(v *visit) bool {
	whole := c.visitCalled(v.timeline.MotherVisit)
	if v.timeline.MotherVisit == "" || whole == nil || whole == v {
		return false
	}
	names, others := c.people.namesOf(slices.Clone(v.names)), c.people.namesOf(slices.Clone(whole.names))
	if len(names) == 0 || len(others) == 0 {
		return false
	}
	alike := len(v.timeline.Subjects) > 0 && len(whole.timeline.Subjects) > 0
	if !alike && len(names) == 1 && len(others) == 1 {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(others, n) })
}
