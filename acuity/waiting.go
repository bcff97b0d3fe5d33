package acuity

import "slices"

// unbound is a statement that had no visit when it was taken.
type unbound struct {
	ref *referral
	at  Instant // of its receipt
}

// answerReferrals tells of the statements that still have none: the visit may have
// come in the same request.
func (u *Unit) answerReferrals(in *intake) {
	for _, n := range in.unbound {
		if u.bindPatient(n.ref, n.at) == nil {
			in.warn("reference_waiting", "")
		}
	}
}

// stopWaiting asks for the count anew if a visit, from now on more than a name,
// has statements that waited for it.
func (u *Unit) stopWaiting(v *visit) {
	u.waits = u.waits || v.isName() && v.threads.size+len(v.filed) > 0
}

// countWaiting counts what waits for something else, as of the hour of the clock.
func (u *Unit) countWaiting() {
	if !u.waits {
		return
	}
	u.waits = false
	hour := u.facts.Clock - u.facts.Clock%hourOf
	cancels, statements := 0, 0
	u.cancels = slices.DeleteFunc(u.cancels, func(v *visit) bool {
		n, _ := v.timeline.cancelsWaiting(hour)
		if u.visits[v.ID] == v {
			cancels += n
		}
		v.cancels = n > 0
		return n == 0
	})
	for v := range u.unknown {
		statements += v.threads.size + len(v.filed)
	}
	for _, r := range u.referrals {
		for i := range r.said {
			if r.said[i].slot == 0 {
				statements++
			}
		}
	}
	u.chart.Unit.CancelsWaiting, u.chart.Unit.StatementsWaiting = int32(cancels), int32(statements)
}
