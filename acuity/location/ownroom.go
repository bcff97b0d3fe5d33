package location

import (
	"cmp"
	"maps"
	"slices"

	"svc/acuity"
)

// The range of ids for rooms that are named only in ADT events (docs/decisions.md#own-room-ids).
const (
	firstOwnRoom = 900_000
	ownRooms     = 99_991 // number of ids; a prime
)

// ownRoom is an ADT room: a room that is named only in the locations of ADT events.
type ownRoom struct {
	pointOfCare, room string // the first spelling in lexicographic order, if there are several
	named             int32  // number of events with this spelling
	id                int32
}

// AddUse records that an event uses a location. It reports whether the answers for other locations may have changed.
// Locations with a room id and locations without a room name are ignored.
func (t *Table) AddUse(l acuity.Location) (changed bool) {
	l = t.resolveReference(l)
	room := roomName(&l)
	if l.HasRoomID || room == "" {
		return false
	}
	var array [96]byte
	k := appendKey(array[:0], l.PointOfCare, room)
	n, number := roomNumber(room)
	if o := t.own[string(k)]; o != nil {
		switch order := cmp.Or(cmp.Compare(l.PointOfCare, o.pointOfCare), cmp.Compare(room, o.room)); {
		case order < 0:
			if changed = number && l.PointOfCare != o.pointOfCare; changed { // the words of the new spelling may differ
				t.found, t.points[n] = nil, addPoint(t.points[n], l.PointOfCare)
			}
			o.pointOfCare, o.room, o.named = l.PointOfCare, room, 1
		case order == 0:
			o.named++
		}
		return changed
	}
	t.found = nil
	if t.own == nil {
		t.own, t.slots = map[string]*ownRoom{}, map[int32]*ownRoom{}
		t.names, t.points = map[string]int{}, map[int32][]string{}
	}
	if number && l.PointOfCare != "" { // a sender without points of care may mean any of them
		t.points[n] = addPoint(t.points[n], l.PointOfCare)
	}
	o := &ownRoom{pointOfCare: l.PointOfCare, room: room, named: 1, id: preferredID(k)}
	t.own[string(k)] = o
	t.names[string(appendFolded(nil, room))]++
	if t.slots[o.id] != nil || t.hasRoom(o.id) {
		t.moved = true
		return true
	}
	t.slots[o.id] = o
	return true
}

// DropUse records that an event with location l was dropped.
func (t *Table) DropUse(l acuity.Location) {
	o := t.ownOf(l)
	l = t.resolveReference(l)
	if o != nil && o.pointOfCare == l.PointOfCare && o.room == roomName(&l) {
		o.named--
	}
}

// IsUnused reports whether events no longer use the spelling that the table has for the location's room. If so, the
// table must be rebuilt.
func (t *Table) IsUnused(l acuity.Location) bool {
	o := t.ownOf(l)
	return o != nil && o.named <= 0
}

// ownOf returns the ADT room to which a location refers, or nil if there is none.
func (t *Table) ownOf(l acuity.Location) *ownRoom {
	l = t.resolveReference(l)
	room := roomName(&l)
	if l.HasRoomID || room == "" {
		return nil
	}
	var array [96]byte
	return t.own[string(appendKey(array[:0], l.PointOfCare, room))]
}

// Spelling returns the point of care and the room name of an ADT room, as events spell them, and reports whether the
// id belongs to an ADT room.
func (t *Table) Spelling(id int32) (pointOfCare, room string, ok bool) {
	o := t.slot(id)
	if o == nil {
		return "", "", false
	}
	return o.pointOfCare, o.room, true
}

// slot returns the ADT room with the given id, or nil if there is none.
func (t *Table) slot(id int32) *ownRoom {
	t.assignIDs()
	return t.slots[id]
}

// assignIDs recomputes the ids of ADT rooms after a change. It assigns them in lexicographic order, so that the ids
// of colliding rooms do not depend on the order of arrival.
func (t *Table) assignIDs() {
	if !t.moved {
		return
	}
	t.moved = false
	clear(t.slots)
	for _, k := range slices.Sorted(maps.Keys(t.own)) {
		o := t.own[k]
		o.id = preferredID([]byte(k))
		for t.slots[o.id] != nil || t.hasRoom(o.id) {
			o.id = firstOwnRoom + (o.id-firstOwnRoom+1)%ownRooms
		}
		t.slots[o.id] = o
	}
}

// preferredID returns the id that a room has unless it collides with another room: an FNV-1a hash of point of care and
// room.
func preferredID(key []byte) int32 {
	h := uint32(2166136261)
	for _, c := range key {
		h = (h ^ uint32(c)) * 16777619
	}
	return firstOwnRoom + int32(h%ownRooms)
}

// roomName returns the name of a location's room, which is the label if room and point of care are empty.
func roomName(l *acuity.Location) string {
	if l.Room == "" && l.PointOfCare == "" {
		return l.Label
	}
	return l.Room
}

// appendFolded appends a name in upper case without spaces.
func appendFolded(dst []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c == ' ' || c == '\t':
		case c >= 'a' && c <= 'z':
			dst = append(dst, c+'A'-'a')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendKey appends the folded names with separators.
func appendKey(dst []byte, names ...string) []byte {
	for i, name := range names {
		if i > 0 {
			dst = append(dst, 0)
		}
		dst = appendFolded(dst, name)
	}
	return dst
}
