package acuity

import (
	"cmp"
	"slices"
)

// staleRoom is how long a room that nothing but clinical ingest knows is in use after
// the newest statement (scoring-decisions 15).
const staleRoom = 48 * hourOf

// isUsed reports whether a room of the unit is in use: a census lists it, somebody is
// in it, or something was said there lately.
func (u *Unit) isUsed(r *room) bool {
	return r.Listed || len(r.here) > 0 || r.anonymous() || r.chart.NewestSignal+staleRoom > u.facts.Clock
}

// isRoomy reports whether there is room for every room that an observation could name:
// nearly always.
func (u *Unit) isRoomy(o *Observation) bool {
	n := len(o.Events) + 1
	return len(u.chart.Rooms)+n <= u.limits.rooms && len(u.rooms)+n <= u.limits.known && len(u.located)+2*n <= u.limits.known
}

// roomForRoom reports whether a room may come into use: it is, or there is one less in
// use than there may be.
func (u *Unit) roomForRoom(in *intake, id int32) bool {
	r := u.room(id)
	if in.roomy || in.newRooms[id] || r != nil && r.inUnit && u.isUsed(r) {
		return true
	}
	if in.newRooms == nil {
		in.newRooms = map[int32]bool{}
		for _, r := range u.rooms {
			if r.inUnit && u.isUsed(r) {
				in.inUse++
			}
		}
	}
	if in.inUse+len(in.newRooms) >= u.limits.rooms || r == nil && len(u.rooms)+len(in.newRooms) >= u.limits.known {
		return false
	}
	in.newRooms[id] = true
	return true
}

// roomForPlace is roomForRoom for the place of an event.
func (u *Unit) roomForPlace(in *intake, e *Event) bool {
	if in.roomy || e.Void { // what takes something back is never refused
		return true
	}
	for _, l := range [...]*Location{&e.Place, &e.Prior} {
		if *l != (Location{}) && u.located[*l] == nil && len(u.located) >= u.limits.known {
			return false // one more place to remember
		}
	}
	if e.Place.IsZero() || isCancel(e.Type) || e.Type == A03 || e.Type == EventOther {
		return true
	}
	p := u.table.resolve(e.Place)
	return p.Kind != inRoom || u.roomForRoom(in, p.Room)
}

// chooseRooms decides which rooms are in the unit, if more than there may be belong to it:
// those in use, then those that were left last.
func (u *Unit) chooseRooms() {
	var spare []*room
	used := 0
	for _, r := range u.rooms {
		switch {
		case !r.belongs:
		case u.isUsed(r):
			used++
		default:
			spare = append(spare, r)
		}
	}
	slices.SortFunc(spare, func(a, b *room) int {
		return cmp.Or(cmp.Compare(b.leftAt(), a.leftAt()), cmp.Compare(a.ID, b.ID))
	})
	out := spare[min(max(u.limits.rooms-used, 0), len(spare)):]
	for _, r := range u.rooms {
		r.spare = false
	}
	for _, r := range out {
		r.spare = true
	}
}

// leftAt returns when a visit last left a room; 0: nothing is known of that.
func (r *room) leftAt() (at Instant) {
	for i := range r.sits {
		at = max(at, r.sits[i].To)
	}
	return at
}

// forgetRooms drops the rooms of which nothing is known but what they are called, once
// there are nearly as many as may be remembered. It reports whether there were any.
func (u *Unit) forgetRooms() bool {
	before := len(u.rooms)
	u.rooms = slices.DeleteFunc(u.rooms, func(r *room) bool {
		if r.inUnit || r.belongs || len(r.sits) > 0 || r.threads.size > 0 || len(r.Past) > 0 || r.Occupant != nil || len(r.claims) > 0 {
			return false
		}
		u.dirty.gone = append(u.dirty.gone, string(u.roomKey(r.ID)))
		u.dirty.rooms = slices.DeleteFunc(u.dirty.rooms, func(o *room) bool { return o == r })
		return true
	})
	if len(u.rooms) == before {
		return false
	}
	u.work.learn = true
	return true
}
