package acuity

// Folded is what a log of observations amounts to.
type Folded struct {
	Chart   *Chart
	Verdict Verdict  // at the instant asked for
	Changes []Change // one per observation and due instant, in order
}

// Fold is the plain reference for [Unit]: it takes the observations of one
// hospital in the order of their log, and after each one makes everything
// derived anew, from all facts, without anything kept from before. A Unit that
// took the same observations has the same chart and made the same changes. The
// offset of an observation in the changes is its index.
func Fold(observations []Observation, now Instant) Folded {
	hospital := ""
	if len(observations) > 0 {
		hospital = observations[0].Hospital
	}
	u := NewPlainUnit(hospital)
	var out Folded
	for i := range observations {
		o := &observations[i]
		out.Changes = u.advance(out.Changes, max(o.ReceivedAt, o.AppliedAt))
		out.Changes = append(out.Changes, u.Apply(o, int64(i)))
	}
	for c, more := u.Elapse(now); more; c, more = u.Elapse(now) {
		out.Changes = append(out.Changes, c)
	}
	out.Chart = u.Chart()
	out.Verdict = out.Chart.Verdict(now)
	return out
}

// NewPlainUnit returns a unit of which nothing is known, and that is its own
// reference: it keeps nothing derived from one step to the next, see [Fold]. It
// takes about a hundred times as long.
func NewPlainUnit(hospital string) *Unit {
	u := NewUnit(hospital)
	u.plain = true
	return u
}

// advance takes all due instants up to now.
func (u *Unit) advance(changes []Change, now Instant) []Change {
	for {
		c, more := u.Advance(now)
		if !more {
			return changes
		}
		changes = append(changes, c)
	}
}

// recallDaily is from how many events on the plain reference tells the past of a
// backfill anew once for each day of it, not for each hour: a month would take hours.
const recallDaily = 2000

// forgetDerived drops everything that is derived from the facts.
func (u *Unit) forgetDerived() {
	past := u.past
	for _, v := range u.visits {
		*v = visit{visitFacts: v.visitFacts, slot: v.slot, threads: v.threads, filed: v.filed, watched: v.watched, bytes: v.bytes, marks: v.marks & (markState | dirtyTimeline | dirtyLocation)}
	}
	for _, r := range u.rooms {
		for h := range r.threads.each {
			h.bind(binding{kind: notBound})
		}
		*r = room{
			RoomState: r.RoomState,
			threads:   r.threads,
			marks:     r.marks & (markState | markTouched | markView | dirtyOccupant | dirtyAssignment | dirtyChart),
		}
	}
	u.newborns, u.parts, u.patients = nil, nil, map[string][]*visit{}
	u.withdrawn = withdrawnRooms{}
	for _, r := range u.referrals {
		for i := range r.said {
			r.said[i].bind(binding{kind: notBound})
		}
	}
	u.waits, u.cancels = true, nil
	u.learn()
	if past != nil && past.told >= recallDaily && u.facts.Backfill.Next%24 != 0 {
		u.past = past
	}
	u.compile()
	u.work.came, u.work.went = nil, nil
	u.moves, u.unplaced, u.belonging, u.crowded = nil, 0, 0, false
	u.work.layout, u.work.known = true, true
}
