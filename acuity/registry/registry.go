// Package registry keeps what is known of each room, visit or unassigned patient of one hospital.
//
// A [Room] and a [Visit] have their facts, and beside them what the packages above derive. Each
// package fills its part and leaves the others alone. [Work] lists which rooms and visits the next
// steps have to derive anew. An [Intake] is one observation on its way into the facts, with its answer.
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

// Registry has what is known of the unit, its rooms and its visits, and what the next steps
// must do for them. Every part of a [State] shares it.
type Registry struct {
	Keys   facts.Keys
	Limits Limits
	Facts  facts.UnitState
	Work   work
	Chart  acuity.Chart

	Rooms  []*Room // ascending by id
	Visits map[string]*Visit
	Slots  slots

	EventBytes int // approximate size of the events of all visits

	Unknown map[*Visit]struct{} // visits that only statements name; a statement may come before its visit
	Fresh   []*Visit            // became known since housekeeping
	Checks  map[int32][]*Visit  // visits to check, by the hour in which they may be over
	Recent  []*Visit            // at least those that a fact named since housekeeping
}

// Room returns the room with an id; nil: it is not known. Where ids are consecutive,
// the id gives the index.
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

// AddRoom makes a room known. The caller has checked the limits.
func (g *Registry) AddRoom(s facts.RoomState) *Room {
	i, _ := slices.BinarySearchFunc(g.Rooms, s.ID, byRoomID)
	r := &Room{RoomState: s}
	g.Rooms = slices.Insert(g.Rooms, i, r)
	g.Work.DropPast = true
	g.Work.MarkRoom(r, Unsaved|Touched)
	return r
}

// Visit returns the visit with an id, and makes it known if it is not.
func (g *Registry) Visit(id string) *Visit {
	v := g.Visits[id]
	if v == nil {
		v = &Visit{VisitFacts: VisitFacts{ID: strings.Clone(id)}} // keeps the text of the observation out of memory
		g.Visits[v.ID] = v
		g.Slots.assign(v)
		g.IndexKnown(v)
		g.Work.MarkVisit(v, Unsaved|Touched)
	}
	return v
}

// IndexKnown keeps the set of unknown visits after the facts of a visit changed, and
// puts known visits on the list of housekeeping.
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

// WhereIs returns the room in which a visit is now; nil: it is in none.
func (g *Registry) WhereIs(v *Visit) *Room {
	if v = v.Whole(); v == nil {
		return nil
	}
	if n := len(v.Spans); n > 0 && v.Spans[n-1].To == 0 && v.Spans[n-1].Kind == location.InRoom {
		return g.Room(v.Spans[n-1].Room)
	}
	return nil
}

// VisitOfStatement returns the visit that owns a statement; nil: no visit does.
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

// CacheOf returns the cache of the owner of a statement; nil: there is none.
func (g *Registry) CacheOf(h *evidence.Statement) *evidence.Cache {
	if v := g.VisitOfStatement(h); v != nil {
		return v.Cache
	}
	if r := g.Room(h.Room); r != nil {
		return r.Cache
	}
	return nil
}

// TouchOwner touches the room where the owner of statements is;
// nil: the room is unknown by now.
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

// slots numbers the visits of a unit for the owners of statements. Slot 0 is no visit's.
type slots struct {
	Visits []*Visit
	Vacant []int32
}

// assign gives a visit a slot.
func (s *slots) assign(v *Visit) {
	if n := len(s.Vacant); n > 0 {
		v.Slot, s.Vacant = s.Vacant[n-1], s.Vacant[:n-1]
		s.Visits[v.Slot] = v
		return
	}
	if len(s.Visits) == 0 {
		s.Visits = append(s.Visits, nil)
	}
	v.Slot = int32(len(s.Visits)) //nolint:gosec // the visits of a week
	s.Visits = append(GrowLittle(s.Visits), v)
}

// Release frees the slot of a visit. No statement may hold its number any more.
func (s *slots) Release(v *Visit) {
	s.Visits[v.Slot] = nil
	s.Vacant = append(s.Vacant, v.Slot)
	v.Slot = 0
}

// RestoreVisit makes a visit known as a record has it.
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

// RestoreRoom makes a room known as a record has it.
func (g *Registry) RestoreRoom(s *facts.RoomState) {
	if r := g.Room(s.ID); r != nil {
		r.RoomState = *s
		return
	}
	i, _ := slices.BinarySearchFunc(g.Rooms, s.ID, byRoomID)
	g.Rooms = slices.Insert(g.Rooms, i, &Room{RoomState: *s})
}

// Weigh updates the size of the facts of a visit.
func (g *Registry) Weigh(v *Visit) {
	n := v.Size()
	g.EventBytes += n - v.Bytes
	v.Bytes = n
}

// GrowLittle makes room in a full list for one more, and for a quarter of its length. A
// hospital keeps much, and lists that double their capacity leave half of it unused.
func GrowLittle[T any](list []T) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/4+1), list...)
}
