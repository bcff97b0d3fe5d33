package acuity

import "slices"

// moves returns those of a visit that count for turnover: none of a newborn, perhaps not
// one by its own events, since that counts mothers (R12).
func (v *visit) moves() []Instant {
	if v.timeline.newborn {
		return nil
	}
	return v.timeline.moves
}

// turnOver notes that the moves of a visit are others than they were: mostly one came.
func (u *Unit) turnOver(from, to []Instant) {
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	u.work.went, u.work.came = append(u.work.went, from...), append(u.work.came, to...)
}

// settleMoves brings those of the last 120 min up to what came and went in a step. Of
// many the list is made anew once, whatever their order.
func (u *Unit) settleMoves() {
	w, since := &u.work, u.facts.Clock.Add(-turnoverWindow)
	n, _ := slices.BinarySearch(u.moves, since+1)
	u.moves = slices.Delete(u.moves, 0, n)
	if len(w.went)+len(w.came) <= fewMoves {
		for _, m := range w.came {
			if m > since {
				i, _ := slices.BinarySearch(u.moves, m)
				u.moves = slices.Insert(u.moves, i, m)
			}
		}
		for _, m := range w.went { // perhaps one that came in this step
			if i, found := slices.BinarySearch(u.moves, m); found {
				u.moves = slices.Delete(u.moves, i, i+1)
			}
		}
	} else {
		for _, m := range w.came {
			if m > since {
				u.moves = append(u.moves, m)
			}
		}
		slices.Sort(u.moves)
		slices.Sort(w.went)
		went := w.went
		u.moves = slices.DeleteFunc(u.moves, func(m Instant) bool {
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

// fewMoves are put in their places one by one.
const fewMoves = 8
