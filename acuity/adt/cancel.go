package adt

import (
	"cmp"
	"time"

	"svc/acuity"
)

// interval is a time at the precision at which it was sent: the instants in [from, to).
type interval struct {
	from, to  acuity.Instant
	precision acuity.Precision
}

// intervalOf returns the interval [from, to) of a time that was sent with precision p. If to is 0, the interval has
// the usual length for p. Callers pass the end of the interval if its length depends on the sender's time zone, in
// which days, months and some hours differ in length.
func intervalOf(from, to acuity.Instant, p acuity.Precision) interval {
	if to <= from {
		to = from.Add(p.Length())
	}
	return interval{from, to, p}
}

// sent returns the event time as an interval, at the precision at which it was sent.
func (e *Event) sent() interval { return intervalOf(e.AsSent(), e.AtTo, e.Precision) }

// cancelled returns, as an interval, the event time by which the cancel e identifies the event to cancel.
func (e *Event) cancelled() interval { return intervalOf(e.Cancels, e.CancelsTo, e.CancelsPrecision) }

// AsSent returns the event time as it was sent. For a coarse time, it returns the start of the interval.
func (e *Event) AsSent() acuity.Instant {
	if e.AtFrom != 0 {
		return e.AtFrom
	}
	return e.At
}

// slack returns how much later than At the event may have occurred. A coarse time has already been resolved to an
// instant, so the slack is then one millisecond.
func (e *Event) slack() time.Duration {
	if e.AtFrom != 0 {
		return acuity.Millisecond.Length()
	}
	return e.Precision.Length()
}

// sameMoment reports whether two events were sent with the same time. Their resolved instants may differ, because a
// coarse time may be resolved differently when a message is sent again.
func sameMoment(a, b *Event) bool {
	if a.AtFrom == 0 && b.AtFrom == 0 {
		return happenedAt(a) == happenedAt(b)
	}
	return a.AtFrom == b.AtFrom && a.Precision == b.Precision
}

// sameTime reports whether a and b may be the same time. If their precisions differ, the finer interval must begin or
// end within the coarser one. Two intervals of a day or longer must overlap by more than half, because two messages
// may give the same day with different UTC offsets. Two shorter intervals need only have the same start or the same
// end, because the interval of a time in a repeated hour may span both occurrences.
func (a interval) sameTime(b interval) bool {
	switch {
	case a.precision > b.precision:
		return b.sameTime(a)
	case a.precision < b.precision:
		return b.from <= a.from && a.from < b.to || b.from < a.to && a.to <= b.to
	case a.precision >= acuity.Day:
		return 2*min(a.to, b.to).Sub(max(a.from, b.from)) > max(a.to.Sub(a.from), b.to.Sub(b.from))
	default:
		return a.from == b.from || a.to == b.to
	}
}

// cancels reports whether an event of type c cancels events of type t. It does not cover the A06 and A07 events that
// depend on a canceled admission; see voidAfterCancelledAdmit.
func cancels(c, t acuity.EventType) bool {
	return c == acuity.A11 && (t == acuity.A01 || t == acuity.A04) ||
		c == acuity.A12 && t == acuity.A02 ||
		c == acuity.A13 && t == acuity.A03
}

// IsCancel reports whether events of type t cancel other events.
func IsCancel(t acuity.EventType) bool { return t == acuity.A11 || t == acuity.A12 || t == acuity.A13 }

// Recorded returns EVN-2, or the event time if EVN-2 is missing.
func (e *Event) Recorded() acuity.Instant {
	if e.RecordedAt != 0 {
		return e.RecordedAt
	}
	return e.At
}

// selects returns the location by which the cancel c identifies the event to cancel.
func selects(c *Event) *acuity.Location {
	if c.Type == acuity.A12 {
		return c.Prior
	}
	return c.Place
}

// cancel assigns to each cancel the event that it cancels. The target of a cancel with a join key (the time of the
// canceled event) does not depend on other cancels, so receiving such a cancel twice has no further effect. Cancels
// without a key apply in time order, each to the latest event that is not canceled yet.
func (n *builder) cancel() {
	for i := range n.Events {
		if c := &n.Events[i]; IsCancel(c.Event.Type) && c.Disposition == Applied && c.Event.Cancels != 0 {
			n.cancelKeyed(c)
		}
	}
	n.cancelRepeatedAdmissions()
	for i := range n.Events {
		if c := &n.Events[i]; IsCancel(c.Event.Type) && c.Disposition == Applied && c.Event.Cancels == 0 {
			n.cancelLatest(i)
			n.cancelRepeatedAdmissions() // so that the next cancel finds an event that is not canceled yet
		}
	}
	n.voidAfterCancelledAdmit()
	n.cancelRepeatedDischarges()
}

// canCancel reports whether t has a type and a disposition that allow c to cancel it.
func (n *builder) canCancel(c, t *AppliedEvent) bool {
	return cancels(c.Event.Type, t.Event.Type) &&
		t.Disposition != Duplicate && t.Disposition != Void && t.Disposition != TooOld && !n.isFolded(t)
}

// cancelKeyed applies a cancel that names the event time of its target.
func (n *builder) cancelKeyed(c *AppliedEvent) {
	key := c.Event.cancelled()
	where := selects(c.Event)
	best, bestScore := -1, -1
	for i := range n.Events {
		t := &n.Events[i]
		if !n.canCancel(c, t) || !t.Event.sent().sameTime(key) {
			continue
		}
		// Prefer an event at the location that the cancel names, then an event that is not later than the cancel,
		// then the latest event.
		score := 0
		if !where.IsZero() && n.sameRoom(t.Event.Place, where) {
			score += 2
		}
		if t.Event.At <= c.Event.At {
			score++
		}
		if score >= bestScore {
			best, bestScore = i, score
		}
	}
	switch {
	case best >= 0:
		n.cancelEvent(c, &n.Events[best], true)
	case n.how.FoldAt != 0 && max(key.from, key.to.Add(-time.Second)) <= n.how.FoldAt:
		c.Disposition, c.Remarks = cancelTooLate, c.Remarks|remarkTooLate
	default:
		n.markWaiting(c)
	}
}

// cancelLatest applies the i-th event, a cancel without a join key, to the latest event of the matching type that is
// neither canceled nor later than the cancel.
func (n *builder) cancelLatest(i int) {
	c := &n.Events[i]
	for j := i - 1; j >= 0; j-- {
		if earlier := &n.Events[j]; sameCancel(earlier.Event, c.Event) && earlier.Disposition != Duplicate {
			c.Disposition = earlier.Disposition // earlier and c are the same cancel, sent with different identities
			return
		}
	}
	until := c.Event.At.Add(c.Event.slack())
	where := selects(c.Event)
	best := -1
	for j := range n.Events {
		t := &n.Events[j]
		if !n.canCancel(c, t) || t.Disposition == Cancelled || t.Event.AsSent() >= until {
			continue
		}
		if best >= 0 {
			b := &n.Events[best]
			if late := t.At >= until; late != (b.At >= until) {
				if !late {
					best = j // t certainly happened before the cancel, but the best event so far may have happened after it
				}
				continue
			}
			if t.At < b.At {
				continue
			}
			if t.At == b.At && !where.IsZero() &&
				n.sameRoom(b.Event.Place, where) && !n.sameRoom(t.Event.Place, where) {
				continue
			}
		}
		best = j
	}
	if best < 0 {
		n.markWaiting(c)
		return
	}
	n.cancelEvent(c, &n.Events[best], false)
}

// sameCancel reports whether two cancels without a join key are repetitions of the same cancel.
func sameCancel(a, b *Event) bool {
	return a.Type == b.Type && a.Cancels == 0 && sameMoment(a, b) && a.Recorded() == b.Recorded() && *selects(a) == *selects(b)
}

// cancelEvent cancels t and those of its repetitions (events with the same type, time and location) that were recorded
// no later than the cancel, and always the one recorded first. Repetitions recorded later are new events
// (docs/decisions.md#reissued-events). If dead is true, the search for the first one includes events that are already
// canceled.
func (n *builder) cancelEvent(c, t *AppliedEvent, dead bool) {
	var first *AppliedEvent
	for i := range n.Events {
		o := &n.Events[i]
		if !n.reissueOf(o, t) || (!dead && o.Disposition == Cancelled) {
			continue
		}
		if first == nil || o.Event.Recorded() < first.Event.Recorded() {
			first = o
		}
	}
	made := c.Event.Recorded()
	for i := range n.Events {
		o := &n.Events[i]
		if n.reissueOf(o, t) && (o == first || o.Event.Recorded() <= made) {
			o.Disposition, o.withdrawnAt = Cancelled, max(o.withdrawnAt, made)
		}
	}
}

// reissueOf reports whether o is t, or has the same type, time and location as t and is not a duplicate. An Encounter
// that names no location at that time does not name a different one.
func (n *builder) reissueOf(o, t *AppliedEvent) bool {
	return o == t || (o.Event.Type == t.Event.Type && o.Event.AsSent() == t.Event.AsSent() && o.Disposition != Duplicate &&
		(n.sameRoom(o.Event.Place, t.Event.Place) || o.Event.Resource != "" && o.Event.NamesNoPlace(n.how.IsWard)))
}

// markWaiting marks a cancel as waiting for the event it refers to.
func (n *builder) markWaiting(c *AppliedEvent) {
	c.Disposition, c.Remarks = CancelWaiting, c.Remarks|remarkWaiting
	n.Waiting = append(n.Waiting, c.Event.ReceivedAt)
}

// voidAfterCancelledAdmit voids the events that depended on a canceled admission, up to the next admission that is not
// canceled (docs/decisions.md#cancelled-admit).
func (n *builder) voidAfterCancelledAdmit() {
	void := false
	for i := range n.Events {
		t := &n.Events[i]
		switch t.Event.Type { //nolint:exhaustive // other types neither open a visit nor need one
		case acuity.A01, acuity.A04:
			switch {
			case !t.Event.admits():
			case t.Disposition == Cancelled:
				void = true
			case t.Disposition == Applied:
				void = false
			}
		case acuity.A02, acuity.A03, acuity.A06, acuity.A07:
			if void && t.Disposition == Applied {
				t.Disposition = admitCancelled
			}
		}
	}
}

// cancelRepeatedAdmissions extends the cancel of an admission or registration to the other events of the same type, the
// same stay and the same room that state that they were recorded before the cancel (docs/decisions.md#cancelled-admit).
// They repeat the canceled event with a different time; without this function, they would keep the patient in the room.
// An event recorded at the instant of the cancel may be a new admission. An admission to another room counts as a move.
func (n *builder) cancelRepeatedAdmissions() {
	for i := range n.Events {
		c := &n.Events[i]
		if !c.Event.admits() || c.Event.stated() >= c.withdrawnAt {
			continue
		}
		from, to := i, i+1
		for from > 0 && !n.separates(c, &n.Events[from-1]) {
			from--
		}
		for to < len(n.Events) && !n.separates(c, &n.Events[to]) {
			to++
		}
		for j := from; j < to; j++ {
			t := &n.Events[j]
			if t.Event.Type == c.Event.Type && t.Event.admits() && t.Disposition == Applied &&
				(t.Event.RecordedAt != 0 || t.Event.Resource != "") && t.Event.stated() < c.withdrawnAt &&
				n.sameRoom(t.Event.Place, c.Event.Place) && !n.isFolded(t) {
				t.Disposition = Cancelled
			}
		}
	}
}

// endsAdmission reports whether a later event of the given type, A01 or A04, admits or registers the patient again,
// because t discharged the patient or changed the class in between.
func (t *AppliedEvent) endsAdmission(kind acuity.EventType) bool {
	switch t.Event.Type { //nolint:exhaustive // other types leave the patient admitted
	case acuity.A03, acuity.A06, acuity.A07:
		return t.Disposition == Applied
	case acuity.A01:
		return t.Disposition == Applied && kind == acuity.A04 && t.Event.admits()
	default:
		return false
	}
}

// separates reports whether t lies between the canceled admission c and events that do more than repeat c: t ended the
// admission, or moved the patient to a different room.
func (n *builder) separates(c, t *AppliedEvent) bool {
	moves := t.Event.Type == acuity.A02 || t.Event.Type == acuity.A01 && t.Event.admits()
	return t.endsAdmission(c.Event.Type) || moves && t.Disposition == Applied && !n.sameRoom(t.Event.Place, c.Event.Place)
}

// stated returns when an event was last stated: the time of the Encounter's version, or else [Event.Recorded].
func (e *Event) stated() acuity.Instant {
	if e.Resource == "" {
		return e.Recorded()
	}
	return max(e.Recorded(), cmp.Or(e.UpdatedAt, e.ReceivedAt))
}

// cancelRepeatedDischarges extends the cancel of a discharge to the other discharges of the same stay that were recorded
// no later than the cancel (docs/decisions.md#discharge-alone). Such a discharge repeats the canceled one: it had no
// effect of its own, and without this function, it would discharge the patient in place of the canceled one.
func (n *builder) cancelRepeatedDischarges() {
	for from := 0; from < len(n.Events); {
		to, made := from, acuity.Instant(0)
		for ; to < len(n.Events); to++ {
			t := &n.Events[to]
			if t.Disposition == Applied && opens(t.Event.Type) && t.Event.Type != acuity.A02 {
				break // another stay begins
			}
			if t.Event.Type == acuity.A03 {
				made = max(made, t.withdrawnAt)
			}
		}
		for i := from; i < to && made != 0; i++ {
			if t := &n.Events[i]; t.Event.Type == acuity.A03 && t.Disposition == Applied && t.Event.Recorded() <= made && !n.isFolded(t) {
				t.Disposition = Cancelled
			}
		}
		from = to + 1
	}
}

// TakenBack returns the time of the newest canceled event whose type and time match the cancel c, or 0 if there is
// none.
func (s *Timeline) TakenBack(c *AppliedEvent) acuity.Instant {
	last := acuity.Instant(0)
	for i := range s.Events {
		t := &s.Events[i]
		if t.Disposition != Cancelled || !cancels(c.Event.Type, t.Event.Type) {
			continue
		}
		keyed := c.Event.Cancels != 0
		if !keyed && min(t.At, t.Event.AsSent()) <= c.At || keyed && t.Event.sent().sameTime(c.Event.cancelled()) {
			last = max(last, t.At)
		}
	}
	return last
}
