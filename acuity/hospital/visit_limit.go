package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
)

// typicalEvent is the approximate size of an event in bytes.
const typicalEvent = 256

// capacity says what a hospital still may send within its limits.
type capacity struct {
	*registry
	names     *names
	locations *locations

	eventBytes int  // approximate size of the events of all visits
	belonging  int  // rooms that belong to the unit
	crowded    bool // more rooms belong to the unit than it may have
}

// makeRoom forgets early if an observation could bring the hospital to a limit. It uses
// facts alone, so a replay forgets the same.
func (u *State) makeRoom(o *acuity.Observation) {
	if u.hours.isPast {
		return
	}
	u.dedup.forgetAbove(u.limits.identities)
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
	l := load{len(u.visits), u.capacity.eventBytes + len(o.Events)*typicalEvent, u.statements.kept + len(o.Signals)}
	l.visits += u.capacity.newVisits(o)
	if !l.exceeds(&u.limits, 16) {
		return false
	}
	var over []*visit
	for _, v := range u.visits {
		if n := len(v.spans); !v.isName() && (n == 0 || v.spans[n-1].To != 0) {
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
	u.forget(over[:n])
	return n > 0
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
	of := visitOfPatient{patient, id}
	if in.visitsOf[of] {
		return true // it was counted
	}
	if known+in.named[patient] >= c.limits.ofPatient {
		return false
	}
	if in.named == nil {
		in.named, in.visitsOf = map[string]int{}, map[visitOfPatient]bool{}
	}
	in.named[patient]++
	in.visitsOf[of] = true
	return true
}

// visitOfPatient is a visit by its id, and its patient.
type visitOfPatient struct{ patient, visit string }

// roomToWait reports whether one more statement may wait for a visit or a patient.
func (c *capacity) roomToWait(in *intake, to holder) bool {
	if to.v != nil && !to.v.isName() {
		return true
	}
	if in.waiting < 0 {
		in.waiting = 0
		for v := range c.unknown {
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

// weigh updates the size of the facts of a visit.
func (c *capacity) weigh(v *visit) {
	n := v.size()
	c.eventBytes += n - v.bytes
	v.bytes = n
}
