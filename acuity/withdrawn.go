package acuity

import "slices"

// withdrawn is a room that a visit was said to be in, until that was taken back.
type withdrawn struct {
	room int32
	at   Instant // the earliest event time
}

// withdrawnRooms are the visits that were said to be in a room, by its id, ascending by
// the time of the event that was taken back.
type withdrawnRooms map[int32][]sit

// withdrawn appends the rooms of the placing events that were cancelled, that hung on an
// admit that was, or whose Encounter never was.
func (s *timeline) withdrawn(table *roomTable, dst []withdrawn) []withdrawn {
	for i := range s.events {
		t := &s.events[i]
		back := t.disposition == eventCancelled || t.disposition == eventVoided || t.disposition == eventVoid
		if !back || t.event.Type == A03 { // a discharge places nobody
			continue
		}
		p := table.of(t.event.Place)
		if p.Kind != inRoom || slices.ContainsFunc(dst, func(w withdrawn) bool { return w.room == p.Room }) {
			continue // events are in the order of time
		}
		dst = append(dst, withdrawn{p.Room, t.at})
	}
	return dst
}

// replace makes a list what the index has of a visit.
func (l withdrawnRooms) replace(v *visit, list []withdrawn) {
	for _, w := range v.withdrawn {
		left := unseated(l[w.room], sit{v: v, From: w.at})
		if l[w.room] = left; len(left) == 0 {
			delete(l, w.room)
		}
	}
	v.withdrawn = append(v.withdrawn[:0], list...)
	for _, w := range list {
		l[w.room] = seated(l[w.room], sit{v: v, From: w.at})
	}
}

// cover reports whether a statement of t was about somebody who was never in the room: a
// placing event that was taken back would have bound it, or came before it. By that
// event ADT knows the room, so it is not the room's own either.
func (l withdrawnRooms) cover(room int32, t Instant) bool {
	list := l[room]
	return len(list) > 0 && list[0].From <= t.Add(firstOccupant)
}

// replaceWithdrawn replaces the rooms that a visit was said to be in, and asks for their
// statements and charts anew.
func replaceWithdrawn(u *Unit, v *visit, list []withdrawn) {
	if slices.Equal(v.withdrawn, list) {
		return
	}
	changed := slices.Concat(v.withdrawn, list)
	u.withdrawn.replace(v, list)
	for _, w := range changed {
		if r := u.room(w.room); r != nil {
			u.markRoom(r, dirtyAssignment|dirtyChart)
		}
	}
}
