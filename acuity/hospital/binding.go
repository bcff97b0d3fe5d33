package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/evidence"
	"svc/acuity/location"
)

// binding is the owner of a clinical statement: a visit; an occupant whom censuses saw
// without a visit; or the room. The zero value is nobody.
type binding struct {
	v    *visit
	kind evidence.OwnerKind
}

// owner returns the owner as a statement has it.
func (b binding) owner() evidence.Owner { return evidence.Owner{ID: b.v.inSlot(), Kind: b.kind} }

// The kinds of owners.
const (
	toNobody   evidence.OwnerKind = iota
	toVisit                       //
	toOccupant                    // the present occupant of the room
	toPast                        // an occupant who left
	toRoom                        // a room that neither ADT nor a census knows
	notBound                      // not decided yet
)

// assignNew assigns the new statements of a room.
func (k *statements) assignNew(r *room) {
	for said := range r.statements.ByCode {
		for j := len(said) - 1; j >= 0 && said[j].Owner.Kind == notBound; j-- {
			k.assignStatement(r, &said[j], k.bindingFor(r, &said[j]))
		}
	}
}

// reassignStatements decides anew who owns the statements of a room, and invalidates the
// charts of old and new owners.
func (k *statements) reassignStatements(r *room) {
	for h := range r.statements.All {
		k.assignStatement(r, h, k.bindingFor(r, h))
	}
}

// assignStatement gives a statement to an owner.
func (k *statements) assignStatement(r *room, h *evidence.Statement, b binding) {
	was := k.bindingOf(h)
	if was == b {
		return
	}
	fresh := was.kind == notBound
	if !fresh { // the old owner loses it, the new one gets it between others
		k.cacheOf(h).Forget()
		k.invalidateOwner(r, was)
	}
	h.Owner = b.owner()
	if fresh {
		k.invalidateEvidence(h, false)
		return
	}
	k.cacheOf(h).Forget()
	k.invalidateOwner(r, b)
}

// invalidateEvidence invalidates the evidence of the owner of a statement that was added
// or lost.
func (k *statements) invalidateEvidence(h *evidence.Statement, lost bool) {
	if h.Owner.Kind == notBound {
		return
	}
	v := k.visitOfStatement(h)
	if !k.cacheOf(h).Invalidate(h, lost) && v != nil {
		return
	}
	k.invalidateOwner(k.room(h.Room), k.bindingOf(h))
}

// bindingFor returns the owner of a statement of a room (scoring-decisions 16): who was
// in the room at its time; else at its receipt; else who came first within the hour;
// else the room itself if nothing else knows it. A patient whom a cancelled event had
// placed there was never there: such a statement is nobody's.
func (k *statements) bindingFor(r *room, h *evidence.Statement) binding {
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
	if r.known() || k.withdrawn.cover(r.ID, t) {
		return binding{}
	}
	return binding{kind: toRoom}
}

// at returns who was in the room at t: a mother before a newborn, of several the last to
// come, an occupant without a visit only if there is no visit.
func (r *room) at(t acuity.Instant) binding {
	var newborn *visit
	for i := range slices.Backward(r.stays) { // mostly the last one
		s := &r.stays[i]
		switch {
		case !s.holds(t):
		case !s.v.timeline.Newborn:
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

// firstAfter returns who came first into the room after from, and not after to.
func (r *room) firstAfter(from, to acuity.Instant) binding {
	first, _ := slices.BinarySearchFunc(r.stays, from+1, func(s roomStay, at acuity.Instant) int { return cmp.Compare(s.From, at) })
	for i := first; i < len(r.stays) && r.stays[i].From <= to; i++ {
		if !r.stays[i].v.timeline.Newborn {
			return binding{r.stays[i].v, toVisit}
		}
	}
	if o := r.Occupant; o != nil && r.occupantVisit == nil && o.From > from && o.From <= to {
		return binding{kind: toOccupant}
	}
	return binding{}
}

// occupantEnd returns when the occupant without a visit turned out to be a visit, or
// left for one; 0: not yet.
func (r *room) occupantEnd() acuity.Instant {
	if r.Occupant == nil {
		return 0
	}
	for i := range r.stays {
		s := &r.stays[i]
		if s.v == r.occupantVisit && s.holds(r.Occupant.Last) && !s.v.timeline.Newborn {
			return max(s.From, 1)
		}
		if s.From > r.Occupant.Last && !s.v.timeline.Newborn {
			return s.From
		}
	}
	return 0
}

// known reports whether ADT or a census knows the room.
func (r *room) known() bool {
	return r.Listed || r.Placed || r.Occupant != nil || len(r.stays) > 0 || len(r.Past) > 0
}

// anonymous reports whether an occupant without a visit is in the room now.
func (r *room) anonymous() bool {
	return r.Occupant != nil && r.occupantEnd() == 0 && r.occupantVisit == nil
}

// gatherStatements begins the input of b with where its statements are: those settled
// with it, and those of the rooms where it was.
func (m *chartBuilder) gatherStatements(e *evidence.Input, b binding, r *room) {
	e.Reset(b.owner())
	if !m.work.plain {
		at := &r.cache
		if b.v != nil {
			at = &b.v.cache
		}
		if *at == nil {
			*at = &evidence.Cache{}
		}
		e.Cache = *at
	}
	if b.v == nil {
		e.Statements = append(e.Statements, m.matcher.rereadAll(&r.statements))
		return
	}
	e.Statements = append(e.Statements, m.matcher.rereadAll(&b.v.statements))
	for i, s := range b.v.spans {
		if s.Kind != location.InRoom || slices.ContainsFunc(b.v.spans[:i], func(o locationSpan) bool { return o.Placement == s.Placement }) {
			continue
		}
		if in := m.room(s.Room); in != nil {
			e.Statements = append(e.Statements, m.matcher.rereadAll(&in.statements))
		}
	}
	m.gatherResourceStatements(e, b.v)
	e.SortResources()
}
