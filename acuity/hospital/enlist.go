package hospital

import (
	"cmp"
	"slices"

	"svc/acuity/adt"
)

// enlist keeps the indexes by patient and of newborns.
func (t *timelines) enlist(v *visit) {
	t.unassigned.markNames(v)
	if !v.isCalled(&v.timeline) {
		t.people.markOthers(v)
		t.people.delist(v)
		for _, p := range append([]string{v.timeline.Patient}, v.timeline.Subjects...) {
			if p != "" && !slices.Contains(v.names, p) {
				v.names = append(v.names, p)
				t.people.patients[p] = append(t.people.patients[p], v)
			}
		}
		t.unassigned.markNames(v)
		t.people.markOthers(v)
	}
	if v.timeline.Newborn != v.baby {
		v.baby = v.timeline.Newborn
		t.registry.invalidateRooms(v) // statements go to a mother before a newborn
		if v.baby {
			i, _ := slices.BinarySearchFunc(t.stays.newborns, v.ID, byVisitID)
			t.stays.newborns = slices.Insert(t.stays.newborns, i, v)
		} else {
			t.stays.newborns = slices.DeleteFunc(t.stays.newborns, func(n *visit) bool { return n == v })
			t.registry.invalidateChart(binding{v: v.mother})
			v.bornTo(nil)
		}
	}
}

func byVisitID(v *visit, id string) int { return cmp.Compare(v.ID, id) }

// isCalled reports whether the index has the visit under all patient names of a
// timeline.
func (v *visit) isCalled(s *adt.Timeline) bool {
	n := 0
	if s.Patient != "" {
		n++
		if !slices.Contains(v.names, s.Patient) {
			return false
		}
	}
	for _, p := range s.Subjects {
		if p == s.Patient {
			continue
		}
		if n++; !slices.Contains(v.names, p) {
			return false
		}
	}
	return n == len(v.names)
}
