package stays

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// AssignStatements decides the owners of a room's statements, and touches the rooms of old and new owners.
func (k *Statements) AssignStatements(r *registry.Room) {
	for h := range r.Statements.All {
		k.assignStatement(h, k.bindingFor(r, h))
	}
}

// assignStatement assigns a statement to an owner.
func (k *Statements) assignStatement(h *evidence.Statement, b registry.Binding) {
	before := k.BindingOf(h)
	if before == b {
		return
	}
	k.touchEvidence(h)
	h.Owner = b.Owner()
	k.touchEvidence(h)
}

// touchEvidence touches the room of a statement's owner when the owner gains or loses the statement. If the owner is
// a visit, touchEvidence ignores statements that cannot change the visit's evidence. Without a visit, every statement
// counts, because the room is in use while it has recent statements of any kind.
func (k *Statements) touchEvidence(h *evidence.Statement) {
	b := k.BindingOf(h)
	if b.Kind != registry.NotBound && (b.V == nil || h.Matters()) {
		k.TouchOwner(k.Room(h.Room), b)
	}
}

// bindingFor returns the owner of a statement about a room (docs/decisions.md#statement-owner): the patient in the
// room at the time of the observation (or of the receipt, if that is earlier); else the patient there when the
// statement was received; else the first patient to arrive within an hour after the earlier of these times; else the
// room itself, if no other feed knows the room and no census is newer than the receipt. A patient placed in the room by
// a canceled event was never there, so a statement about such a patient has no owner.
func (k *Statements) bindingFor(r *registry.Room, h *evidence.Statement) registry.Binding {
	if h.Settled {
		return registry.Binding{Kind: registry.ToRoom}
	}
	t := h.ReceivedAt
	if h.ObservedAt != 0 {
		t = min(t, h.ObservedAt)
	}
	if b := OwnerAt(r, t); b.Kind != registry.ToNobody {
		return b
	}
	if b := OwnerAt(r, h.ReceivedAt); b.Kind != registry.ToNobody {
		return b
	}
	if b := firstOwnerAfter(r, t, t.Add(firstOccupant)); b.Kind != registry.ToNobody {
		return b
	}
	if r.IsKnown() || k.Withdrawn.covers(r.ID, t) || h.ReceivedAt < k.Facts.CensusAt {
		return registry.Binding{}
	}
	return registry.Binding{Kind: registry.ToRoom}
}

// OwnerAt returns the owner of the statements about a room at t: the mother who arrived last or, if no mother is in
// the room, the newborn who arrived last. If no visit is in the room, the owner is the occupant without a visit who
// was there at t; if there was none, the statements have no owner.
func OwnerAt(r *registry.Room, t acuity.Instant) registry.Binding {
	var newborn *registry.Visit
	for i := range slices.Backward(r.Stays) { // usually the last stay matches
		s := &r.Stays[i]
		switch {
		case !s.Holds(t):
		case !s.V.Timeline.Newborn:
			return registry.Binding{V: s.V, Kind: registry.ToVisit}
		case newborn == nil:
			newborn = s.V
		}
	}
	if newborn != nil {
		return registry.Binding{V: newborn, Kind: registry.ToVisit}
	}
	if r.Occupant != nil && r.Occupant.From <= t {
		if end := r.OccupantEnd(); end == 0 || t < end {
			return registry.Binding{Kind: registry.ToOccupant}
		}
		return registry.Binding{}
	}
	for i := range r.Past {
		if p := &r.Past[i]; p.From <= t && t < p.To {
			return registry.Binding{Kind: registry.ToPast}
		}
	}
	return registry.Binding{}
}

// firstOwnerAfter returns the first mother, or else the occupant without a visit, who arrives in the room in the
// interval (from, to].
func firstOwnerAfter(r *registry.Room, from, to acuity.Instant) registry.Binding {
	first, _ := slices.BinarySearchFunc(r.Stays, from+1, func(s registry.RoomStay, at acuity.Instant) int { return cmp.Compare(s.From, at) })
	for i := first; i < len(r.Stays) && r.Stays[i].From <= to; i++ {
		if !r.Stays[i].V.Timeline.Newborn {
			return registry.Binding{V: r.Stays[i].V, Kind: registry.ToVisit}
		}
	}
	if o := r.Occupant; o != nil && r.OccupantVisit == nil && o.From > from && o.From <= to {
		return registry.Binding{Kind: registry.ToOccupant}
	}
	return registry.Binding{}
}

// WithdrawnRooms lists, by room id, the visits that canceled events had placed in the room, ascending by event time.
type WithdrawnRooms map[int32][]registry.RoomStay

// appendWithdrawn appends the rooms in which canceled events had placed the visit.
func appendWithdrawn(dst []registry.Withdrawn, s *adt.Timeline, table *location.Table) []registry.Withdrawn {
	for i := range s.Events {
		t := &s.Events[i]
		if !t.IsWithdrawn() || t.Event.Type == acuity.A03 { // a discharge does not place the patient
			continue
		}
		p := table.Placement(t.Event.Place)
		if p.Kind != location.InRoom || slices.ContainsFunc(dst, func(w registry.Withdrawn) bool { return w.Room == p.Room }) {
			continue // events are in time order, so the list already has the earliest time for the room
		}
		dst = append(dst, registry.Withdrawn{Room: p.Room, At: t.At})
	}
	return dst
}

// replace replaces a visit's entries in the index.
func (l WithdrawnRooms) replace(v *registry.Visit, list []registry.Withdrawn) {
	for _, w := range v.Withdrawn {
		left := removeRoomStay(l[w.Room], registry.RoomStay{V: v, From: w.At})
		if l[w.Room] = left; len(left) == 0 {
			delete(l, w.Room)
		}
	}
	v.Withdrawn = append(v.Withdrawn[:0], list...)
	for _, w := range list {
		l[w.Room] = insertRoomStay(l[w.Room], registry.RoomStay{V: v, From: w.At})
	}
}

// covers reports whether a canceled event placed a visit in the room at any time up to firstOccupant after t. If so, a
// statement at t has no owner: the visit was never in the room, and a room owns statements only if neither ADT nor a
// census has named it (docs/decisions.md#statement-owner).
func (l WithdrawnRooms) covers(room int32, t acuity.Instant) bool {
	list := l[room]
	return len(list) > 0 && list[0].From <= t.Add(firstOccupant)
}

// ReplaceWithdrawn replaces a visit's withdrawn rooms, and touches the old and new ones.
func (k *Statements) ReplaceWithdrawn(v *registry.Visit, list []registry.Withdrawn) {
	if slices.Equal(v.Withdrawn, list) {
		return
	}
	changed := slices.Concat(v.Withdrawn, list)
	k.Withdrawn.replace(v, list)
	for _, w := range changed {
		if r := k.Room(w.Room); r != nil {
			k.Work.MarkRoom(r, registry.Touched)
		}
	}
}

// firstOccupant is the maximum time between a statement about an empty room and the arrival of the patient whom the
// statement may already concern (docs/decisions.md#statement-owner).
const firstOccupant = time.Hour
