package acuity

import (
	"cmp"
	"slices"
)

// visitOf returns the newest open visit of a patient, else her newest; nil if
// there is none.
func (u *Unit) visitOf(patient string, not *visit) *visit {
	var best *visit
	better := func(v *visit) bool {
		if best == nil || v.timeline.open != best.timeline.open {
			return best == nil || v.timeline.open
		}
		return cmp.Or(cmp.Compare(v.timeline.openedAt, best.timeline.openedAt), cmp.Compare(v.ID, best.ID)) > 0
	}
	look := func(name string) {
		for _, v := range u.patients[name] {
			if v != not && !v.timeline.newborn && better(v) {
				best = v
			}
		}
	}
	look(patient)
	for _, name := range u.persons[patient] {
		look(name)
	}
	return best
}

// enlist keeps the indexes by patient and of newborns.
func (u *Unit) enlist(v *visit) {
	u.markNames(v)
	if !v.isCalled(&v.timeline) {
		u.markOthers(v)
		u.delist(v)
		for _, p := range append([]string{v.timeline.patient}, v.timeline.referred...) {
			if p != "" && !slices.Contains(v.names, p) {
				v.names = append(v.names, p)
				u.patients[p] = append(u.patients[p], v)
			}
		}
		u.markNames(v)
		u.markOthers(v)
	}
	if v.timeline.newborn != v.baby {
		v.baby = v.timeline.newborn
		u.stir(v) // a statement is a mother's before it is a newborn's
		if v.baby {
			i, _ := slices.BinarySearchFunc(u.newborns, v.ID, byVisitID)
			u.newborns = slices.Insert(u.newborns, i, v)
		} else {
			u.newborns = slices.DeleteFunc(u.newborns, func(n *visit) bool { return n == v })
			u.stirBound(binding{v: v.mother})
			v.bornTo(nil)
		}
	}
}

// markOthers asks for the other visits of a visit's patient anew: by her names they know
// what Patients that were told apart say of them.
func (u *Unit) markOthers(v *visit) {
	if len(u.referents) == 0 {
		return
	}
	for _, n := range u.namesOf(slices.Clone(v.names)) {
		for _, o := range u.patients[n] {
			if o != v {
				u.markVisit(o, dirtyTimeline)
			}
		}
	}
}

func byVisitID(v *visit, id string) int { return cmp.Compare(v.ID, id) }

// delist takes a visit out of the index by patient.
func (u *Unit) delist(v *visit) {
	for _, p := range v.names {
		left := slices.DeleteFunc(u.patients[p], func(o *visit) bool { return o == v })
		if len(left) == 0 {
			delete(u.patients, p)
		} else {
			u.patients[p] = left
		}
	}
	v.names = nil
}

// isCalled reports whether the index has the patient under her names in a timeline.
func (v *visit) isCalled(s *timeline) bool {
	n := 0
	if s.patient != "" {
		n++
		if !slices.Contains(v.names, s.patient) {
			return false
		}
	}
	for _, p := range s.referred {
		if p == s.patient {
			continue
		}
		if n++; !slices.Contains(v.names, p) {
			return false
		}
	}
	return n == len(v.names)
}
