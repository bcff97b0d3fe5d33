package acuity

import (
	"slices"
	"time"
)

// partake keeps the index of the visits that are a part of another, as an Encounter
// says it (partOf). Its patient is the mother's newborn if the other is of another
// patient (clinical-decisions F12), whichever of the two is told first.
func (u *Unit) partake(v *visit) {
	i, was := slices.BinarySearchFunc(u.parts, v.ID, byVisitID)
	is := v.timeline.motherVisit != "" && !v.born
	switch {
	case is && !was:
		u.parts = slices.Insert(u.parts, i, v)
	case was && !is:
		u.parts = slices.Delete(u.parts, i, i+1)
	}
}

// Neonate is what the referent of a Patient has as its coding who is younger than 28
// days when it is told (SNOMED CT, Neonate (person)). Of a birth date nothing else is
// kept.
var Neonate = Coding{System: SNOMED, Code: "133933007"}

// neonateFor is how long after that an admission is one of a newborn all the same.
const neonateFor = 24 * time.Hour

// isNewborn reports whether the patient is a newborn: as an event says it, as the
// patient's own resource does, or because the visit is a part of the mother's.
func (u *Unit) isNewborn(v *visit) bool { return v.born || u.isNeonate(v) || u.bornOf(v) }

// isNeonate reports whether a Patient that was told apart says so.
func (u *Unit) isNeonate(v *visit) bool {
	if len(u.referents) == 0 || v.timeline.openedAt == 0 {
		return false
	}
	return slices.ContainsFunc(u.namesOf(slices.Clone(v.names)), func(name string) bool {
		r := u.referents[name]
		return r != nil && r.isNeonate() && v.timeline.openedAt <= r.UpdatedAt.Add(neonateFor)
	})
}

func (r *Referent) isNeonate() bool { return len(r.Codings) > 0 && r.Codings[0] == Neonate }

// MultipleBirth is the system of the coding that the referent of a Patient has who is of
// a multiple birth: its code is the order of birth, a digit.
const MultipleBirth = "multiple-birth"

// birthOrder returns the order of birth that a Patient says; 0: none.
func (r *Referent) birthOrder() uint8 {
	for _, c := range r.Codings {
		if c.System == MultipleBirth && len(c.Code) == 1 && c.Code[0] >= '1' && c.Code[0] <= '9' {
			return c.Code[0] - '0'
		}
	}
	return 0
}

// ofPerson reports whether the referent says something about a patient beside the names.
func (r *Referent) ofPerson() bool { return r.isNeonate() || r.birthOrder() != 0 }

// orderOf returns the order of birth of a newborn, as a Patient that was told apart says
// it; 0: none does.
func (u *Unit) orderOf(v *visit) (order uint8) {
	if len(u.referents) == 0 || !v.timeline.newborn {
		return 0
	}
	for _, name := range u.namesOf(slices.Clone(v.names)) {
		if r := u.referents[name]; r != nil {
			order = max(order, r.birthOrder())
		}
	}
	return order
}

// bornOf reports whether a visit is a part of a visit of another patient. Two names
// tell patients apart only if they are of one kind: the mother by number and the same
// mother by reference are no two, so one of the two must be known by both, or both by
// what Encounters call them.
func (u *Unit) bornOf(v *visit) bool {
	whole := u.visitCalled(v.timeline.motherVisit)
	if v.timeline.motherVisit == "" || whole == nil || whole == v {
		return false
	}
	names, others := u.namesOf(slices.Clone(v.names)), u.namesOf(slices.Clone(whole.names))
	if len(names) == 0 || len(others) == 0 {
		return false
	}
	alike := len(v.timeline.referred) > 0 && len(whole.timeline.referred) > 0
	if !alike && len(names) == 1 && len(others) == 1 {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(others, n) })
}
