package charts

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/registry"
)

// Arrange updates which rooms are in the unit, and copies the charts of those rooms to the unit's chart. The argument
// rebuilt lists the rooms whose charts were rebuilt since the last call.
func (m *Builder) Arrange(rebuilt []*registry.Room) {
	for _, r := range rebuilt {
		if belongs := isIn(r, m.Facts.CensusAt); belongs != r.Belongs {
			if r.Belongs = belongs; belongs {
				m.Belonging++
			} else {
				m.Belonging--
			}
		}
	}
	changed := rebuilt
	if crowded := m.Belonging > m.Limits.Rooms; crowded || m.Crowded {
		m.Crowded = crowded
		m.chooseRooms()
		changed = m.Rooms
	}
	rearrange := m.Work.Plain
	for _, r := range changed {
		if in := r.Belongs && !r.CrowdedOut; in != r.InUnit {
			r.InUnit, rearrange = in, true
			m.Work.MarkRoom(r, registry.Unshown|registry.Rejudge)
		}
	}
	if !rearrange {
		for _, r := range rebuilt {
			if r.InUnit {
				m.Chart.Rooms[r.ChartAt] = r.Chart
			}
		}
		return
	}
	m.Work.Rearranged = true
	m.Chart.Rooms = m.Chart.Rooms[:0]
	for _, r := range m.Rooms {
		if r.InUnit {
			r.ChartAt = len(m.Chart.Rooms)
			m.Chart.Rooms = append(m.Chart.Rooms, r.Chart)
		}
	}
}

// isIn reports whether a room belongs to the unit. It does if the newest census lists it or if, since that census, a
// patient was in it or clinical ingest named it. The argument census is the time of the newest census.
func isIn(r *registry.Room, census acuity.Instant) bool {
	if r.Listed || r.Clinical || r.Placed {
		return true
	}
	for _, s := range slices.Backward(r.Stays) {
		if s.To == 0 || s.To > census {
			return true
		}
	}
	return false
}

// staleRoom is how long a room counts as in use after its newest statement, if only clinical ingest names the room
// (docs/decisions.md#clinical-only-rooms).
const staleRoom = 48 * registry.HourOf

// IsUsed reports whether a room of the unit is in use: a census lists it, a patient is in it, or a recent statement
// names it.
func IsUsed(r *registry.Room, now acuity.Instant) bool {
	return r.Listed || len(r.Here) > 0 || r.Anonymous() || r.Chart.NewestSignal+staleRoom > now
}

// chooseRooms limits the rooms in the unit to the maximum number. If more rooms than that belong to the unit, it
// chooses the rooms in use first, then the rooms that a patient left most recently.
func (m *Builder) chooseRooms() {
	var spare []*registry.Room
	used := 0
	for _, r := range m.Rooms {
		switch {
		case !r.Belongs:
		case IsUsed(r, m.Facts.Clock):
			used++
		default:
			spare = append(spare, r)
		}
	}
	slices.SortFunc(spare, func(a, b *registry.Room) int {
		return cmp.Or(cmp.Compare(leftAt(b), leftAt(a)), cmp.Compare(a.ID, b.ID))
	})
	out := spare[min(max(m.Limits.Rooms-used, 0), len(spare)):]
	for _, r := range m.Rooms {
		r.CrowdedOut = false
	}
	for _, r := range out {
		r.CrowdedOut = true
	}
}

// leftAt returns when a visit last left a room, or 0 if that is unknown.
func leftAt(r *registry.Room) (at acuity.Instant) {
	for i := range r.Stays {
		at = max(at, r.Stays[i].To)
	}
	return at
}

// CapPresent is the maximum number of newborns in a room's chart and, separately, of other patients. If there are
// more, the chart contains the most recent arrivals. A room's demand has a separate cap.
const CapPresent = 30
