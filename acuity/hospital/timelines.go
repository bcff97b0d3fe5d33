package hospital

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/score"
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

// moves returns the moves of a visit that count for turnover. A newborn has none, even
// if its own events do not say that it is one, because turnover counts mothers (R12).
func (v *visit) moves() []acuity.Instant {
	if v.timeline.Newborn {
		return nil
	}
	return v.timeline.Moves
}

// turnOver records that the moves of a visit changed: mostly one was added.
func (w *work) turnOver(from, to []acuity.Instant) {
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	w.went, w.came = append(w.went, from...), append(w.came, to...)
}

// settleMoves updates the moves of the last 120 min after a step. If many changed, it
// rebuilds the list once, in any order.
func (t *timelines) settleMoves() {
	w, since := t.work, t.facts.Clock.Add(-score.TurnoverWindow)
	n, _ := slices.BinarySearch(t.moves, since+1)
	t.moves = slices.Delete(t.moves, 0, n)
	if len(w.went)+len(w.came) <= fewMoves {
		for _, m := range w.came {
			if m > since {
				i, _ := slices.BinarySearch(t.moves, m)
				t.moves = slices.Insert(t.moves, i, m)
			}
		}
		for _, m := range w.went { // it may have come in this step
			if i, found := slices.BinarySearch(t.moves, m); found {
				t.moves = slices.Delete(t.moves, i, i+1)
			}
		}
	} else {
		for _, m := range w.came {
			if m > since {
				t.moves = append(t.moves, m)
			}
		}
		slices.Sort(t.moves)
		slices.Sort(w.went)
		went := w.went
		t.moves = slices.DeleteFunc(t.moves, func(m acuity.Instant) bool {
			for len(went) > 0 && went[0] < m {
				went = went[1:]
			}
			gone := len(went) > 0 && went[0] == m
			if gone {
				went = went[1:]
			}
			return gone
		})
	}
	w.went, w.came = emptied(w.went), emptied(w.came)
}

// fewMoves is the number of moves that are inserted one by one.
const fewMoves = 8
