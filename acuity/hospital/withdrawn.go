package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/location"
)

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

// replaceWithdrawn replaces the withdrawn rooms of a visit, and invalidates the
// statements and charts of these rooms.
func (a *assignments) replaceWithdrawn(v *visit, list []withdrawn) {
	if slices.Equal(v.withdrawn, list) {
		return
	}
	changed := slices.Concat(v.withdrawn, list)
	a.withdrawn.replace(v, list)
	for _, w := range changed {
		if r := a.registry.room(w.room); r != nil {
			a.work.markRoom(r, dirtyAssignment|dirtyChart)
		}
	}
}
