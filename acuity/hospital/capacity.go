package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/charts"
	"svc/acuity/identity"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// typicalEvent is the approximate size of an event in bytes.
const typicalEvent = 256

// capacity determines how much more data a hospital may send within its limits.
type capacity struct {
	*registry.Registry
	names     *identity.Names
	locations *identity.Locations
}

// freeCapacity frees capacity before an observation is applied. It drops the oldest identities beyond their limit. If
// the observation might not fit, it drops visits that are no longer in the unit, and if there are nearly too many
// rooms, it drops rooms without facts. These decisions depend only on facts, so reading the log again has the same
// result.
func (u *State) freeCapacity(o *acuity.Observation) {
	if u.hours.isPast {
		return
	}
	u.dedup.DropBeyond(u.registry.Limits.Identities)
	early := u.removeEarly(o)
	if rooms := len(u.registry.Rooms) > u.registry.Limits.Known*9/10 && removeRooms(&u.registry); rooms || early {
		u.derive() // capacity reads derived state
	}
}

// load is how much of each limit a hospital uses.
type load struct{ visits, bytes, statements int }

// exceeds reports whether the load exceeds the given number of sixteenths of any limit.
func (l load) exceeds(of *registry.Limits, parts int) bool {
	return l.visits > of.Visits*parts/16 || l.bytes > of.Bytes/16*parts || l.statements > of.Statements*parts/16
}

// removeEarly removes visits that are no longer in the unit if the observation might not fit, starting with those
// whose last fact is oldest, until at most 15/16 of each limit is used. It reports whether it removed any visit.
func (u *State) removeEarly(o *acuity.Observation) bool {
	l := load{len(u.registry.Visits), u.registry.EventBytes + len(o.Events)*typicalEvent, u.statements.Kept + len(o.Signals)}
	l.visits += u.capacity.newVisits(o)
	if !l.exceeds(&u.registry.Limits, 16) {
		return false
	}
	var over []*registry.Visit
	for _, v := range u.registry.Visits {
		if !v.IsName() && !slices.ContainsFunc(v.Related(), (*registry.Visit).IsNeeded) {
			over = append(over, v)
		}
	}
	last := func(v *registry.Visit) acuity.Instant { return max(v.Touched, v.Timeline.ClosedAt) }
	slices.SortFunc(over, func(a, b *registry.Visit) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a.ID, b.ID))
	})
	n := 0
	for ; n < len(over) && l.exceeds(&u.registry.Limits, 15); n++ {
		v := over[n]
		l = load{l.visits - 1, l.bytes - v.Bytes, l.statements - v.Statements.Len() - len(v.ResourceStatements)}
	}
	var forgotten []*registry.Visit
	for _, v := range over[:n] {
		forgotten = appendRelated(forgotten, v)
	}
	u.dropVisits(forgotten)
	return n > 0
}

// newVisits returns the maximum number of visits that an observation can add. As a shortcut, it returns 0 if the
// limits allow a new visit for every event, signal and census row.
func (c *capacity) newVisits(o *acuity.Observation) (n int) {
	named := len(o.Events) + len(o.Signals)
	if o.Census != nil {
		named += len(o.Census.Rooms)
	}
	if len(c.Visits)+named <= c.Limits.Visits {
		return 0
	}
	count := func(id string) {
		if id != "" && c.Visits[id] == nil {
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

// allowsVisit reports whether the limits allow one more visit.
func (c *capacity) allowsVisit() bool { return len(c.Visits) < c.Limits.Visits }

// refusalOfEvent returns the reason for refusing an event because the event or its visit exceeds a limit, or "" if
// neither does. For a new visit, v is nil.
func (c *capacity) refusalOfEvent(in *registry.Intake, v *registry.Visit, id string, e *acuity.Event) (reason string) {
	switch {
	case v == nil && !c.allowsVisit():
		return reasonVisits
	case c.EventBytes >= c.Limits.Bytes:
		return reasonEvents
	case !c.allowsPatient(in, v, id, e.Patient), e.Resource != "" && !c.allowsPatient(in, v, id, e.Subject):
		return reasonOfPatient
	case !c.allowsPlace(in, e):
		return reasonRooms
	}
	return ""
}

// allowsPatient reports whether a visit may name the given patient: the visit already does, or the limits allow one
// more visit of the patient. If the number of visits is close to the limit, allowsPatient counts the visit.
func (c *capacity) allowsPatient(in *registry.Intake, v *registry.Visit, id, patient string) bool {
	if patient == "" || v != nil && slices.Contains(v.Names, patient) {
		return true
	}
	known := len(c.names.Patients[patient])
	if known+len(in.Observation.Events) <= c.Limits.OfPatient {
		return true
	}
	visits := in.NewVisits[patient]
	if visits[id] {
		return true // the visit was already counted
	}
	if known+len(visits) >= c.Limits.OfPatient {
		return false
	}
	if in.NewVisits == nil {
		in.NewVisits = map[string]map[string]bool{}
	}
	if visits == nil {
		visits = map[string]bool{}
		in.NewVisits[patient] = visits
	}
	visits[id] = true
	return true
}

// allowsWaiting reports whether the limits allow one more statement for the given holder. A statement for a known
// visit is always allowed. Any other statement waits for its visit or patient, and allowsWaiting counts it. If
// allowsWaiting returns false, it also drops a patient without a visit and without other statements.
func (c *capacity) allowsWaiting(in *registry.Intake, to identity.Holder) bool {
	if to.V != nil && (!to.V.IsName() || to.V.Joined.Head != nil) {
		return true
	}
	if in.Waiting < 0 {
		in.Waiting = 0
		for v := range c.Unknown {
			if v.Joined.Head != nil {
				continue
			}
			in.Waiting += v.Statements.Len() + len(v.ResourceStatements)
		}
		for _, r := range c.names.BySubject {
			in.Waiting += len(r.Statements)
		}
	}
	if in.Waiting >= c.Limits.Waiting {
		if to.Unassigned != nil && len(to.Unassigned.Statements) == 0 {
			c.names.Drop(to.Unassigned)
		}
		return false
	}
	in.Waiting++
	return true
}

// allowsAllRooms reports whether the limits would allow an observation even if every event in it named a new room. They
// usually do, so that the rooms need no individual checks.
func (c *capacity) allowsAllRooms(o *acuity.Observation) bool {
	n := len(o.Events) + 1
	return len(c.Chart.Rooms)+n <= c.Limits.Rooms && len(c.Rooms)+n <= c.Limits.Known && len(c.locations.Located)+2*n <= c.Limits.Known
}

// allowsRoom reports whether a room may be in use: either the room is already in use, or the limits allow one more.
// In the second case, allowsRoom counts the room.
func (c *capacity) allowsRoom(in *registry.Intake, id int32) bool {
	r := c.Room(id)
	if in.Roomy || in.NewRooms[id] || r != nil && r.InUnit && charts.IsUsed(r, c.Facts.Clock) {
		return true
	}
	if in.NewRooms == nil {
		in.NewRooms = map[int32]bool{}
		for _, r := range c.Rooms {
			if r.InUnit && charts.IsUsed(r, c.Facts.Clock) {
				in.InUse++
			}
		}
	}
	if in.InUse+len(in.NewRooms) >= c.Limits.Rooms || r == nil && len(c.Rooms)+len(in.NewRooms) >= c.Limits.Known {
		return false
	}
	in.NewRooms[id] = true
	return true
}

// allowsPlace reports whether the limits allow the places in an event, and whether the room in which the event places
// the patient may be in use; see allowsRoom.
func (c *capacity) allowsPlace(in *registry.Intake, e *acuity.Event) bool {
	if in.Roomy || e.Void { // withdrawing an event is never refused
		return true
	}
	for _, l := range [...]*acuity.Location{&e.Place, &e.Prior} {
		if *l != (acuity.Location{}) && c.locations.Located[*l] == nil && len(c.locations.Located) >= c.Limits.Known {
			return false // the limits do not allow another place
		}
	}
	if e.Place.IsZero() || adt.IsCancel(e.Type) || e.Type == acuity.A03 || e.Type == acuity.EventOther {
		return true
	}
	p := c.locations.Table.Resolve(e.Place)
	return p.Kind != location.InRoom || c.allowsRoom(in, p.Room)
}

// removeRooms removes the rooms that have no facts other than their names. It reports whether it removed any room.
func removeRooms(g *registry.Registry) bool {
	before := len(g.Rooms)
	g.Rooms = slices.DeleteFunc(g.Rooms, func(r *registry.Room) bool {
		if r.InUnit || r.Belongs || len(r.Stays) > 0 || r.Statements.Len() > 0 || len(r.Past) > 0 || r.Occupant != nil || len(r.Candidates) > 0 {
			return false
		}
		g.Keys.Drop(g.Keys.Room(r.ID))
		written := &g.Work.Rooms[registry.Unsaved.Bit()]
		*written = slices.DeleteFunc(*written, func(o *registry.Room) bool { return o == r })
		return true
	})
	if len(g.Rooms) == before {
		return false
	}
	g.Work.RebuildTable = true
	return true
}
