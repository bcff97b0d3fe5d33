package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/location"
)

// typicalEvent is the approximate size of an event in bytes.
const typicalEvent = 256

// capacity says what a hospital still may send within its limits.
type capacity struct {
	*registry
	names     *names
	locations *locations
}

// makeRoom forgets early if an observation could bring the hospital to a limit. It uses
// facts alone, so a replay forgets the same.
func (u *State) makeRoom(o *acuity.Observation) {
	if u.hours.isPast {
		return
	}
	u.dedup.forgetOldest(func(*DedupState) bool { return len(u.dedup.byID) > u.limits.identities })
	early := u.forgetEarly(o)
	if rooms := len(u.rooms) > u.limits.known*9/10 && u.forgetRooms(); rooms || early {
		u.derive() // an input reads what is derived
	}
}

// load is how much a hospital has of what is limited.
type load struct{ visits, bytes, statements int }

// exceeds reports whether the load is more than so many sixteenths of the limits.
func (l load) exceeds(of *limits, parts int) bool {
	return l.visits > of.visits*parts/16 || l.bytes > of.bytes/16*parts || l.statements > of.statements*parts/16
}

// forgetEarly forgets visits that are over, those without facts for the longest time
// first, if the observation might not fit. It reports whether it did.
func (u *State) forgetEarly(o *acuity.Observation) bool {
	l := load{len(u.visits), u.eventBytes + len(o.Events)*typicalEvent, u.statements.kept + len(o.Signals)}
	l.visits += u.capacity.newVisits(o)
	if !l.exceeds(&u.limits, 16) {
		return false
	}
	var over []*visit
	for _, v := range u.visits {
		if !v.isName() && !slices.ContainsFunc(v.related(), (*visit).isHere) {
			over = append(over, v)
		}
	}
	last := func(v *visit) acuity.Instant { return max(v.Touched, v.timeline.ClosedAt) }
	slices.SortFunc(over, func(a, b *visit) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a.ID, b.ID))
	})
	n := 0
	for ; n < len(over) && l.exceeds(&u.limits, 15); n++ {
		v := over[n]
		l = load{l.visits - 1, l.bytes - v.bytes, l.statements - v.statements.Len() - len(v.resourceStatements)}
	}
	var forgotten []*visit
	for _, v := range over[:n] {
		forgotten = appendRelated(forgotten, v)
	}
	u.forget(forgotten)
	return n > 0
}

// isHere reports whether a visit is somewhere now.
func (v *visit) isHere() bool {
	n := len(v.spans)
	return n > 0 && v.spans[n-1].To == 0
}

// newVisits returns how many visits an observation makes known at most; 0: all of them
// fit.
func (c *capacity) newVisits(o *acuity.Observation) (n int) {
	named := len(o.Events) + len(o.Signals)
	if o.Census != nil {
		named += len(o.Census.Rooms)
	}
	if len(c.visits)+named <= c.limits.visits {
		return 0
	}
	count := func(id string) {
		if id != "" && c.visits[id] == nil {
			n++
		}
	}
	for i := range o.Events {
		count(o.Events[i].Visit)
	}
	for i := range o.Signals {
		count(o.Signals[i].Visit)
	}
	if o.Census != nil {
		for i := range o.Census.Rooms {
			count(o.Census.Rooms[i].Visit)
		}
	}
	return n
}

// roomForVisit reports whether one more visit may be known.
func (c *capacity) roomForVisit() bool { return len(c.visits) < c.limits.visits }

// roomForEvent returns the reason for which an event cannot be taken, for itself or for
// its visit; "": it can. v is nil for a new visit.
func (c *capacity) roomForEvent(in *intake, v *visit, id string, e *acuity.Event) (reason string) {
	switch {
	case v == nil && !c.roomForVisit():
		return reasonVisits
	case c.eventBytes >= c.limits.bytes:
		return reasonEvents
	case !c.roomForPatient(in, v, id, e.Patient), e.Resource != "" && !c.roomForPatient(in, v, id, e.Subject):
		return reasonOfPatient
	case !c.roomForPlace(in, e):
		return reasonRooms
	}
	return ""
}

// roomForPatient reports whether a patient may have one more visit.
func (c *capacity) roomForPatient(in *intake, v *visit, id, patient string) bool {
	if patient == "" || v != nil && slices.Contains(v.names, patient) {
		return true
	}
	known := len(c.names.patients[patient])
	if known+len(in.o.Events) <= c.limits.ofPatient {
		return true
	}
	visits := in.newVisits[patient]
	if visits[id] {
		return true // it was counted
	}
	if known+len(visits) >= c.limits.ofPatient {
		return false
	}
	if in.newVisits == nil {
		in.newVisits = map[string]map[string]bool{}
	}
	if visits == nil {
		visits = map[string]bool{}
		in.newVisits[patient] = visits
	}
	visits[id] = true
	return true
}

// roomToWait reports whether one more statement may wait for a visit or a patient.
func (c *capacity) roomToWait(in *intake, to holder) bool {
	if to.v != nil && (!to.v.isName() || to.v.joined.head != nil) {
		return true
	}
	if in.waiting < 0 {
		in.waiting = 0
		for v := range c.unknown {
			if v.joined.head != nil {
				continue
			}
			in.waiting += v.statements.Len() + len(v.resourceStatements)
		}
		for _, r := range c.names.bySubject {
			in.waiting += len(r.statements)
		}
	}
	if in.waiting >= c.limits.waiting {
		if to.unassigned != nil && len(to.unassigned.statements) == 0 {
			c.names.drop(to.unassigned)
		}
		return false
	}
	in.waiting++
	return true
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

// forgetRooms drops rooms that have only a name, once nearly as many are known as may
// be. It reports whether it dropped any.
func (g *registry) forgetRooms() bool {
	before := len(g.rooms)
	g.rooms = slices.DeleteFunc(g.rooms, func(r *room) bool {
		if r.inUnit || r.belongs || len(r.stays) > 0 || r.statements.Len() > 0 || len(r.Past) > 0 || r.Occupant != nil || len(r.candidates) > 0 {
			return false
		}
		g.keys.drop(g.keys.room(r.ID))
		written := &g.work.rooms[unsaved.bit()]
		*written = slices.DeleteFunc(*written, func(o *room) bool { return o == r })
		return true
	})
	if len(g.rooms) == before {
		return false
	}
	g.work.rebuildTable = true
	return true
}
