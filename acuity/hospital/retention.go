package hospital

import (
	"cmp"
	"maps"
	"slices"

	"svc/acuity"
	"svc/acuity/evidence"
	"svc/acuity/location"
)

// hourOf is an hour of the hospital's clock.
const hourOf acuity.Instant = 3_600_000

// applyRetention settles and forgets old facts. It runs at the first step of each hour
// of the hospital's clock, so a restored unit does it at the same steps.
func (u *State) applyRetention(now acuity.Instant) {
	u.dedup.forgetOldest(func(s *DedupState) bool { return s.At.Add(dedupFor) <= now })
	for _, r := range u.rooms {
		u.statements.settleStatements(r, now)
		old := func(s CensusStay) bool { return s.To.Add(settleAfter) <= now }
		if slices.ContainsFunc(r.Past, old) {
			r.Past = slices.DeleteFunc(r.Past, old)
			u.work.markRoom(r, unsaved|touched)
		}
	}
	u.statements.settleUnassigned(now)
	u.forgetVisits(now)
	u.touchedAfter(now - hourOf) // that hour has been cut
	if len(u.names.versions)+len(u.names.byEncounter)+len(u.names.resources) > 0 {
		u.names.index()
	}
	u.work.recountWaiting = true // what waits depends on the hour
}

// recordFact records that a fact names a visit.
func (g *registry) recordFact(v *visit) {
	v.Touched = g.facts.Clock
	if !v.inRecent {
		v.inRecent, g.recent = true, append(g.recent, v)
	}
}

// touchedAfter returns the visits that a fact named after an instant. Callers never ask
// for an earlier one again.
func (g *registry) touchedAfter(at acuity.Instant) []*visit {
	if g.work.plain {
		return slices.Collect(maps.Values(g.visits))
	}
	g.recent = slices.DeleteFunc(g.recent, func(v *visit) bool {
		v.inRecent = v.Touched > at && g.visits[v.ID] == v
		return !v.inRecent
	})
	return g.recent
}

// forgetVisits drops the visits that are over. A visit cannot be over before forgetVisit
// has passed since its last fact, so it is checked no sooner. Only a name without events
// may be.
func (u *State) forgetVisits(now acuity.Instant) {
	due := slices.SortedFunc(maps.Keys(u.unknown), func(a, b *visit) int { return cmp.Compare(a.ID, b.ID) })
	due = append(due, u.fresh...)
	u.fresh = nil
	for _, hour := range slices.Sorted(maps.Keys(u.checks)) {
		if hour > now.Hour() {
			break
		}
		due = append(due, u.checks[hour]...)
		delete(u.checks, hour)
	}
	var over []*visit
	for _, v := range due {
		switch {
		case u.visits[v.ID] != v || v.forgotten: // it is forgotten already
		case v.isOver(now):
			over = appendRelated(over, v)
		case v.isName(): // names are checked each time
			v.inChecks = false
		default:
			hour := max(v.Touched.Add(forgetVisit), now+1).Hour()
			u.checks[hour] = append(u.checks[hour], v)
		}
	}
	u.forget(over)
}

// appendRelated appends a visit and those that share a timeline with it: one without the
// others would be another visit.
func appendRelated(over []*visit, v *visit) []*visit {
	if !v.isJoined() {
		v.forgotten = true
		return append(over, v)
	}
	for _, o := range v.related() {
		if !o.forgotten {
			o.forgotten, over = true, append(over, o)
		}
	}
	return over
}

// isOver reports whether a visit can be forgotten: 7 days after its discharge, or after
// its last fact if it is nowhere. A visit by batch stays 28 days after the discharge,
// for another batch about the same hours.
func (v *visit) isOver(now acuity.Instant) bool {
	if !v.isJoined() {
		return v.isOverAlone(now)
	}
	for _, o := range v.related() {
		if !o.isOverAlone(now) {
			return false
		}
	}
	return true
}

// isOverAlone is isOver without regard for the visits that share a timeline with it.
func (v *visit) isOverAlone(now acuity.Instant) bool {
	if n := len(v.spans); n > 0 && v.spans[n-1].To == 0 {
		return false
	}
	if v.isName() && v.joined.head == nil {
		return v.statements.Len()+len(v.resourceStatements) == 0
	}
	if v.timeline.ClosedAt.Add(backfillDays) > now && v.feed() == acuity.ChannelBatch {
		return false
	}
	return max(v.Touched, v.timeline.ClosedAt).Add(forgetVisit) <= now
}

// forget drops visits. Rooms that they made known stay. It goes through each list of the
// unit once.
func (u *State) forget(over []*visit) {
	if len(over) == 0 {
		return
	}
	u.work.dropPast = true
	for _, v := range over {
		v.forgotten = true
		u.locations.forgetPlaces(v.events)
		u.takeOut(v)
	}
	u.work.recountWaiting = true
	for _, r := range u.rooms {
		for h := range r.statements.All {
			if v := u.visitOfStatement(h); v != nil && v.forgotten {
				h.Owner = evidence.Owner{}
			}
		}
	}
	for _, r := range u.names.bySubject {
		u.statements.unassignForgotten(r)
	}
	maps.DeleteFunc(u.names.versions, func(_ string, v *visit) bool { return v.forgotten })
	maps.DeleteFunc(u.names.byEncounter, func(_ string, v *visit) bool { return v.forgotten })
	maps.DeleteFunc(u.names.resources, func(_ string, by holder) bool { return by.v != nil && by.v.forgotten })
	isForgotten := func(v *visit) bool { return v.forgotten }
	u.timelines.newborns, u.names.parts = slices.DeleteFunc(u.timelines.newborns, isForgotten), slices.DeleteFunc(u.names.parts, isForgotten)
	for _, v := range u.names.parts { // a forgotten visit may be that of the mother
		u.work.markVisit(v, touched)
	}
	for i, list := range u.work.visits {
		u.work.visits[i] = slices.DeleteFunc(list, isForgotten)
	}
	for _, v := range over {
		u.slots.release(v)
		v.marks |= touched | unsaved // no list may take it again
	}
}

// takeOut removes a forgotten visit from all indexes and rooms.
func (u *State) takeOut(v *visit) {
	for _, s := range v.spans {
		if r := u.room(s.Room); s.Kind == location.InRoom && r != nil && (s.To == 0 || s.To > u.facts.CensusAt) && !r.Placed {
			r.Placed = true
			u.work.markRoom(r, unsaved)
		}
	}
	for _, w := range v.withdrawn { // else its statements there would be the room's own
		if r := u.room(w.room); r != nil && r.Clinical && !r.Placed {
			r.Placed = true
			u.work.markRoom(r, unsaved)
		}
	}
	u.statements.replaceWithdrawn(v, nil)
	u.touchRoomsOf(v)
	u.stays.touchIfListed(v)
	u.removeRoomStays(v, v.spans)
	u.names.touchUnassignedOf(v)
	u.joins.leave(v)
	u.names.delist(v)
	u.work.turnOver(v.moves(), nil)
	if v.countedUnplaced {
		u.stays.unplaced--
	}
	if v.candidateFor != nil {
		v.candidateFor.candidates = slices.DeleteFunc(v.candidateFor.candidates, func(c candidate) bool { return c.v == v })
		u.work.markRoom(v.candidateFor, touched)
	}
	if v.occupantOf != nil {
		v.occupantOf.occupantVisit = nil
		u.work.markRoom(v.occupantOf, touched)
	}
	u.touchRoomOf(v.mother)
	v.linkMother(nil)
	for len(v.babies) > 0 {
		n := v.babies[0]
		n.linkMother(nil)
		u.work.markVisit(n, touched)
	}
	for h := range v.statements.All {
		u.statements.lose(h)
	}
	for i := range v.resourceStatements {
		u.statements.dropResourceStatement(&v.resourceStatements[i])
	}
	v.resourceStatements = nil
	delete(u.visits, v.ID)
	delete(u.unknown, v)
	u.eventBytes -= v.bytes
	u.keys.drop(u.keys.visit(v.ID))
}

// list records the newborns that a census lists; nil: there is no census.
func (l *stayBuilder) list(f *CensusFacts) {
	if f == nil {
		return
	}
	for i := range f.Newborns {
		if id := f.Newborns[i].Visit; id != "" {
			l.listed[id] = true
		}
	}
}
