package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
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
func (b binding) owner() evidence.Owner {
	if b.v == nil {
		return evidence.Owner{Kind: b.kind}
	}
	return evidence.Owner{ID: b.v.slot, Kind: b.kind}
}

// undecided is the owner of a statement that is not assigned yet.
var undecided = evidence.Owner{Kind: notBound}

// The kinds of owners.
const (
	toNobody   evidence.OwnerKind = iota
	toVisit                       //
	toOccupant                    // the present occupant of the room
	toPast                        // an occupant who left
	toRoom                        // a room that neither ADT nor a census knows
	notBound                      // not decided yet
)

// assignStatements decides who owns the statements of a room, and touches the rooms of old and
// new owners.
func (k *statements) assignStatements(r *room) {
	for h := range r.statements.All {
		k.assignStatement(r, h, k.bindingFor(r, h))
	}
}

// assignStatement gives a statement to an owner.
func (k *statements) assignStatement(r *room, h *evidence.Statement, b binding) {
	before := k.bindingOf(h)
	if before == b {
		return
	}
	fresh := before.kind == notBound
	if !fresh { // the old owner loses it, the new one gets it between others
		k.cacheOf(h).Forget()
		k.touchOwner(r, before)
	}
	h.Owner = b.owner()
	if fresh {
		k.touchEvidence(h, false)
		return
	}
	k.cacheOf(h).Forget()
	k.touchOwner(r, b)
}

// touchEvidence touches the room of the owner of a statement that was added
// or lost.
func (k *statements) touchEvidence(h *evidence.Statement, lost bool) {
	if h.Owner.Kind == notBound {
		return
	}
	v := k.visitOfStatement(h)
	if !k.cacheOf(h).Invalidate(h, lost) && v != nil {
		return
	}
	k.touchOwner(k.room(h.Room), k.bindingOf(h))
}

// bindingFor returns the owner of a statement of a room (docs/decisions.md#statement-owner): who was
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

// withdrawn is a room where a visit was placed by an event that was taken back.
type withdrawn struct {
	room int32
	at   acuity.Instant // the earliest event time
}

// withdrawnRooms are the visits that were placed in a room by events that were taken
// back, by room id, ascending by the time of the event.
type withdrawnRooms map[int32][]roomStay

// appendWithdrawn appends the rooms of placing events that were taken back.
func appendWithdrawn(dst []withdrawn, s *adt.Timeline, table *location.Table) []withdrawn {
	for i := range s.Events {
		t := &s.Events[i]
		if !t.Withdrawn() || t.Event.Type == acuity.A03 { // a discharge places nobody
			continue
		}
		p := table.Placement(t.Event.Place)
		if p.Kind != location.InRoom || slices.ContainsFunc(dst, func(w withdrawn) bool { return w.room == p.Room }) {
			continue // events are in the order of time
		}
		dst = append(dst, withdrawn{p.Room, t.At})
	}
	return dst
}

// replace replaces the entries of a visit in the index.
func (l withdrawnRooms) replace(v *visit, list []withdrawn) {
	for _, w := range v.withdrawn {
		left := removeRoomStay(l[w.room], roomStay{v: v, From: w.at})
		if l[w.room] = left; len(left) == 0 {
			delete(l, w.room)
		}
	}
	v.withdrawn = append(v.withdrawn[:0], list...)
	for _, w := range list {
		l[w.room] = insertRoomStay(l[w.room], roomStay{v: v, From: w.at})
	}
}

// cover reports whether a statement of t was about a visit that never was in the room: a
// withdrawn event would have bound it, or came before it. ADT knows the room by that
// event, so the statement is not the room's own either.
func (l withdrawnRooms) cover(room int32, t acuity.Instant) bool {
	list := l[room]
	return len(list) > 0 && list[0].From <= t.Add(firstOccupant)
}

// replaceWithdrawn replaces the withdrawn rooms of a visit, and touches these rooms.
func (k *statements) replaceWithdrawn(v *visit, list []withdrawn) {
	if slices.Equal(v.withdrawn, list) {
		return
	}
	changed := slices.Concat(v.withdrawn, list)
	k.withdrawn.replace(v, list)
	for _, w := range changed {
		if r := k.room(w.room); r != nil {
			k.work.markRoom(r, touched)
		}
	}
}
