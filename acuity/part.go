package acuity

import "slices"

// partake keeps the index of the visits that are a part of another, as an Encounter
// says it (partOf). Its patient is the mother's newborn if the other is of another
// patient (clinical-decisions F12), whichever of the two is told first.
func (u *Unit) partake(v *visit) {
	i, was := slices.BinarySearchFunc(u.parts, v.ID, byVisitID)
	is := v.story.motherVisit != "" && !v.story.newborn
	switch {
	case is && !was:
		u.parts = slices.Insert(u.parts, i, v)
	case was && !is:
		u.parts = slices.Delete(u.parts, i, i+1)
	}
	v.story.newborn = v.story.newborn || is && v.baby // until all are told
}

// bornOf reports whether a visit is a part of a visit of another patient. Two names
// tell patients apart only if they are of one kind: the mother by number and the same
// mother by reference are no two, so one of the two must be known by both, or both by
// what Encounters call them.
func (u *Unit) bornOf(v *visit) bool {
	whole := u.visitCalled(v.story.motherVisit)
	if whole == nil || whole == v {
		return false
	}
	names, others := u.namesOf(slices.Clone(v.names)), u.namesOf(slices.Clone(whole.names))
	if len(names) == 0 || len(others) == 0 {
		return false
	}
	alike := len(v.story.referred) > 0 && len(whole.story.referred) > 0
	if !alike && len(names) == 1 && len(others) == 1 {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(others, n) })
}
