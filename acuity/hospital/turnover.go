package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/score"
)

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
