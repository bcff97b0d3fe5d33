package hospital

import (
	"time"

	"svc/acuity"
)

// spanOf is how long a time of a precision may last.
func spanOf(p acuity.Precision) time.Duration {
	return [...]time.Duration{
		acuity.Millisecond: time.Millisecond, acuity.Second: time.Second, acuity.Minute: time.Minute, acuity.Hour: time.Hour,
		acuity.Day: 24 * time.Hour, acuity.Month: 31 * 24 * time.Hour, acuity.Year: 366 * 24 * time.Hour,
	}[min(p, acuity.Year)]
}

// sameTime reports whether two times are equal at the coarser of their precisions. A
// coarse time is the start of its span, in whatever zone it was read, so the finer one
// must lie in that span.
func sameTime(a acuity.Instant, pa acuity.Precision, b acuity.Instant, pb acuity.Precision) bool {
	switch {
	case pa == pb:
		return a == b
	case pa < pb:
		return b <= a && a < b.Add(spanOf(pb))
	default:
		return a <= b && b < a.Add(spanOf(pa))
	}
}

// cancels reports whether an event of type c takes back events of type t. An A06 or A07
// is taken back with the admit that it depends on.
func cancels(c, t acuity.EventType) bool {
	switch c {
	case acuity.A11:
		return t == acuity.A01 || t == acuity.A04
	case acuity.A12:
		return t == acuity.A02
	case acuity.A13:
		return t == acuity.A03
	case acuity.EventOther, acuity.A01, acuity.A02, acuity.A03, acuity.A04, acuity.A06, acuity.A07, acuity.A08:
		return false
	}
	return false
}

// isCancel reports whether a type takes back another.
func isCancel(t acuity.EventType) bool { return t == acuity.A11 || t == acuity.A12 || t == acuity.A13 }

// recorded is EVN-2, else the event time.
func recorded(e *event) acuity.Instant {
	if e.RecordedAt != 0 {
		return e.RecordedAt
	}
	return e.At
}

// selects is the location of the cancelled event, as the cancel names it.
func selects(c *event) *acuity.Location {
	if c.Type == acuity.A12 {
		return c.Prior
	}
	return c.Place
}

// cancel finds for each cancel the event that it takes back. The target of a cancel with
// a join key does not depend on other cancels, so the cancel may come twice. Cancels
// without a key take, in the order of their times, the latest event that is left.
func (n *timelineBuilder) cancel() {
	for i := range n.events {
		if c := &n.events[i]; isCancel(c.event.Type) && c.disposition == eventApplied && c.event.Cancels != 0 {
			n.cancelKeyed(c)
		}
	}
	for i := range n.events {
		if c := &n.events[i]; isCancel(c.event.Type) && c.disposition == eventApplied && c.event.Cancels == 0 {
			n.cancelLatest(i)
		}
	}
	n.voidAfterCancelledAdmit()
}

// target reports whether c can take back t.
func (n *timelineBuilder) target(c, t *appliedEvent) bool {
	return cancels(c.event.Type, t.event.Type) && t.disposition != eventDuplicate && t.disposition != eventVoid && t.disposition != eventBeforeFold && !n.folded(t)
}

// cancelKeyed applies a cancel that names the event time of its target.
func (n *timelineBuilder) cancelKeyed(c *appliedEvent) {
	key, precision := c.event.Cancels, c.event.CancelsPrecision
	where := selects(c.event)
	best, bestScore := -1, -1
	for i := range n.events {
		t := &n.events[i]
		if !n.target(c, t) || !sameTime(t.event.At, t.event.Precision, key, precision) {
			continue
		}
		// The event at the named place wins, then one that is not later than the
		// cancel, then the latest.
		score := 0
		if !where.IsZero() && n.sameRoom(t.event.Place, where) {
			score += 2
		}
		if t.event.At <= c.event.At {
			score++
		}
		if score >= bestScore {
			best, bestScore = i, score
		}
	}
	switch {
	case best >= 0:
		n.takeBack(c, &n.events[best], true)
	case n.how.FoldAt != 0 && key <= n.how.FoldAt:
		c.disposition, c.remarks = eventRefused, c.remarks|remarkTooLate
	default:
		n.wait(c)
	}
}

// cancelLatest applies the i-th event, a cancel without a join key. It takes the latest
// event of its class that is left and not later than itself.
func (n *timelineBuilder) cancelLatest(i int) {
	c := &n.events[i]
	for j := i - 1; j >= 0; j-- {
		if earlier := &n.events[j]; sameCancel(earlier.event, c.event) && earlier.disposition != eventDuplicate {
			c.disposition = earlier.disposition // sent again under another identity
			return
		}
	}
	until := c.event.At.Add(spanOf(c.event.Precision))
	where := selects(c.event)
	best := -1
	for j := range n.events {
		t := &n.events[j]
		if !n.target(c, t) || t.disposition == eventCancelled || t.event.At >= until {
			continue
		}
		if best >= 0 {
			b := &n.events[best]
			if t.event.At < b.event.At {
				continue
			}
			if t.event.At == b.event.At && !where.IsZero() &&
				n.sameRoom(b.event.Place, where) && !n.sameRoom(t.event.Place, where) {
				continue
			}
		}
		best = j
	}
	if best < 0 {
		n.wait(c)
		return
	}
	n.takeBack(c, &n.events[best], false)
}

// sameCancel reports whether two cancels without a join key are one.
func sameCancel(a, b *event) bool {
	return a.Type == b.Type && a.Cancels == 0 && a.At == b.At && recorded(a) == recorded(b) && *selects(a) == *selects(b)
}

// takeBack cancels t and its repetitions: the events with the same class, time and place
// that were recorded before the cancel, and at least the first. Later ones are the event
// issued anew (R6).
func (n *timelineBuilder) takeBack(c, t *appliedEvent, dead bool) {
	var first *appliedEvent
	for i := range n.events {
		o := &n.events[i]
		if !n.reissueOf(o, t) || (!dead && o.disposition == eventCancelled) {
			continue
		}
		if first == nil || recorded(o.event) < recorded(first.event) {
			first = o
		}
	}
	made := recorded(c.event)
	for i := range n.events {
		o := &n.events[i]
		if n.reissueOf(o, t) && (o == first || recorded(o.event) <= made) {
			o.disposition = eventCancelled
		}
	}
}

// reissueOf reports whether o has the class, the time and the place of t.
func (n *timelineBuilder) reissueOf(o, t *appliedEvent) bool {
	return o == t || (o.event.Type == t.event.Type && o.event.At == t.event.At &&
		o.disposition != eventDuplicate && n.sameRoom(o.event.Place, t.event.Place))
}

// wait keeps a cancel until its event comes.
func (n *timelineBuilder) wait(c *appliedEvent) {
	c.disposition, c.remarks = eventWaiting, c.remarks|remarkWaiting
	n.waiting = append(n.waiting, c.event.ReceivedAt)
}

// voidAfterCancelledAdmit voids the events that depended on a cancelled admit, up to the
// next live one (R4).
func (n *timelineBuilder) voidAfterCancelledAdmit() {
	void := false
	for i := range n.events {
		t := &n.events[i]
		switch t.event.Type { //nolint:exhaustive // the others open no visit and need none
		case acuity.A01, acuity.A04:
			switch t.disposition { //nolint:exhaustive // the others change nothing
			case eventCancelled:
				void = true
			case eventApplied:
				void = false
			}
		case acuity.A02, acuity.A03, acuity.A06, acuity.A07:
			if void && t.disposition == eventApplied {
				t.disposition = eventVoided
			}
		}
	}
}
