package acuity

import (
	"cmp"
	"slices"
	"strings"
)

// typicalEvent is about how many bytes an event takes.
const typicalEvent = 256

// makeRoom forgets what need not be remembered any longer, if an observation could
// bring the hospital to a limit. It goes by facts alone, so a replay forgets the same.
func (u *Unit) makeRoom(o *Observation) {
	if u.isPast {
		return
	}
	u.forgetIdentities()
	early := u.forgetEarly(o)
	if rooms := len(u.rooms) > u.limits.known*9/10 && u.forgetRooms(); rooms || early {
		u.derive() // an input reads what is derived
	}
}

// load is what a hospital has of what is limited.
type load struct{ visits, bytes, statements int }

// exceeds reports whether it is more than so many sixteenths of what there may be.
func (l load) exceeds(of *limits, parts int) bool {
	return l.visits > of.visits*parts/16 || l.bytes > of.bytes/16*parts || l.statements > of.statements*parts/16
}

// forgetEarly forgets visits that are over, those first of which nothing was said for
// the longest, if what comes might find no room else. It reports whether it did.
func (u *Unit) forgetEarly(o *Observation) bool {
	l := load{len(u.visits), u.eventBytes + len(o.Events)*typicalEvent, u.kept + len(o.Signals)}
	l.visits += u.newVisits(o)
	if !l.exceeds(&u.limits, 16) {
		return false
	}
	var over []*visit
	for _, v := range u.visits {
		if n := len(v.spans); !v.isName() && (n == 0 || v.spans[n-1].To != 0) {
			over = append(over, v)
		}
	}
	last := func(v *visit) Instant { return max(v.Touched, v.timeline.closedAt) }
	slices.SortFunc(over, func(a, b *visit) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a.ID, b.ID))
	})
	n := 0
	for ; n < len(over) && l.exceeds(&u.limits, 15); n++ {
		v := over[n]
		l = load{l.visits - 1, l.bytes - v.bytes, l.statements - v.threads.size - len(v.filed)}
	}
	u.forget(over[:n])
	return n > 0
}

// newVisits returns how many visits, at most, an observation makes known; 0 if there is
// room for all that it names.
func (u *Unit) newVisits(o *Observation) (n int) {
	named := len(o.Events) + len(o.Signals)
	if o.Census != nil {
		named += len(o.Census.Rooms)
	}
	if len(u.visits)+named <= u.limits.visits {
		return 0
	}
	count := func(id string) {
		if id != "" && u.visits[id] == nil {
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
func (u *Unit) roomForVisit() bool { return len(u.visits) < u.limits.visits }

// roomForEvent returns why an event cannot be taken: there is no room for it, or for
// its visit; nil: that is not known yet. "": it can.
func (u *Unit) roomForEvent(in *intake, v *visit, id string, e *Event) (reason string) {
	switch {
	case v == nil && !u.roomForVisit():
		return reasonVisits
	case u.eventBytes >= u.limits.bytes:
		return reasonEvents
	case !u.roomForPatient(in, v, id, e.Patient), e.Resource != "" && !u.roomForPatient(in, v, id, e.Subject):
		return reasonOfPatient
	case !u.roomForPlace(in, e):
		return reasonRooms
	}
	return ""
}

// roomForPatient reports whether a patient may have one more visit.
func (u *Unit) roomForPatient(in *intake, v *visit, id, patient string) bool {
	if patient == "" || v != nil && slices.Contains(v.names, patient) {
		return true
	}
	known := len(u.patients[patient])
	if known+len(in.o.Events) <= u.limits.ofPatient {
		return true
	}
	of := visitOfPatient{patient, id}
	if in.visitsOf[of] {
		return true // it was counted
	}
	if known+in.named[patient] >= u.limits.ofPatient {
		return false
	}
	if in.named == nil {
		in.named, in.visitsOf = map[string]int{}, map[visitOfPatient]bool{}
	}
	in.named[patient]++
	in.visitsOf[of] = true
	return true
}

// visitOfPatient is a visit by its id, and a patient whose it is.
type visitOfPatient struct{ patient, visit string }

// roomToWait reports whether one more statement may wait for the visit or the patient
// that it names.
func (u *Unit) roomToWait(in *intake, to holder) bool {
	if to.v != nil && !to.v.isName() {
		return true
	}
	if in.waiting < 0 {
		in.waiting = 0
		for v := range u.unknown {
			in.waiting += v.threads.size + len(v.filed)
		}
		for _, r := range u.referrals {
			in.waiting += len(r.said)
		}
	}
	if in.waiting >= u.limits.waiting {
		if to.ref != nil && len(to.ref.said) == 0 {
			u.dismiss(to.ref)
		}
		return false
	}
	in.waiting++
	return true
}

// weigh notes how much the facts of a visit are.
func (u *Unit) weigh(v *visit) {
	n := v.size()
	u.eventBytes += n - v.bytes
	v.bytes = n
}
