package evidence

import "svc/acuity"

// superseded returns the first of n statements, in order of arrival, that a later one
// about the same replaces; -1: none. The time of the later one must not be earlier. The
// hash distinguishes most things; false: the statement does not count. It visits each
// statement once.
func superseded(n int, hash func(i int) (uint64, bool), same func(i, j int) bool, at func(i int) acuity.Instant) int {
	if n < 2 {
		return -1
	}
	var array [2 * MaxStatements]int32
	places := array[:] // by hash: 1 + the statement of a thing that has the latest time
	if 2*n > len(places) {
		places = make([]int32, 2*n)
	}
	first := -1
	for i := n - 1; i >= 0; i-- {
		h, counts := hash(i)
		if !counts {
			continue
		}
		p := h % uint64(len(places))
		for places[p] != 0 && !same(i, int(places[p]-1)) {
			if p++; p == uint64(len(places)) {
				p = 0
			}
		}
		switch {
		case places[p] == 0:
			places[p] = int32(i + 1) //nolint:gosec // a list that is capped
		case at(i) <= at(int(places[p]-1)):
			first = i
		default:
			places[p] = int32(i + 1) //nolint:gosec // a list that is capped
		}
	}
	return first
}
