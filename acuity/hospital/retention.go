package hospital

import (
	"cmp"
	"maps"
	"slices"

	"svc/acuity"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/location"
	"svc/acuity/registry"
	"svc/acuity/stays"
)

// applyRetention settles and removes old facts. It runs in the first step of each hour by the hospital's clock, so that
// a restored unit runs it in the same steps.
func (u *State) applyRetention(now acuity.Instant) {
	u.dedup.DropOld(now)
	u.hours.dropOldStaffing()
	for _, r := range u.registry.Rooms {
		u.statements.FinalizeStatements(r, now)
		old := func(s facts.CensusStay) bool { return s.To.Add(registry.SettleAfter) <= now }
		if slices.ContainsFunc(r.Past, old) {
			r.Past = slices.DeleteFunc(r.Past, old)
			u.registry.Work.MarkRoom(r, registry.Unsaved|registry.Touched)
		}
	}
	u.statements.FinalizeUnassigned(now)
	u.removeVisits(now)
	u.registry.TouchedAfter(now - registry.HourOf) // drops the visits that are no longer recent, once the hour's snapshot has been made
	if len(u.names.Versions)+len(u.names.ByEncounter)+len(u.names.Resources)+len(u.names.Undecided) > 0 {
		u.names.Index()
	}
	u.registry.Work.RecountWaiting = true // which statements wait depends on the hour
}

// removeVisits removes the visits that can be removed (see isOver). It checks a visit that has only a name every
// time. It checks any other visit once while the visit is new, and then not until visitRetention has passed since the
// visit's last fact, because the visit cannot be removed earlier.
func (u *State) removeVisits(now acuity.Instant) {
	due := slices.SortedFunc(maps.Keys(u.registry.Unknown), func(a, b *registry.Visit) int { return cmp.Compare(a.ID, b.ID) })
	due = append(due, u.registry.Fresh...)
	u.registry.Fresh = nil
	for _, hour := range slices.Sorted(maps.Keys(u.registry.Checks)) {
		if hour > now.Hour() {
			break
		}
		due = append(due, u.registry.Checks[hour]...)
		delete(u.registry.Checks, hour)
	}
	var over []*registry.Visit
	for _, v := range due {
		switch {
		case u.registry.Visits[v.ID] != v || v.Forgotten: // the visit is already removed
		case isOver(v, now):
			over = appendRelated(over, v)
		case v.IsName(): // a visit that has only a name is checked each time
			v.InChecks = false
		default:
			hour := max(v.Touched.Add(visitRetention), now+1).Hour()
			u.registry.Checks[hour] = append(u.registry.Checks[hour], v)
		}
	}
	u.dropVisits(over)
}

// appendRelated appends a visit and the visits that share a timeline with it. They are removed together, because the
// timeline would change if one of them were missing.
func appendRelated(over []*registry.Visit, v *registry.Visit) []*registry.Visit {
	if !v.IsJoined() {
		v.Forgotten = true
		return append(over, v)
	}
	for _, o := range v.Related() {
		if !o.Forgotten {
			o.Forgotten, over = true, append(over, o)
		}
	}
	return over
}

// isOver reports whether a visit and all visits joined with it can be removed. A visit that is needed cannot
// ([registry.Visit.IsNeeded]). Any other visit can be removed 7 days after its discharge or its last fact, whichever
// is later. A visit from a batch is stored for 28 days after its discharge, in case another batch covers the same
// hours. A visit that has only a name can be removed as soon as it has no statements.
func isOver(v *registry.Visit, now acuity.Instant) bool {
	if !v.IsJoined() {
		return isOverAlone(v, now)
	}
	for _, o := range v.Related() {
		if !isOverAlone(o, now) {
			return false
		}
	}
	return true
}

// isOverAlone reports whether a visit can be removed, regardless of the visits that share a timeline with it.
func isOverAlone(v *registry.Visit, now acuity.Instant) bool {
	if v.IsNeeded() {
		return false
	}
	if v.IsName() && v.Joined.Head == nil {
		return v.Statements.Len()+len(v.ResourceStatements) == 0
	}
	if v.Timeline.ClosedAt.Add(backfillDays) > now && v.Feed() == acuity.ChannelBatch {
		return false
	}
	return max(v.Touched, v.Timeline.ClosedAt).Add(visitRetention) <= now
}

// dropVisits removes visits. The rooms that the visits added remain. dropVisits iterates only once over each list in
// the unit.
func (u *State) dropVisits(over []*registry.Visit) {
	if len(over) == 0 {
		return
	}
	u.registry.Work.DropPast = true
	for _, v := range over {
		v.Forgotten = true
		u.locations.ForgetPlaces(v.Events)
		u.removeFromRooms(v)
	}
	u.registry.Work.RecountWaiting = true
	for _, r := range u.registry.Rooms {
		for h := range r.Statements.All {
			if v := u.registry.VisitOfStatement(h); v != nil && v.Forgotten {
				h.Owner = evidence.Owner{}
			}
		}
	}
	for _, r := range u.names.BySubject {
		u.statements.UnassignForgotten(r)
	}
	maps.DeleteFunc(u.names.Versions, func(_ string, v *registry.Visit) bool { return v.Forgotten })
	maps.DeleteFunc(u.names.ByEncounter, func(_ string, v *registry.Visit) bool { return v.Forgotten })
	maps.DeleteFunc(u.names.Resources, func(_ string, by identity.Holder) bool { return by.V != nil && by.V.Forgotten })
	isForgotten := func(v *registry.Visit) bool { return v.Forgotten }
	u.timelines.Newborns, u.names.Parts = slices.DeleteFunc(u.timelines.Newborns, isForgotten), slices.DeleteFunc(u.names.Parts, isForgotten)
	for _, v := range u.names.Parts { // the mother's visit may be among the removed ones
		u.registry.Work.MarkVisit(v, registry.Touched)
	}
	for i, list := range u.registry.Work.Visits {
		u.registry.Work.Visits[i] = slices.DeleteFunc(list, isForgotten)
	}
	for _, v := range over {
		u.registry.Slots.Release(v)
		v.Marks |= registry.Touched | registry.Unsaved // so that no list includes the visit again
	}
}

// removeFromRooms removes a dropped visit from all indexes and rooms.
func (u *State) removeFromRooms(v *registry.Visit) {
	for _, s := range v.Spans {
		if r := u.registry.Room(s.Room); s.Kind == location.InRoom && r != nil && (s.To == 0 || s.To > u.registry.Facts.CensusAt) && !r.Placed {
			r.Placed = true
			u.registry.Work.MarkRoom(r, registry.Unsaved)
		}
	}
	for _, w := range v.Withdrawn { // ADT once placed v there, so statements about the room do not belong to the room itself
		if r := u.registry.Room(w.Room); r != nil && r.Clinical && !r.Placed {
			r.Placed = true
			u.registry.Work.MarkRoom(r, registry.Unsaved)
		}
	}
	u.statements.ReplaceWithdrawn(v, nil)
	u.registry.TouchRoomsOf(v)
	u.stays.TouchIfListed(v)
	stays.RemoveRoomStays(&u.registry, v, v.Spans)
	u.names.TouchUnassignedOf(v)
	u.joins.Remove(v)
	u.names.Delist(v)
	u.registry.Work.RecordMoves(v.Moves(), nil)
	if v.CountedUnplaced {
		u.stays.Unplaced--
	}
	if v.CandidateFor != nil {
		v.CandidateFor.Candidates = slices.DeleteFunc(v.CandidateFor.Candidates, func(c registry.Candidate) bool { return c.V == v })
		u.registry.Work.MarkRoom(v.CandidateFor, registry.Touched)
	}
	if v.OccupantOf != nil {
		v.OccupantOf.OccupantVisit = nil
		u.registry.Work.MarkRoom(v.OccupantOf, registry.Touched)
	}
	u.registry.TouchRoomOf(v.Mother)
	v.LinkMother(nil)
	for len(v.Babies) > 0 {
		n := v.Babies[0]
		n.LinkMother(nil)
		u.registry.Work.MarkVisit(n, registry.Touched)
	}
	for h := range v.Statements.All {
		u.statements.DropStatement(h)
	}
	for i := range v.ResourceStatements {
		u.statements.DropResourceStatement(&v.ResourceStatements[i])
	}
	v.ResourceStatements = nil
	delete(u.registry.Visits, v.ID)
	delete(u.registry.Unknown, v)
	u.registry.EventBytes -= v.Bytes
	u.registry.Keys.Drop(u.registry.Keys.Visit(v.ID))
}
