// Package location resolves a location as sent to a room.
//
// A [Table] has the labels of rooms, the rows that administrators keep, and the locations
// that events use. Its answers depend on what it was told, not on the order. Who is in a
// room is not its concern.
package location

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

	"svc/acuity"
)

// The beginnings of the ids of rows: about a room alone, or about a name.
const (
	roomRow = "room-"
	nameRow = "loc-"
)

// RowID returns the id of a row of the location table: it contains the sender's name of the
// place. A row without a name is about a room alone.
func RowID(p *acuity.Place) string {
	if p.PointOfCare == "" && p.Room == "" && p.Bed == "" {
		return roomRow + strconv.Itoa(int(p.RoomID))
	}
	return nameRow + base64.RawURLEncoding.EncodeToString(key(nil, p.PointOfCare, p.Room, p.Bed))
}

// RowByID returns the place of the row with an id; false: no row can have that id.
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

// maxAbove is how many levels of Locations above one another are followed.
const maxAbove = 4

// standsFor resolves a place that names a FHIR Location. As a room, the Location gives
// everything but the bed. As a point of care, it gives its own point of care, or the
// room of a bed in it. An unknown Location makes its id, or number, the name of the
// room.
func (t *Table) standsFor(l acuity.Location) acuity.Location {
	return t.standsForWithin(l, maxAbove)
}

// standsForWithin is standsFor for so many levels of Locations.
func (t *Table) standsForWithin(l acuity.Location, above int) acuity.Location {
	if name, ok := strings.CutPrefix(l.Room, acuity.LocationName); ok {
		p, known := t.placeOfLocation(l.Room, above)
		if !known && l.Bed == "" && l.Label != "" {
			p, known = t.placeOfLocation(acuity.LocationName+l.Label, above)
			name, l.Label = l.Label, ""
		}
		switch bed := l.Bed; {
		case bed != "" && p.Room != "" && p.Bed == "":
			p.Bed = bed
		case bed != "": // not a room, or unknown: a bed alone is called by its name
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

// placeOfLocation returns the place of a Location by its name; false: it is unknown.
func (t *Table) placeOfLocation(name string, above int) (p acuity.Location, ok bool) {
	if above == 0 || t.References == nil {
		return p, false
	}
	if p = t.References(name); p.IsZero() {
		return p, false
	}
	return t.standsForWithin(p, above-1), true
}
