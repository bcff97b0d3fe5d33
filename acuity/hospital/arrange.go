package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
)

// arrange puts the charts of the rooms of the unit together, after those of some rooms were made
// anew.
func (m *chartBuilder) arrange(rebuilt []*room) {
	for _, r := range rebuilt {
		if belongs := r.isIn(m.facts.CensusAt); belongs != r.belongs {
			if r.belongs = belongs; belongs {
				m.belonging++
			} else {
				m.belonging--
			}
		}
	}
	changed := rebuilt
	if crowded := m.belonging > m.limits.rooms; crowded || m.crowded {
		m.crowded = crowded
		m.chooseRooms()
		changed = m.rooms
	}
	rearrange := m.work.plain
	for _, r := range changed {
		if in := r.belongs && !r.crowdedOut; in != r.inUnit {
			r.inUnit, rearrange = in, true
			m.work.markRoom(r, unshown|rejudge)
		}
	}
	if !rearrange {
		for _, r := range rebuilt {
			if r.inUnit {
				m.chart.Rooms[r.chartAt] = r.chart
			}
		}
		return
	}
	m.work.rearranged = true
	m.chart.Rooms = m.chart.Rooms[:0]
	for _, r := range m.rooms {
		if r.inUnit {
			r.chartAt = len(m.chart.Rooms)
			m.chart.Rooms = append(m.chart.Rooms, r.chart)
		}
	}
}

// isIn reports whether a room belongs to the unit: the newest census, at that instant, lists it, or
// since then a patient was placed there or a statement named it.
func (r *room) isIn(census acuity.Instant) bool {
	if r.Listed || r.Clinical || r.Placed {
		return true
	}
	for _, s := range slices.Backward(r.stays) {
		if s.To == 0 || s.To > census {
			return true
		}
	}
	return false
}

// staleRoom is how long a room that only clinical ingest knows is in use after its
// newest statement (docs/decisions.md#clinical-only-rooms).
const staleRoom = 48 * hourOf

// isUsed reports whether a room of the unit is in use: a census lists it, a patient is
// in it, or it has a recent statement.
func (r *room) isUsed(now acuity.Instant) bool {
	return r.Listed || len(r.here) > 0 || r.anonymous() || r.chart.NewestSignal+staleRoom > now
}

// chooseRooms decides which rooms are in the unit if too many belong to it: those in
// use, then those left last.
func (m *chartBuilder) chooseRooms() {
	var spare []*room
	used := 0
	for _, r := range m.rooms {
		switch {
		case !r.belongs:
		case r.isUsed(m.facts.Clock):
			used++
		default:
			spare = append(spare, r)
		}
	}
	slices.SortFunc(spare, func(a, b *room) int {
		return cmp.Or(cmp.Compare(b.leftAt(), a.leftAt()), cmp.Compare(a.ID, b.ID))
	})
	out := spare[min(max(m.limits.rooms-used, 0), len(spare)):]
	for _, r := range m.rooms {
		r.crowdedOut = false
	}
	for _, r := range out {
		r.crowdedOut = true
	}
}

// leftAt returns when a visit last left a room; 0: unknown.
func (r *room) leftAt() (at acuity.Instant) {
	for i := range r.stays {
		at = max(at, r.stays[i].To)
	}
	return at
}
