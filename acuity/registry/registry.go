// Package registry stores what is known about one hospital.
//
// A [Registry] contains the hospital's rooms and visits, and lists those whose state the next steps must derive
// again. A [Room] or a [Visit] contains facts and the state that other packages derive from these facts. Each of
// those packages sets only the fields that it derives. An [Unassigned] contains the statements that name a patient
// but no visit. An [Intake] is one observation being applied, with its result.
package registry

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/location"
)

// Registry contains the unit, its rooms and its visits, and the work pending for the next steps. All components of a
// hospital's state share it.
type Registry struct {
	Keys   facts.Keys
	Limits Limits
	Facts  facts.UnitState
	Work   work
	Chart  acuity.Chart

	Rooms  []*Room // ascending by id
	Visits map[string]*Visit
	Slots  slots

	EventBytes int // approximate size of the events of all visits, in bytes

	Unknown map[*Visit]struct{} // visits that only statements name; a statement may arrive before its visit
	Fresh   []*Visit            // visits added since the last housekeeping
	Checks  map[int32][]*Visit  // visits to check for removal, by hour of the check
	Recent  []*Visit            // superset of the visits with new facts since the last housekeeping
}

// Room returns the room with the given id, or nil if the room is unknown. If ids are consecutive, Room does not have
// to search.
func (g *Registry) Room(id int32) *Room {
	if n := int64(len(g.Rooms)); n > 0 {
		if at := int64(id) - int64(g.Rooms[0].ID); at >= 0 && at < n && g.Rooms[at].ID == id {
			return g.Rooms[at]
		}
	}
	if i, ok := slices.BinarySearchFunc(g.Rooms, id, byRoomID); ok {
		return g.Rooms[i]
	}
	return nil
}

// byRoomID compares the id of a room with another id.
func byRoomID(r *Room, id int32) int { return cmp.Compare(r.ID, id) }

// AddRoom adds a room. The caller must have checked the limits.
func (g *Registry) AddRoom(s facts.RoomState) *Room {
	i, _ := slices.BinarySearchFunc(g.Rooms, s.ID, byRoomID)
	r := &Room{RoomState: s}
	g.Rooms = slices.Insert(g.Rooms, i, r)
	g.Work.DropPast = true
	g.Work.MarkRoom(r, Unsaved|Touched)
	return r
}

// Visit returns the visit with the given id. If there is none, Visit adds one.
func (g *Registry) Visit(id string) *Visit {
	v := g.Visits[id]
	if v == nil {
		v = &Visit{VisitFacts: VisitFacts{ID: strings.Clone(id)}} // cloned, so that the observation's memory is not retained
		g.Visits[v.ID] = v
		g.Slots.assign(v)
		g.IndexKnown(v)
		g.Work.MarkVisit(v, Unsaved|Touched)
	}
	return v
}

// IndexKnown updates the set of unknown visits after the facts of a visit have changed. A known visit is also
// scheduled for the housekeeping check that removes old visits.
func (g *Registry) IndexKnown(v *Visit) {
	if v.IsName() {
		g.Unknown[v] = struct{}{}
		return
	}
	delete(g.Unknown, v)
	if !v.InChecks {
		v.InChecks, g.Fresh = true, append(g.Fresh, v)
	}
}

// WhereIs returns the room in which a visit is now, or nil if the visit is not in a room.
func (g *Registry) WhereIs(v *Visit) *Room {
	if v = v.Whole(); v == nil {
		return nil
	}
	if n := len(v.Spans); n > 0 && v.Spans[n-1].To == 0 && v.Spans[n-1].Kind == location.InRoom {
		return g.Room(v.Spans[n-1].Room)
	}
	return nil
}

// VisitOfStatement returns the visit that owns a statement, or nil if no visit owns it.
func (g *Registry) VisitOfStatement(h *evidence.Statement) *Visit {
	if h.Owner.ID == 0 {
		return nil
	}
	return g.Slots.Visits[h.Owner.ID]
}

// BindingOf returns the owner of a statement.
func (g *Registry) BindingOf(h *evidence.Statement) Binding {
	return Binding{g.VisitOfStatement(h), h.Owner.Kind}
}

// TouchOwner touches the room in which the owner of a statement is now. If the owner is a visit, this is the visit's
// current room. If the owner is an occupant without a visit or the room itself, it is r, the room that the statement
// names. r is nil if that room is no longer known; TouchOwner then touches only a visit's room.
func (g *Registry) TouchOwner(r *Room, b Binding) {
	switch {
	case b.V != nil:
		g.TouchRoomOf(b.V)
	case r != nil && b.Kind != ToNobody:
		g.Work.MarkRoom(r, Touched)
	}
}

// TouchRoomOf touches the room in which a visit is now.
func (g *Registry) TouchRoomOf(v *Visit) {
	if r := g.WhereIs(v); r != nil {
		g.Work.MarkRoom(r, Touched)
	}
}

// TouchRoomsOf touches the rooms where a visit is or was.
func (g *Registry) TouchRoomsOf(v *Visit) {
	for _, s := range v.Spans {
		if r := g.Room(s.Room); s.Kind == location.InRoom && r != nil {
			g.Work.MarkRoom(r, Touched)
		}
	}
}

// slots numbers the visits of a unit, so that a number can identify the owner of a statement. Slot 0 is unused.
type slots struct {
	Visits []*Visit
	Vacant []int32
}

// assign assigns a free slot to a visit.
func (s *slots) assign(v *Visit) {
	if n := len(s.Vacant); n > 0 {
		v.Slot, s.Vacant = s.Vacant[n-1], s.Vacant[:n-1]
		s.Visits[v.Slot] = v
		return
	}
	if len(s.Visits) == 0 {
		s.Visits = append(s.Visits, nil)
	}
	v.Slot = int32(len(s.Visits)) //nolint:gosec // the number of visits in a week is small
	s.Visits = append(GrowLittle(s.Visits), v)
}

// Release frees the slot of a visit. No statement may still refer to the slot.
func (s *slots) Release(v *Visit) {
	s.Visits[v.Slot] = nil
	s.Vacant = append(s.Vacant, v.Slot)
	v.Slot = 0
}

// RestoreVisit adds the visit from a changelog record.
func (g *Registry) RestoreVisit(r *facts.VisitState) {
	v := g.Visits[r.ID]
	if v == nil {
		v = &Visit{}
		g.Slots.assign(v)
	}
	*v = Visit{Slot: v.Slot, VisitFacts: VisitFacts{
		ID: strings.Clone(r.ID), Events: adt.StoreEvents(r.Events), Folded: r.Folded, FoldAt: r.FoldAt, Touched: r.Touched,
		Facts: r.Facts, Stays: r.Stays,
	}}
	g.Visits[v.ID] = v
}

// RestoreRoom adds the room from a changelog record.
func (g *Registry) RestoreRoom(s *facts.RoomState) {
	if r := g.Room(s.ID); r != nil {
		r.RoomState = *s
		return
	}
	i, _ := slices.BinarySearchFunc(g.Rooms, s.ID, byRoomID)
	g.Rooms = slices.Insert(g.Rooms, i, &Room{RoomState: *s})
}

// UpdateSize updates the recorded size of a visit's facts.
func (g *Registry) UpdateSize(v *Visit) {
	n := v.Size()
	g.EventBytes += n - v.Bytes
	v.Bytes = n
}

// GrowLittle grows the capacity of a full list by a quarter of its length, but by at least one. Doubling would leave up
// to half of the memory of a hospital's lists unused.
func GrowLittle[T any](list []T) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/4+1), list...)
}
