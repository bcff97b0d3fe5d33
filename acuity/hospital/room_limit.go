package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/location"
)

// staleRoom is how long a room that only clinical ingest knows is in use after its
// newest statement (scoring-decisions 15).
const staleRoom = 48 * hourOf

// isUsed reports whether a room of the unit is in use: a census lists it, a patient is
// in it, or it has a recent statement.
func (r *room) isUsed(now acuity.Instant) bool {
	return r.Listed || len(r.here) > 0 || r.anonymous() || r.chart.NewestSignal+staleRoom > now
}

// isRoomy reports whether every room that an observation could name fits: nearly always.
func (c *capacity) isRoomy(o *acuity.Observation) bool {
	n := len(o.Events) + 1
	return len(c.chart.Rooms)+n <= c.limits.rooms && len(c.rooms)+n <= c.limits.known && len(c.locations.located)+2*n <= c.limits.known
}

// roomForRoom reports whether a room may come into use: it is in use, or one more may
// be.
func (c *capacity) roomForRoom(in *intake, id int32) bool {
	r := c.room(id)
	if in.roomy || in.newRooms[id] || r != nil && r.inUnit && r.isUsed(c.facts.Clock) {
		return true
	}
	if in.newRooms == nil {
		in.newRooms = map[int32]bool{}
		for _, r := range c.rooms {
			if r.inUnit && r.isUsed(c.facts.Clock) {
				in.inUse++
			}
		}
	}
	if in.inUse+len(in.newRooms) >= c.limits.rooms || r == nil && len(c.rooms)+len(in.newRooms) >= c.limits.known {
		return false
	}
	in.newRooms[id] = true
	return true
}

// roomForPlace is roomForRoom for the place of an event.
func (c *capacity) roomForPlace(in *intake, e *acuity.Event) bool {
	if in.roomy || e.Void { // a withdrawal is never refused
		return true
	}
	for _, l := range [...]*acuity.Location{&e.Place, &e.Prior} {
		if *l != (acuity.Location{}) && c.locations.located[*l] == nil && len(c.locations.located) >= c.limits.known {
			return false // one more place to remember
		}
	}
	if e.Place.IsZero() || adt.IsCancel(e.Type) || e.Type == acuity.A03 || e.Type == acuity.EventOther {
		return true
	}
	p := c.locations.table.Resolve(e.Place)
	return p.Kind != location.InRoom || c.roomForRoom(in, p.Room)
}

// chooseRooms decides which rooms are in the unit if too many belong to it: those in
// use, then those left last.
func (c *capacity) chooseRooms() {
	var spare []*room
	used := 0
	for _, r := range c.rooms {
		switch {
		case !r.belongs:
		case r.isUsed(c.facts.Clock):
			used++
		default:
			spare = append(spare, r)
		}
	}
	slices.SortFunc(spare, func(a, b *room) int {
		return cmp.Or(cmp.Compare(b.leftAt(), a.leftAt()), cmp.Compare(a.ID, b.ID))
	})
	out := spare[min(max(c.limits.rooms-used, 0), len(spare)):]
	for _, r := range c.rooms {
		r.spare = false
	}
	for _, r := range out {
		r.spare = true
	}
}

// leftAt returns when a visit last left a room; 0: unknown.
func (r *room) leftAt() (at acuity.Instant) {
	for i := range r.stays {
		at = max(at, r.stays[i].To)
	}
	return at
}

// forgetRooms drops rooms that have only a name, once nearly as many are known as may
// be. It reports whether it dropped any.
func (g *registry) forgetRooms() bool {
	before := len(g.rooms)
	g.rooms = slices.DeleteFunc(g.rooms, func(r *room) bool {
		if r.inUnit || r.belongs || len(r.stays) > 0 || r.statements.Len() > 0 || len(r.Past) > 0 || r.Occupant != nil || len(r.candidates) > 0 {
			return false
		}
		g.keys.drop(g.keys.room(r.ID))
		written := &g.work.rooms[markState.bit()]
		*written = slices.DeleteFunc(*written, func(o *room) bool { return o == r })
		return true
	})
	if len(g.rooms) == before {
		return false
	}
	g.work.learn = true
	return true
}
