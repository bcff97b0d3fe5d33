package acuity

import (
	"cmp"
	"slices"
)

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
	notBound               // it is not known yet
)

// bindHeard finds whose the statements are that came to a room.
func (u *Unit) bindHeard(r *room) {
	for i := range r.threads.list {
		said := r.threads.list[i].said
		for j := len(said) - 1; j >= 0 && said[j].to == notBound; j-- {
			u.give(r, &said[j], u.bind(r, &said[j]))
		}
	}
}

// rebind finds anew whose the statements of a room are, and asks for the charts
// of those for whom that changes.
func (u *Unit) rebind(r *room) {
	for h := range r.threads.each {
		u.give(r, h, u.bind(r, h))
	}
}

// give makes a statement somebody's.
func (u *Unit) give(r *room, h *Heard, b binding) {
	was := u.bindingOf(h)
	if was == b {
		return
	}
	fresh := was.kind == notBound
	if !fresh { // from now on it is missing there, and among others here
		u.foldsOf(h).forget()
		u.stirOwner(r, was)
	}
	h.bind(b)
	if fresh {
		u.stirEvidence(h, false)
		return
	}
	u.foldsOf(h).forget()
	u.stirOwner(r, b)
}

// foldsOf returns where it is kept what the statements of the owner of one amount
// to; nil: nowhere.
func (u *Unit) foldsOf(h *Heard) *folds {
	if v := u.visitOfHeard(h); v != nil {
		return v.folds
	}
	if r := u.room(h.Room); r != nil {
		return r.folds
	}
	return nil
}

// stirEvidence has the evidence of the owner of a statement that came, or is
// lost, made anew.
func (u *Unit) stirEvidence(h *Heard, lost bool) {
	if h.to == notBound {
		return
	}
	v := u.visitOfHeard(h)
	if !u.foldsOf(h).stir(h, lost) && v != nil {
		return
	}
	if r := u.whereIs(v); r != nil && r.lone == v && !lost {
		u.markRoom(r, markProgress)
		return
	}
	u.stirOwner(u.room(h.Room), u.bindingOf(h))
}

// stirOwner asks for the chart of the room where those are to whom statements
// of a room belong; nil: the room is not known any more.
func (u *Unit) stirOwner(r *room, b binding) {
	switch {
	case b.v != nil:
		u.stirBound(b)
	case r != nil && b.kind != toNobody:
		u.markRoom(r, dirtyChart)
	}
}

// stirBound asks for the chart of the room in which a visit is now.
func (u *Unit) stirBound(b binding) {
	if b.v == nil {
		return
	}
	if r := u.whereIs(b.v); r != nil {
		u.markRoom(r, dirtyChart)
	}
}

// whereIs returns the room in which a visit is now; nil if it is in none.
func (u *Unit) whereIs(v *visit) *room {
	if v == nil {
		return nil
	}
	if n := len(v.spans); n > 0 && v.spans[n-1].To == 0 && v.spans[n-1].Kind == inRoom {
		return u.room(v.spans[n-1].Room)
	}
	return nil
}

// bind returns whose a statement is (scoring-decisions 16): of whoever was in
// the room at its time; else at its receipt; else of the first who came within
// the hour; else, in a room that nothing else knows, the room's own. Who was said to be
// there by an event that was taken back was never there: such a statement is nobody's.
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
	if r.known() || u.withdrawn.cover(r.ID, t) {
		return binding{}
	}
	return binding{kind: toRoom}
}

// at returns who was in the room at t: a mother before a newborn, the one who
// came last of several, somebody without a visit only if there is no visit.
func (r *room) at(t Instant) binding {
	var newborn *visit
	for i := range slices.Backward(r.sits) { // mostly whoever came last
		s := &r.sits[i]
		switch {
		case !s.holds(t):
		case !s.v.timeline.newborn:
			return binding{s.v, toVisit}
		case newborn == nil:
			newborn = s.v
		}
	}
	if newborn != nil {
		return binding{newborn, toVisit}
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
	first, _ := slices.BinarySearchFunc(r.sits, from+1, func(s sit, at Instant) int { return cmp.Compare(s.From, at) })
	for i := first; i < len(r.sits) && r.sits[i].From <= to; i++ {
		if !r.sits[i].v.timeline.newborn {
			return binding{r.sits[i].v, toVisit}
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
		if s.v == r.adopter && s.holds(r.Occupant.Last) && !s.v.timeline.newborn {
			return max(s.From, 1)
		}
		if s.From > r.Occupant.Last && !s.v.timeline.newborn {
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

// gather fills the episode with where the statements are that belong to b: those
// settled, and those of the rooms that it was in.
func (u *Unit) gather(e *episode, b binding, r *room) {
	e.from, e.of, e.folds = e.from[:0], b, nil
	e.file()
	if !u.plain {
		at := &r.folds
		if b.v != nil {
			at = &b.v.folds
		}
		if *at == nil {
			*at = &folds{}
		}
		e.folds = *at
	}
	if b.v == nil {
		e.from = append(e.from, u.matchedSignals.use(u, &r.threads))
		return
	}
	e.from = append(e.from, u.matchedSignals.use(u, &b.v.threads))
	for i, s := range b.v.spans {
		if s.Kind != inRoom || slices.ContainsFunc(b.v.spans[:i], func(o sojourn) bool { return o.placement == s.placement }) {
			continue
		}
		if in := u.room(s.Room); in != nil {
			e.from = append(e.from, u.matchedSignals.use(u, &in.threads))
		}
	}
	if u.gatherFiled(e, b.v); len(e.filed) > 0 {
		e.folds = nil // resources are put in order each time
		e.sift()
	}
}
