// Package stays decides who is in which room at what time.
//
// [Builder] merges the places that ADT and censuses report for each visit. [Statements] stores the clinical statements
// and assigns each of them to the patient who was in the room.
package stays

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// Builder derives the current and past places of each visit from its timeline and from censuses. Newborns follow their
// mothers.
type Builder struct {
	*registry.Registry
	Names      *identity.Names
	Timelines  *identity.Timelines
	Locations  *identity.Locations
	Statements *Statements

	Listed   map[string]bool // newborns whom a census lists with a mother
	Unplaced int32           // number of visits in the unit without a room

	// The fields below are scratch memory that is reused from visit to visit.
	merge      locationMerge
	spans, own []registry.LocationSpan
	withdrawn  []registry.Withdrawn
}

// PlaceVisits merges the location spans of the touched visits, mothers before newborns, and places the visits in their
// rooms.
func (l *Builder) PlaceVisits() {
	for _, v := range l.Work.Visits.With(registry.Touched) {
		l.withdrawn = appendWithdrawn(l.withdrawn[:0], &v.Timeline, &l.Locations.Table)
		l.Statements.ReplaceWithdrawn(v, l.withdrawn)
		if !v.Timeline.Newborn {
			l.moveVisit(v, l.mergeLocations(v, &l.merge, l.spans[:0]))
		}
	}
	for _, v := range l.Timelines.Newborns { // touch the mother's rooms before and after the move, because her chart includes her newborns
		if v.Marks&registry.Touched != 0 || l.mayFollowMother(v) {
			l.TouchRoomOf(v.Mother)
			l.moveVisit(v, l.mergeNewborn(v))
			l.TouchRoomOf(v.Mother)
		}
	}
}

// mayFollowMother reports whether a newborn's place may depend on its mother's place.
func (l *Builder) mayFollowMother(v *registry.Visit) bool {
	if v.Mother != nil && v.Mother.Marks&registry.Touched != 0 {
		return true
	}
	for _, s := range v.Spans {
		if r := l.Room(s.Room); s.Kind == location.InRoom && r != nil && r.Marks&registry.Touched != 0 {
			return true
		}
	}
	return l.motherOf(v) != v.Mother
}

// mergeNewborn returns the location spans of a newborn.
func (l *Builder) mergeNewborn(v *registry.Visit) []registry.LocationSpan {
	own := l.mergeLocations(v, &l.merge, l.own[:0])
	l.own = own
	v.LinkMother(l.motherOf(v))
	if v.Mother == nil || v.Timeline.OpenedAt == 0 {
		return append(l.spans[:0], own...)
	}
	if len(own) > 0 && own[len(own)-1].Kind == location.Nowhere {
		own = own[:len(own)-1]
	}
	return appendWithMother(own, v.Mother.Spans, v.Timeline.OpenedAt, v.Timeline.ClosedAt, l.spans[:0])
}

// motherOf returns the visit of a newborn's mother, according to the links in messages. Personal names are never
// compared. Without a link, it returns the visit of a mother who was already in a room when the newborn arrived
// there. If this applies to several rooms, the last one counts; a nursery without a mother does not end the relation.
// It returns nil if there is no such visit.
func (l *Builder) motherOf(v *registry.Visit) *registry.Visit {
	if id := v.Timeline.MotherVisit; id != "" && id != v.ID {
		if m := l.Names.VisitNamed(id); m != nil && m != v && !m.Timeline.Newborn {
			return m
		}
	}
	if p := v.Timeline.MotherPatient; p != "" {
		if m := l.Names.VisitOf(p, v); m != nil {
			return m
		}
	}
	if v.Timeline.MotherVisit != "" || v.Timeline.MotherPatient != "" {
		return nil
	}
	for i := range slices.Backward(v.Timeline.Stays) {
		s := &v.Timeline.Stays[i]
		p := l.Locations.Table.Placement(s.Place())
		r := l.Room(p.Room)
		if p.Kind != location.InRoom || r == nil {
			continue
		}
		later, _ := slices.BinarySearchFunc(r.Stays, s.From+1, func(m registry.RoomStay, at acuity.Instant) int {
			return cmp.Compare(m.From, at)
		})
		for _, m := range slices.Backward(r.Stays[:later]) {
			if m.Holds(s.From) && !m.V.Timeline.Newborn {
				return m.V
			}
		}
	}
	return nil
}

// moveVisit places a visit in its rooms, and touches all rooms where the visit is or was. If the visit did not move,
// moveVisit touches only its current room.
func (l *Builder) moveVisit(v *registry.Visit, to []registry.LocationSpan) {
	l.spans = to
	if slices.Equal(v.Spans, to) {
		l.TouchRoomOf(v)
		return
	}
	l.TouchRoomsOf(v)
	l.TouchIfListed(v)
	l.updateRoomStays(v, to)
	v.Spans = append(v.Spans[:0], to...)
	if l.WhereIs(v) == nil {
		v.Cache = nil // the visit no longer has a chart
	}
	if unplaced := v.IsUnplaced(); unplaced != v.CountedUnplaced {
		v.CountedUnplaced = unplaced
		if unplaced {
			l.Unplaced++
		} else {
			l.Unplaced--
		}
	}
	l.TouchRoomsOf(v)
}

// updateRoomStays replaces the stays of a visit in its rooms. Stays before the first change are not modified, and a
// stay that ends is changed in place, because a room has hundreds of stays a week.
func (l *Builder) updateRoomStays(v *registry.Visit, to []registry.LocationSpan) {
	from, n := v.Spans, 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	ascending := isAscending(from) && isAscending(to)
	if !ascending { // the start does not identify a stay, so all stays are replaced
		n = 0
	}
	from, to = from[n:], to[n:]
	if ascending && len(from) > 0 && len(to) > 0 && from[0].Placement == to[0].Placement && from[0].From == to[0].From {
		if r := l.Room(from[0].Room); from[0].Kind == location.InRoom && r != nil {
			setStayEnd(r, v, from[0], to[0].To)
		}
		from, to = from[1:], to[1:]
	}
	RemoveRoomStays(l.Registry, v, from)
	for _, s := range to {
		r := l.Locations.RoomOf(s.Placement)
		if r == nil {
			continue
		}
		n := registry.RoomStay{V: v, From: s.From, To: s.To}
		r.Stays = insertRoomStay(r.Stays, n)
		if n.To == 0 {
			r.Here = insertRoomStay(r.Here, n)
		}
	}
}

// RemoveRoomStays removes the given stays of a visit from their rooms.
func RemoveRoomStays(g *registry.Registry, v *registry.Visit, stays []registry.LocationSpan) {
	for _, s := range stays {
		if r := g.Room(s.Room); s.Kind == location.InRoom && r != nil {
			n := registry.RoomStay{V: v, From: s.From}
			r.Stays, r.Here = removeRoomStay(r.Stays, n), removeRoomStay(r.Here, n)
		}
	}
}

// isAscending reports whether each span starts after the previous one.
func isAscending(spans []registry.LocationSpan) bool {
	for i := 1; i < len(spans); i++ {
		if spans[i-1].From >= spans[i].From {
			return false
		}
	}
	return true
}

// setStayEnd changes the end of a stay; 0 means that the stay continues.
func setStayEnd(r *registry.Room, v *registry.Visit, s registry.LocationSpan, to acuity.Instant) {
	n := registry.RoomStay{V: v, From: s.From, To: to}
	if i, ok := slices.BinarySearchFunc(r.Stays, n, compareRoomStays); ok {
		r.Stays[i].To = to
	}
	if r.Here = removeRoomStay(r.Here, n); to == 0 {
		r.Here = insertRoomStay(r.Here, n)
	}
}

// TouchIfListed touches all rooms if a census lists the visit with a mother, because the visit may have to be removed
// from the mother's entry or added to it again.
func (l *Builder) TouchIfListed(v *registry.Visit) {
	if l.Listed[v.ID] || slices.ContainsFunc(v.Joined.Rest(), func(o *registry.Visit) bool { return l.Listed[o.ID] }) {
		for _, r := range l.Rooms {
			l.Work.MarkRoom(r, registry.Touched)
		}
	}
}

// insertRoomStay inserts a stay into a room's list of stays.
func insertRoomStay(list []registry.RoomStay, s registry.RoomStay) []registry.RoomStay {
	i, _ := slices.BinarySearchFunc(list, s, compareRoomStays)
	return slices.Insert(list, i, s)
}

// removeRoomStay removes the stay with the same visit and start from a list.
func removeRoomStay(list []registry.RoomStay, s registry.RoomStay) []registry.RoomStay {
	i, ok := slices.BinarySearchFunc(list, s, compareRoomStays)
	switch {
	case !ok:
		return list
	case i < len(list)/2: // most stays that are removed are early ones; moving the stays before them is cheaper
		copy(list[1:], list[:i])
		list[0] = registry.RoomStay{}
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}

// compareRoomStays orders the stays of a room by arrival.
func compareRoomStays(a, b registry.RoomStay) int {
	if a.From != b.From {
		return cmp.Compare(a.From, b.From)
	}
	return cmp.Compare(a.V.ID, b.V.ID)
}

// List records the visits of the newborns that a census lists. f may be nil.
func (l *Builder) List(f *facts.CensusFacts) {
	if f == nil {
		return
	}
	for i := range f.Newborns {
		if id := f.Newborns[i].Visit; id != "" {
			l.Listed[id] = true
		}
	}
}
