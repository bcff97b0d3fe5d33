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
func (l *stayBuilder) partake(v *visit) {
	i, was := slices.BinarySearchFunc(l.parts, v.ID, byVisitID)
	is := v.timeline.MotherVisit != "" && !v.born
	switch {
	case is && !was:
		l.parts = slices.Insert(l.parts, i, v)
	case was && !is:
		l.parts = slices.Delete(l.parts, i, i+1)
	}
}

// neonateFor is how long after that version an admission still is a newborn's.
const neonateFor = 24 * time.Hour

// isNewborn reports whether the patient is a newborn: by an event, by the FHIR Patient,
// or because the visit is a part of the mother's.
func (l *stayBuilder) isNewborn(v *visit) bool {
	return v.born || l.names.isNeonate(v) || l.names.bornOf(v)
}

// bornOf reports whether a visit is a part of a visit of another patient. Names
// distinguish patients only if they are of one kind: the mother by number and by
// reference are not two. So both kinds must be known of one of them, or both have names
// by Encounters.
func (ns *names) bornOf(v *visit) bool {
	whole := ns.visitCalled(v.timeline.MotherVisit)
	if v.timeline.MotherVisit == "" || whole == nil || whole == v {
		return false
	}
	names, others := ns.namesOf(slices.Clone(v.names)), ns.namesOf(slices.Clone(whole.names))
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
func (l *stayBuilder) enlist(v *visit) {
	l.names.markNames(v)
	if !v.isCalled(&v.timeline) {
		l.names.markOthers(v)
		l.names.delist(v)
		for _, p := range append([]string{v.timeline.Patient}, v.timeline.Subjects...) {
			if p != "" && !slices.Contains(v.names, p) {
				v.names = append(v.names, p)
				l.names.patients[p] = append(l.names.patients[p], v)
			}
		}
		l.names.markNames(v)
		l.names.markOthers(v)
	}
	if v.timeline.Newborn != v.baby {
		v.baby = v.timeline.Newborn
		l.invalidateRooms(v) // statements go to a mother before a newborn
		if v.baby {
			i, _ := slices.BinarySearchFunc(l.newborns, v.ID, byVisitID)
			l.newborns = slices.Insert(l.newborns, i, v)
		} else {
			l.newborns = slices.DeleteFunc(l.newborns, func(n *visit) bool { return n == v })
			l.invalidateChart(binding{v: v.mother})
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
func (l *stayBuilder) settleMoves() {
	w, since := &l.work, l.facts.Clock.Add(-score.TurnoverWindow)
	n, _ := slices.BinarySearch(l.moves, since+1)
	l.moves = slices.Delete(l.moves, 0, n)
	if len(w.went)+len(w.came) <= fewMoves {
		for _, m := range w.came {
			if m > since {
				i, _ := slices.BinarySearch(l.moves, m)
				l.moves = slices.Insert(l.moves, i, m)
			}
		}
		for _, m := range w.went { // it may have come in this step
			if i, found := slices.BinarySearch(l.moves, m); found {
				l.moves = slices.Delete(l.moves, i, i+1)
			}
		}
	} else {
		for _, m := range w.came {
			if m > since {
				l.moves = append(l.moves, m)
			}
		}
		slices.Sort(l.moves)
		slices.Sort(w.went)
		went := w.went
		l.moves = slices.DeleteFunc(l.moves, func(m acuity.Instant) bool {
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
