package acuity

import (
	"cmp"
	"maps"
	"slices"
)

// unknownVisits are the visits of which nothing is known but that statements name
// them: no event, no census. A statement may come before the visit that it is about.
type unknownVisits map[*visit]struct{}

// sorted returns the visits by id.
func (l unknownVisits) sorted() []*visit {
	return slices.SortedFunc(maps.Keys(l), func(a, b *visit) int { return cmp.Compare(a.ID, b.ID) })
}

// indexKnown keeps the set of unknown visits after the facts of a visit came or went, and
// has housekeeping look at a visit that is known.
func (u *Unit) indexKnown(v *visit) {
	if v.isName() {
		u.unknown[v] = struct{}{}
		return
	}
	delete(u.unknown, v)
	if !v.watched {
		v.watched, u.fresh = true, append(u.fresh, v)
	}
}
