package location

import (
	"bytes"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
)

// numbered returns the room that the number in a location identifies by itself, as a label or as a room id, or noRoom
// (docs/decisions.md#numeric-rooms). The argument room is the location's room name.
func (t *Table) numbered(l *acuity.Location, room string) int32 {
	n, ok := roomNumber(room)
	if !ok || t.isShared(n, l.PointOfCare) {
		return noRoom
	}
	var array [96]byte
	if id, labelled := t.byLabel[string(appendFolded(array[:0], room))]; labelled && id != noRoom {
		return id
	}
	// A room number in the location table counts as a room even before a census or a patient makes the room
	// known, so that the result does not change when the first patient arrives.
	if t.hasRoom(n) || t.named[n] {
		return n
	}
	return noRoom
}

// isShared reports whether several points of care of this unit use the room number n, counting the given one. Points of
// care that rows map to the room with that number are names of one user, which a location without a point of care may
// mean.
func (t *Table) isShared(n int32, pointOfCare string) bool {
	if len(t.points[n])+len(t.listed[n]) == 0 {
		return false
	}
	var users []string
	if pointOfCare != "" && indexPoint(t.listed[n], pointOfCare) < 0 {
		users = append(users, pointOfCare)
	}
	for _, p := range t.points[n] {
		if indexPoint(t.listed[n], p) < 0 && t.isUser(p) {
			users = addPoint(users, p)
		}
	}
	if pointOfCare != "" && len(users) == 1 && slices.ContainsFunc(t.listed[n], t.isUser) {
		return true
	}
	return len(users) > 1
}

// isUser reports whether a point of care that uses a room number does not belong to another unit.
func (t *Table) isUser(pointOfCare string) bool {
	if s := t.rows[string(appendKey(nil, pointOfCare, "", ""))]; s != nil {
		return !s.Outside
	}
	return !t.isElsewhere(pointOfCare)
}

// IsByNumber reports whether only its number identifies the room of a location: neither the location table nor the
// name of the point of care tells whether the point of care belongs to this unit.
func (t *Table) IsByNumber(l acuity.Location) bool {
	l = t.resolveReference(l)
	room := roomName(&l)
	if _, known := adt.IsOutside(l.PointOfCare); known || l.PointOfCare == "" || l.HasRoomID || t.rowOf(&l) != nil {
		return false
	}
	if t.isArea(l.PointOfCare) || t.labelled(&l, room, true) != noRoom {
		return false
	}
	return t.labelled(&l, room, false) != noRoom || t.numbered(&l, room) != noRoom
}

// roomNumber parses a name as a room id, and reports whether the name is a valid id.
func roomNumber(room string) (int32, bool) {
	if room == "" || len(room) > 9 {
		return 0, false
	}
	n := int32(0)
	for i := range len(room) {
		if room[i] < '0' || room[i] > '9' {
			return 0, false
		}
		n = n*10 + int32(room[i]-'0')
	}
	return n, true
}

// addPoint adds a point of care to a list, unless the list contains it. Of several spellings, the first in lexicographic
// order is kept.
func addPoint(list []string, pointOfCare string) []string {
	i := indexPoint(list, pointOfCare)
	if i < 0 {
		return append(list, pointOfCare)
	}
	list[i] = min(list[i], pointOfCare)
	return list
}

// indexPoint returns the index of a point of care in a list, or -1 if the list does not contain it.
func indexPoint(list []string, pointOfCare string) int {
	var a, b [96]byte
	folded := appendFolded(a[:0], pointOfCare)
	return slices.IndexFunc(list, func(p string) bool { return bytes.Equal(appendFolded(b[:0], p), folded) })
}

// isNumber reports whether a room name is a number, as in every unit: digits and at most two letters, such as 12A. A bed
// that follows a hyphen does not matter.
func isNumber(room string) bool {
	room, _, _ = strings.Cut(room, "-")
	letters := 0
	for i := range len(room) {
		if c := room[i] | 0x20; c >= 'a' && c <= 'z' {
			letters++
		}
	}
	return room != "" && room[0] >= '0' && room[0] <= '9' && letters <= 2
}
