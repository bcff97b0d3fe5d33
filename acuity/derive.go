package acuity

import (
	"cmp"
	"slices"
)

// derive brings everything derived up to the facts, touching only what the
// marks ask for. Its result does not depend on the order of the marks.
func (u *Unit) derive() {
	u.settleTable()
	if u.plain {
		u.forgetDerived()
		u.markAll()
	}
	u.rebuildTimelines()
	u.chooseOccupants()
	u.seat()
	u.refer()
	for _, r := range u.work.rebind {
		r.marks &^= dirtyAssignment
		u.rebind(r)
	}
	u.work.rebind = u.work.rebind[:0]
	for _, r := range u.work.heard {
		r.marks &^= markHeard
		u.bindHeard(r)
	}
	u.work.heard = u.work.heard[:0]
	for _, r := range u.work.moving {
		r.marks &^= markProgress
		if r.marks&dirtyChart == 0 && !u.progress(r) {
			u.markRoom(r, dirtyChart)
		}
	}
	u.work.moving = u.work.moving[:0]
	for _, r := range u.work.rebuild {
		r.marks &^= dirtyChart
		before := r.chart
		r.chart, u.work.chart = u.work.chart, RoomChart{}
		u.rebuild(r)
		if r.chart.equal(&before) {
			r.chart, before = before, r.chart
		} else {
			u.markRoom(r, markView|markJudge)
		}
		u.work.chart = before
	}
	u.arrange()
}

// markAll asks for everything anew: after a restore, a census, a mapping or a
// change of the rooms known.
func (u *Unit) markAll() {
	for _, v := range u.visits {
		u.markVisit(v, dirtyTimeline|dirtyLocation)
	}
	for _, r := range u.rooms {
		u.markRoom(r, dirtyOccupant|dirtyAssignment|dirtyChart)
	}
	for _, r := range u.referrals {
		u.markReferral(r)
	}
}

// rebuildTimelines builds the timelines of the marked visits.
func (u *Unit) rebuildTimelines() {
	if len(u.work.visits) == 0 && !u.work.parts {
		return
	}
	u.work.parts = false
	how := timelineOptions{SameRoom: u.table.sameRoom, IsWard: u.table.isWard, TrustA08: u.setting().TrustA08Location}
	for i := 0; i < len(u.work.visits); i++ { // one may ask for others
		v := u.work.visits[i]
		v.marks &^= dirtyTimeline
		how.FoldAt = v.FoldAt
		moved := append(u.work.moved[:0], v.moves()...)
		u.waits = u.waits || len(v.timeline.waiting) > 0
		v.timeline.build(v.events, how)
		v.primary = chosen{}
		v.born = v.timeline.newborn
		v.timeline.newborn = v.born || v.baby // until all are told
		u.turnOver(moved, v.moves())
		u.work.moved = moved
		if len(v.timeline.waiting) > 0 {
			u.waits = true
			if !v.cancels {
				v.cancels, u.cancels = true, append(u.cancels, v)
			}
		}
		u.work.withdrawn = v.timeline.withdrawn(&u.table, u.work.withdrawn[:0])
		replaceWithdrawn(u, v, u.work.withdrawn)
		u.partake(v)
		u.enlist(v)
		u.markVisit(v, dirtyLocation)
	}
	for _, list := range [...][]*visit{u.work.visits, u.parts} {
		for _, v := range list {
			if is := u.isNewborn(v); is != v.timeline.newborn {
				moved := v.moves()
				v.timeline.newborn, v.primary = is, chosen{}
				u.turnOver(moved, v.moves())
				u.enlist(v)
				u.markVisit(v, dirtyLocation)
			}
			if order := u.orderOf(v); order != v.order {
				v.order = order
				u.markVisit(v, dirtyLocation)
			}
		}
	}
	u.work.visits = u.work.visits[:0]
}

// chooseOccupants finds the visits that censuses saw without naming them: of
// several that ADT has in the room, the one that came last.
func (u *Unit) chooseOccupants() {
	for i := 0; i < len(u.work.weave); i++ {
		v := u.work.weave[i]
		r, from := u.stake(v)
		if v.claimed != nil {
			v.claimed.claims = slices.DeleteFunc(v.claimed.claims, func(c claim) bool { return c.v == v })
			u.markRoom(v.claimed, dirtyOccupant)
		}
		v.claimed = r
		if r != nil {
			r.claims = append(r.claims, claim{v, from})
			u.markRoom(r, dirtyOccupant)
		}
	}
	for _, r := range u.work.adopt {
		r.marks &^= dirtyOccupant
		var best claim
		for _, c := range r.claims {
			if best.v == nil || cmp.Or(cmp.Compare(c.from, best.from), cmp.Compare(c.v.ID, best.v.ID)) > 0 {
				best = c
			}
		}
		if r.Occupant == nil {
			best.v = nil
		}
		if r.adopter == best.v {
			continue
		}
		if old := r.adopter; old != nil && old.adopts == r {
			old.adopts = nil
			u.markVisit(old, dirtyLocation)
		}
		r.adopter = best.v
		if best.v != nil {
			best.v.adopts = r
			u.markVisit(best.v, dirtyLocation)
		}
		u.markRoom(r, dirtyAssignment|dirtyChart)
	}
	u.work.adopt = u.work.adopt[:0]
}

// arrange puts the charts of the rooms in the unit together.
func (u *Unit) arrange() {
	rebuilt := u.work.rebuild
	u.work.rebuild = u.work.rebuild[:0]
	for _, r := range rebuilt {
		if is := u.isIn(r); is != r.belongs {
			if r.belongs = is; is {
				u.belonging++
			} else {
				u.belonging--
			}
		}
	}
	look := rebuilt
	if crowded := u.belonging > u.limits.rooms; crowded || u.crowded {
		u.crowded = crowded
		u.chooseRooms()
		look = u.rooms
	}
	for _, r := range look {
		if in := r.belongs && !r.spare; in != r.inUnit {
			r.inUnit = in
			u.markRoom(r, markView|markJudge)
			u.work.layout = true
		}
	}
	if u.work.layout {
		u.work.layout, u.work.known, u.work.relaid = false, true, true
		u.chart.Rooms = u.chart.Rooms[:0]
		for _, r := range u.rooms {
			if r.inUnit {
				r.chartAt = len(u.chart.Rooms)
				u.chart.Rooms = append(u.chart.Rooms, r.chart)
			}
		}
		return
	}
	for _, r := range rebuilt {
		if r.inUnit {
			u.chart.Rooms[r.chartAt] = r.chart
		}
	}
}

// isIn reports whether a room belongs to the unit: the newest census lists it,
// or since then somebody was placed or something was said there.
func (u *Unit) isIn(r *room) bool {
	if r.Listed || r.Clinical || r.Placed {
		return true
	}
	for _, s := range slices.Backward(r.sits) {
		if s.To == 0 || s.To > u.facts.CensusAt {
			return true
		}
	}
	return false
}
