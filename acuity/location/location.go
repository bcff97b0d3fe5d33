// Package location resolves a location, as it was sent, to a room.
//
// A [Table] contains the labels of rooms, the rows of the location table that administrators maintain, and the
// locations that events use. Its answers depend on this information, not on the order in which it arrived. A Table
// does not know which patients are in a room.
package location

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

	"svc/acuity"
)

// The prefixes of row ids. roomRow is the prefix for a row without a location name, nameRow for a row with a location
// name.
const (
	roomRow = "room-"
	nameRow = "loc-"
)

// RowID returns the id of a row in the location table. The id encodes the sender's name for the location or, if the
// row has no such name, the room id.
func RowID(p *acuity.Place) string {
	if p.PointOfCare == "" && p.Room == "" && p.Bed == "" {
		return roomRow + strconv.Itoa(int(p.RoomID))
	}
	return nameRow + base64.RawURLEncoding.EncodeToString(appendKey(nil, p.PointOfCare, p.Room, p.Bed))
}

// RowByID returns the location and room that a row id encodes, and reports whether the id is valid.
func RowByID(id string) (acuity.Place, bool) {
	if text, ok := strings.CutPrefix(id, roomRow); ok {
		n, err := strconv.ParseInt(text, 10, 32)
		p := acuity.Place{HasRoomID: true, RoomID: int32(n)}
		return p, err == nil && n >= 0 && RowID(&p) == id
	}
	text, ok := strings.CutPrefix(id, nameRow)
	b, err := base64.RawURLEncoding.DecodeString(text)
	names := strings.Split(string(b), "\x00")
	if !ok || err != nil || len(names) != 3 {
		return acuity.Place{}, false
	}
	p := acuity.Place{PointOfCare: names[0], Room: names[1], Bed: names[2]}
	return p, RowID(&p) == id
}

// maxAbove is the maximum number of FHIR Locations that are followed, from one Location up through its parents.
const maxAbove = 4

// resolveReference replaces the name of a FHIR Location with its place.
//
// A Location named in the room field provides point of care, room, bed and label. If the Location is a room and the
// sender gave a bed, the sender's bed is used. If the Location is unknown or is not a room, the sender's bed becomes
// the room. If the Location is unknown and the sender gave no bed, the Location's id or number becomes the room.
//
// A Location named in the point-of-care field provides its point of care. If that Location is itself a bed and the
// sender gave no bed, the Location also provides the room, and the sender's room becomes the bed.
func (t *Table) resolveReference(l acuity.Location) acuity.Location {
	return t.resolveWithin(l, maxAbove)
}

// resolveWithin is like resolveReference, but follows at most the given number of Locations.
func (t *Table) resolveWithin(l acuity.Location, above int) acuity.Location {
	if name, ok := strings.CutPrefix(l.Room, acuity.LocationName); ok {
		p, known := t.placeOfLocation(l.Room, above)
		if !known && l.Bed == "" && l.Label != "" {
			p, known = t.placeOfLocation(acuity.LocationName+l.Label, above)
			name, l.Label = l.Label, ""
		}
		switch bed := l.Bed; {
		case bed != "" && p.Room != "" && p.Bed == "":
			p.Bed = bed
		case bed != "": // the Location is unknown or is not a room: the bed name replaces the room name
			p.Room, p.Bed = bed, ""
		case !known:
			l.Room = name
			return l
		}
		l.Room, l.Bed, l.Label, l.PointOfCare = p.Room, p.Bed, p.Label, cmp.Or(p.PointOfCare, l.PointOfCare)
		return l
	}
	if strings.HasPrefix(l.PointOfCare, acuity.LocationName) {
		p, _ := t.placeOfLocation(l.PointOfCare, above)
		l.PointOfCare = p.PointOfCare
		if p.Bed != "" && l.Bed == "" {
			l.Room, l.Bed = p.Room, l.Room
		}
	}
	return l
}

// placeOfLocation returns the place of the FHIR Location with the given name, and reports whether the Location is
// known.
func (t *Table) placeOfLocation(name string, above int) (p acuity.Location, ok bool) {
	if above == 0 || t.References == nil {
		return p, false
	}
	if p = t.References(name); p.IsZero() {
		return p, false
	}
	return t.resolveWithin(p, above-1), true
}
