package acuity

import "slices"

// binding is whose a clinical statement is: a visit's; of somebody whom censuses
// see or saw without a visit; or the room's own. The zero value is nobody's.
type binding struct {
	v    *visit
	kind bindingKind
}

type bindingKind uint8

const (
	toNobody   bindingKind = iota
	toVisit                //
	toOccupant             // of the room, now
	toPast                 // one who left
	toRoom                 // in a room that neither ADT nor a census knows
)

// bound is whose one statement of a room is.
type bound struct {
	binding
	number int64 // of the statement
}

// rebindHeard is rebind after statements came or went, but nobody else.
func (u *Unit) rebindHeard(r *room) {
	was, from := r.bound, 0
	r.bound = r.bound[:0] // it is read before it is written
	for i := range r.signals {
		h := &r.signals[i]
		for from < len(was) && was[from].number != h.number {
			u.stirBound(was[from].binding)
			from++
		}
		if from < len(was) {
			r.bound = append(r.bound, was[from])
			from++
			continue
		}
		b := u.bind(r, h)
		r.bound = append(tight(r.bound, 8), bound{b, h.number})
		u.stirBound(b)
	}
	for _, b := range was[from:] {
		u.stirBound(b.binding)
	}
	r.heard = false
}

// rebind finds anew whose the statements of a room are, and asks for the charts
// of those for whom that changes.
func (u *Unit) rebind(r *room) {
	var stirred binding // most statements of a room are of one patient
	stir := func(b binding) {
		if b != stirred {
			u.stirBound(b)
			stirred = b
		}
	}
	for len(r.bound) > len(r.signals) {
		stir(r.bound[len(r.bound)-1].binding)
		r.bound = r.bound[:len(r.bound)-1]
	}
	for i := range r.signals {
		b := u.bind(r, &r.signals[i])
		if i == len(r.bound) {
			r.bound = append(tight(r.bound, 8), bound{b, r.signals[i].number})
			stir(b)
			continue
		}
		if r.bound[i].binding != b || r.heard {
			stir(r.bound[i].binding)
			stir(b)
		}
		r.bound[i] = bound{b, r.signals[i].number}
	}
	r.heard = false
}

// stirBound asks for the chart of the room in which a visit is now.
func (u *Unit) stirBound(b binding) {
	if b.v == nil {
		return
	}
	if r := u.whereIs(b.v); r != nil {
		u.markRoom(r, markRebuild)
	}
}

// whereIs returns the room in which a visit is now; nil if it is in none.
func (u *Unit) whereIs(v *visit) *room {
	if n := len(v.spans); n > 0 && v.spans[n-1].To == 0 && v.spans[n-1].Kind == inRoom {
		return u.room(v.spans[n-1].Room)
	}
	return nil
}

// bind returns whose a statement is (scoring-decisions 16): of whoever was in
// the room at its time; else at its receipt; else of the first who came within
// the hour; else, in a room that nothing else knows, the room's own.
func (u *Unit) bind(r *room, h *Heard) binding {
	if h.Settled {
		return binding{kind: toRoom}
	}
	t := h.ReceivedAt
	if h.ObservedAt != 0 {
		t = min(t, h.ObservedAt)
	}
	if b := r.at(t); b.kind != toNobody {
		return b
	}
	if b := r.at(h.ReceivedAt); b.kind != toNobody {
		return b
	}
	if b := r.firstAfter(t, t.Add(firstOccupant)); b.kind != toNobody {
		return b
	}
	if r.known() {
		return binding{}
	}
	return binding{kind: toRoom}
}

// at returns who was in the room at t: a mother before a newborn, the one who
// came last of several, somebody without a visit only if there is no visit.
func (r *room) at(t Instant) binding {
	var best *visit
	for i := range r.sits {
		s := &r.sits[i]
		if s.holds(t) && (best == nil || !s.v.story.newborn || best.story.newborn) {
			best = s.v
		}
	}
	if best != nil {
		return binding{best, toVisit}
	}
	if r.Occupant != nil && r.Occupant.From <= t {
		if end := r.occupantEnd(); end == 0 || t < end {
			return binding{kind: toOccupant}
		}
		return binding{}
	}
	for i := range r.Past {
		if p := &r.Past[i]; p.From <= t && t < p.To {
			return binding{kind: toPast}
		}
	}
	return binding{}
}

// firstAfter returns who came first into the room after from and not after to.
func (r *room) firstAfter(from, to Instant) binding {
	for i := range r.sits {
		s := &r.sits[i]
		if s.From > from && s.From <= to && !s.v.story.newborn {
			return binding{s.v, toVisit}
		}
	}
	if o := r.Occupant; o != nil && r.adopter == nil && o.From > from && o.From <= to {
		return binding{kind: toOccupant}
	}
	return binding{}
}

// occupantEnd returns when the occupant without a visit turned out to be a
// visit, or made room for one; 0: not yet.
func (r *room) occupantEnd() Instant {
	if r.Occupant == nil {
		return 0
	}
	for i := range r.sits {
		s := &r.sits[i]
		if s.v == r.adopter && s.holds(r.Occupant.Last) && !s.v.story.newborn {
			return max(s.From, 1)
		}
		if s.From > r.Occupant.Last && !s.v.story.newborn {
			return s.From
		}
	}
	return 0
}

// known reports whether ADT or a census knows the room.
func (r *room) known() bool {
	return r.Listed || r.Placed || r.Occupant != nil || len(r.sits) > 0 || len(r.Past) > 0
}

// anonymous reports whether somebody without a visit is in the room now.
func (r *room) anonymous() bool {
	return r.Occupant != nil && r.occupantEnd() == 0 && r.adopter == nil
}

// gather fills the episode with the statements that belong to b: those settled,
// and those of the rooms that it was in.
func (u *Unit) gather(e *episode, b binding, r *room) {
	e.signals, e.folds = e.signals[:0], nil
	if !u.plain {
		e.folds = &r.folds
		if b.v != nil {
			e.folds = &b.v.folds
		}
	}
	if b.v == nil {
		u.readouts.take(u, r.signals)
		e.signals = r.said(e.signals, b)
		return
	}
	u.readouts.take(u, b.v.signals)
	for i := range b.v.signals {
		e.signals = append(e.signals, &b.v.signals[i])
	}
	for i, s := range b.v.spans {
		if s.Kind != inRoom || slices.ContainsFunc(b.v.spans[:i], func(o sojourn) bool { return o.placement == s.placement }) {
			continue
		}
		if in := u.room(s.Room); in != nil {
			u.readouts.take(u, in.signals)
			e.signals = in.said(e.signals, b)
		}
	}
}

// said appends the statements of the room that belong to b.
func (r *room) said(dst []*Heard, b binding) []*Heard {
	for i := range r.signals {
		if i < len(r.bound) && r.bound[i].binding == b {
			dst = append(dst, &r.signals[i])
		}
	}
	return dst
}
