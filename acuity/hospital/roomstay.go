package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/location"
)

// roomStay is the presence of a visit in a room.
type roomStay struct {
	v        *visit
	From, To acuity.Instant // To 0: still
}

func (s roomStay) holds(t acuity.Instant) bool { return s.From <= t && (s.To == 0 || t < s.To) }

// stayBuilder finds where each visit is and was, by its timeline and by censuses together. Newborns
// follow their mothers.
type stayBuilder struct {
	*registry
	names      *names
	timelines  *timelines
	locations  *locations
	statements *statements

	listed   map[string]bool // newborns whom a census lists with a mother
	unplaced int32           // visits without a room

	// Memory for the next visit.
	merge      locationMerge
	spans, own []locationSpan
	withdrawn  []withdrawn
}

// placeVisits merges the location spans of the touched visits, mothers before newborns,
// and puts the visits into their rooms.
func (l *stayBuilder) placeVisits() {
	for _, v := range l.work.visits.with(touched) {
		l.withdrawn = appendWithdrawn(l.withdrawn[:0], &v.timeline, &l.locations.table)
		l.statements.replaceWithdrawn(v, l.withdrawn)
		if !v.timeline.Newborn {
			l.moveVisit(v, l.mergeLocations(v, &l.merge, l.spans[:0]))
		}
	}
	for _, v := range l.timelines.newborns { // a mother's chart shows her births
		if v.marks&touched != 0 || l.follows(v) {
			l.touchRoomOf(v.mother)
			l.moveVisit(v, l.mergeNewborn(v))
			l.touchRoomOf(v.mother)
		}
	}
}

// follows reports whether a newborn may have to follow its mother.
func (l *stayBuilder) follows(v *visit) bool {
	if v.mother != nil && v.mother.marks&touched != 0 {
		return true
	}
	for _, s := range v.spans {
		if r := l.room(s.Room); s.Kind == location.InRoom && r != nil && r.marks&touched != 0 {
			return true
		}
	}
	return l.motherOf(v) != v.mother
}

// mergeNewborn returns the location spans of a newborn.
func (l *stayBuilder) mergeNewborn(v *visit) []locationSpan {
	own := l.mergeLocations(v, &l.merge, l.own[:0])
	l.own = own
	v.linkMother(l.motherOf(v))
	if v.mother == nil || v.timeline.OpenedAt == 0 {
		return append(l.spans[:0], own...)
	}
	if len(own) > 0 && own[len(own)-1].Kind == location.Nowhere {
		own = own[:len(own)-1]
	}
	return withMother(own, v.mother.spans, v.timeline.OpenedAt, v.timeline.ClosedAt, l.spans[:0])
}

// motherOf returns the mother's visit of a newborn, by the links that were sent, never
// by name. Without a link it is the visit that was in the newborn's room.
func (l *stayBuilder) motherOf(v *visit) *visit {
	if id := v.timeline.MotherVisit; id != "" && id != v.ID {
		if m := l.names.visitNamed(id); m != nil && m != v && !m.timeline.Newborn {
			return m
		}
	}
	if p := v.timeline.MotherPatient; p != "" {
		if m := l.names.visitOf(p, v); m != nil {
			return m
		}
	}
	if v.timeline.MotherVisit != "" || v.timeline.MotherPatient != "" || len(v.timeline.Stays) == 0 {
		return nil
	}
	s := &v.timeline.Stays[len(v.timeline.Stays)-1]
	p := l.locations.table.Placement(s.Place())
	if p.Kind != location.InRoom {
		return nil
	}
	if r := l.room(p.Room); r != nil {
		for _, m := range slices.Backward(r.stays) {
			if m.holds(s.From) && !m.v.timeline.Newborn {
				return m.v
			}
		}
	}
	return nil
}

// linkMother links a newborn to its mother; nil: the mother is unknown.
func (v *visit) linkMother(mother *visit) {
	if v.mother == mother {
		return
	}
	if old := v.mother; old != nil {
		last := len(old.babies) - 1
		old.babies[v.babyIndex] = old.babies[last]
		old.babies[v.babyIndex].babyIndex = v.babyIndex
		old.babies[last] = nil
		old.babies = old.babies[:last]
	}
	if v.mother = mother; mother != nil {
		v.babyIndex = len(mother.babies)
		mother.babies = append(mother.babies, v)
	}
}

// moveVisit puts a visit into its rooms, and touches all rooms where it
// is or was. A visit that did not move touches only its present room.
func (l *stayBuilder) moveVisit(v *visit, to []locationSpan) {
	l.spans = to
	if slices.Equal(v.spans, to) {
		l.touchRoomOf(v)
		return
	}
	l.touchRoomsOf(v)
	l.touchIfListed(v)
	l.updateRoomStays(v, to)
	v.spans = append(v.spans[:0], to...)
	if v.cache.Forget(); l.whereIs(v) == nil {
		v.cache = nil // there is no chart of it any more
	}
	if unplaced := v.isUnplaced(); unplaced != v.countedUnplaced {
		v.countedUnplaced = unplaced
		if unplaced {
			l.unplaced++
		} else {
			l.unplaced--
		}
	}
	l.touchRoomsOf(v)
}

// updateRoomStays replaces the stays of a visit in its rooms. Stays before the first
// change are left alone, and a stay that ends is changed in place: in a week a room has
// hundreds of stays.
func (l *stayBuilder) updateRoomStays(v *visit, to []locationSpan) {
	from, n := v.spans, 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	ascending := ascend(from) && ascend(to)
	if !ascending { // its start does not identify a stay: all are replaced
		n = 0
	}
	from, to = from[n:], to[n:]
	if ascending && len(from) > 0 && len(to) > 0 && from[0].Placement == to[0].Placement && from[0].From == to[0].From {
		if r := l.room(from[0].Room); from[0].Kind == location.InRoom && r != nil {
			r.setStayEnd(v, from[0], to[0].To)
		}
		from, to = from[1:], to[1:]
	}
	l.removeRoomStays(v, from)
	for _, s := range to {
		r := l.locations.roomOf(s.Placement)
		if r == nil {
			continue
		}
		n := roomStay{v: v, From: s.From, To: s.To}
		r.stays = insertRoomStay(r.stays, n)
		if n.To == 0 {
			r.here = insertRoomStay(r.here, n)
		}
	}
}

// ascend reports whether each span starts after the one before.
func ascend(spans []locationSpan) bool {
	for i := 1; i < len(spans); i++ {
		if spans[i-1].From >= spans[i].From {
			return false
		}
	}
	return true
}

// setStayEnd changes the end of a stay; 0: the stay goes on.
func (r *room) setStayEnd(v *visit, s locationSpan, to acuity.Instant) {
	n := roomStay{v: v, From: s.From, To: to}
	if i, ok := slices.BinarySearchFunc(r.stays, n, compareRoomStays); ok {
		r.stays[i].To = to
	}
	if r.here = removeRoomStay(r.here, n); to == 0 {
		r.here = insertRoomStay(r.here, n)
	}
}

// isUnplaced reports whether the visit is in the unit without a room.
func (v *visit) isUnplaced() bool {
	n := len(v.spans)
	return n > 0 && v.spans[n-1].To == 0 && (v.spans[n-1].Kind == location.Nowhere || v.spans[n-1].Kind == location.WithoutRoom)
}

// touchIfListed touches all rooms if a census lists the visit with a mother:
// the mother's entry may lose it, or get it back.
func (l *stayBuilder) touchIfListed(v *visit) {
	if l.listed[v.ID] || slices.ContainsFunc(v.joined.rest(), func(o *visit) bool { return l.listed[o.ID] }) {
		for _, r := range l.rooms {
			l.work.markRoom(r, touched)
		}
	}
}

// insertRoomStay adds a stay to those of a room.
func insertRoomStay(list []roomStay, s roomStay) []roomStay {
	i, _ := slices.BinarySearchFunc(list, s, compareRoomStays)
	return slices.Insert(list, i, s)
}

// removeRoomStay removes the stay with the same visit and start.
func removeRoomStay(list []roomStay, s roomStay) []roomStay {
	i, ok := slices.BinarySearchFunc(list, s, compareRoomStays)
	switch {
	case !ok:
		return list
	case i < len(list)/2: // forgotten visits are early ones: the stays after it need not move
		copy(list[1:], list[:i])
		list[0] = roomStay{}
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}

// compareRoomStays orders the stays of a room by arrival.
func compareRoomStays(a, b roomStay) int {
	if a.From != b.From {
		return cmp.Compare(a.From, b.From)
	}
	return cmp.Compare(a.v.ID, b.v.ID)
}
