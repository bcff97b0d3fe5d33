package location

import (
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
