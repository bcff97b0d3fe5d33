package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
)

// derive brings everything derived up to the facts, and touches only what is marked. The
// result does not depend on the order of the marks.
func (u *State) derive() {
	u.settleTable()
	if u.work.plain {
		u.forgetDerived()
		u.markAll()
	}
	u.stays.buildTimelines()
	u.stays.chooseOccupants()
	u.stays.placeVisits()
	u.statements.assignStatements()
	for _, r := range u.work.rooms.with(dirtyAssignment) {
		r.marks &^= dirtyAssignment
		u.statements.reassignStatements(r)
	}
	u.work.rooms.reset(dirtyAssignment)
	for _, r := range u.work.rooms.with(markStatements) {
		r.marks &^= markStatements
		u.statements.assignNew(r)
	}
	u.work.rooms.reset(markStatements)
	for _, r := range u.work.rooms.with(dirtyChart) {
		r.marks &^= dirtyChart
		before := r.chart
		r.chart, u.work.chart = u.work.chart, acuity.RoomChart{}
		u.charts.rebuild(r)
		if r.chart.Equal(&before) {
			r.chart, before = before, r.chart
		} else {
			u.work.markRoom(r, markView|markJudge)
		}
		u.work.chart = before
	}
	u.charts.arrange()
}

// markAll marks everything: after a restore, a first census, or a change of the local
// settings.
func (u *State) markAll() {
	for _, v := range u.visits {
		u.work.markVisit(v, dirtyTimeline|dirtyLocation)
	}
	for _, r := range u.rooms {
		u.work.markRoom(r, dirtyOccupant|dirtyAssignment|dirtyChart)
	}
	for _, r := range u.names.bySubject {
		u.work.markUnassigned(r)
	}
}

// buildTimelines builds the timelines of the marked visits.
func (l *stayBuilder) buildTimelines() {
	if len(l.work.visits.with(dirtyTimeline)) == 0 && !l.work.parts {
		return
	}
	l.work.parts = false
	how := adt.Options{SameRoom: l.locations.table.SameRoom, IsWard: l.locations.table.IsWard, TrustA08: l.settings.switchesInForce().TrustA08Location}
	for i := 0; i < len(l.work.visits.with(dirtyTimeline)); i++ { // a visit may mark others
		v := l.work.visits.with(dirtyTimeline)[i]
		v.marks &^= dirtyTimeline
		how.FoldAt = v.FoldAt
		moved := append(l.work.moved[:0], v.moves()...)
		l.work.waits = l.work.waits || len(v.timeline.Waiting) > 0
		v.timeline.Rebuild(v.events, how)
		v.primary = chosen{}
		v.born = v.timeline.Newborn
		v.timeline.Newborn = v.born || v.baby // the loop below decides
		l.work.turnOver(moved, v.moves())
		l.work.moved = moved
		if len(v.timeline.Waiting) > 0 {
			l.work.waits = true
			if !v.cancels {
				v.cancels, l.cancels = true, append(l.cancels, v)
			}
		}
		l.work.withdrawn = appendWithdrawn(l.work.withdrawn[:0], &v.timeline, &l.locations.table)
		l.statements.replaceWithdrawn(v, l.work.withdrawn)
		l.partake(v)
		l.enlist(v)
		l.work.markVisit(v, dirtyLocation)
	}
	for _, list := range [...][]*visit{l.work.visits.with(dirtyTimeline), l.parts} {
		for _, v := range list {
			if is := l.isNewborn(v); is != v.timeline.Newborn {
				moved := v.moves()
				v.timeline.Newborn, v.primary = is, chosen{}
				l.work.turnOver(moved, v.moves())
				l.enlist(v)
				l.work.markVisit(v, dirtyLocation)
			}
			if order := l.names.orderOf(v); order != v.order {
				v.order = order
				l.work.markVisit(v, dirtyLocation)
			}
		}
	}
	l.work.visits.reset(dirtyTimeline)
}

// chooseOccupants decides which visits are the occupants that censuses saw without a
// visit. If a room has several candidates, the one that came last wins.
func (l *stayBuilder) chooseOccupants() {
	for i := 0; i < len(l.work.visits.with(dirtyLocation)); i++ {
		v := l.work.visits.with(dirtyLocation)[i]
		r, from := l.occupantCandidate(v)
		if v.candidateFor != nil {
			v.candidateFor.candidates = slices.DeleteFunc(v.candidateFor.candidates, func(c candidate) bool { return c.v == v })
			l.work.markRoom(v.candidateFor, dirtyOccupant)
		}
		v.candidateFor = r
		if r != nil {
			r.candidates = append(r.candidates, candidate{v, from})
			l.work.markRoom(r, dirtyOccupant)
		}
	}
	for _, r := range l.work.rooms.with(dirtyOccupant) {
		r.marks &^= dirtyOccupant
		var best candidate
		for _, c := range r.candidates {
			if best.v == nil || cmp.Or(cmp.Compare(c.from, best.from), cmp.Compare(c.v.ID, best.v.ID)) > 0 {
				best = c
			}
		}
		if r.Occupant == nil {
			best.v = nil
		}
		if r.occupantVisit == best.v {
			continue
		}
		if old := r.occupantVisit; old != nil && old.occupantOf == r {
			old.occupantOf = nil
			l.work.markVisit(old, dirtyLocation)
		}
		r.occupantVisit = best.v
		if best.v != nil {
			best.v.occupantOf = r
			l.work.markVisit(best.v, dirtyLocation)
		}
		l.work.markRoom(r, dirtyAssignment|dirtyChart)
	}
	l.work.rooms.reset(dirtyOccupant)
}

// arrange puts the charts of the rooms of the unit together.
func (m *chartBuilder) arrange() {
	rebuilt := m.work.rooms.with(dirtyChart)
	defer m.work.rooms.reset(dirtyChart)
	for _, r := range rebuilt {
		if is := r.isIn(m.facts.CensusAt); is != r.belongs {
			if r.belongs = is; is {
				m.capacity.belonging++
			} else {
				m.capacity.belonging--
			}
		}
	}
	look := rebuilt
	if crowded := m.capacity.belonging > m.limits.rooms; crowded || m.capacity.crowded {
		m.capacity.crowded = crowded
		m.capacity.chooseRooms()
		look = m.rooms
	}
	for _, r := range look {
		if in := r.belongs && !r.spare; in != r.inUnit {
			r.inUnit = in
			m.work.markRoom(r, markView|markJudge)
			m.work.layout = true
		}
	}
	if m.work.layout {
		m.work.layout, m.work.known, m.work.relaid = false, true, true
		m.chart.Rooms = m.chart.Rooms[:0]
		for _, r := range m.rooms {
			if r.inUnit {
				r.chartAt = len(m.chart.Rooms)
				m.chart.Rooms = append(m.chart.Rooms, r.chart)
			}
		}
		return
	}
	for _, r := range rebuilt {
		if r.inUnit {
			m.chart.Rooms[r.chartAt] = r.chart
		}
	}
}

// isIn reports whether a room belongs to the unit: the newest census, at seen, lists it, or
// since then a patient was placed there or a statement named it.
func (r *room) isIn(seen acuity.Instant) bool {
	if r.Listed || r.Clinical || r.Placed {
		return true
	}
	for _, s := range slices.Backward(r.stays) {
		if s.To == 0 || s.To > seen {
			return true
		}
	}
	return false
}
