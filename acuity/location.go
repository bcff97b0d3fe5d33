package acuity

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// PlaceState is a row of the location table of the hospital.
type PlaceState struct {
	Place
	Version int64   // of the change that set it
	By      string  // id of the key that set it
	At      Instant // receipt
}

func (*PlaceState) state() {}

// The beginnings of the ids of rows: about a room alone, or about a name.
const (
	roomRow = "room-"
	nameRow = "loc-"
)

// ID names the row by what the sender calls the place, so that it says which; a
// row without a name is about a room alone.
func (p *Place) ID() string {
	if p.PointOfCare == "" && p.Room == "" && p.Bed == "" {
		return roomRow + strconv.Itoa(int(p.RoomID))
	}
	return nameRow + base64.RawURLEncoding.EncodeToString(key(nil, p.PointOfCare, p.Room, p.Bed))
}

// PlaceByID returns the place that the row with an id is about; false if no row
// can have that id.
func PlaceByID(id string) (Place, bool) {
	if text, ok := strings.CutPrefix(id, roomRow); ok {
		n, err := strconv.ParseInt(text, 10, 32)
		p := Place{HasRoomID: true, RoomID: int32(n)}
		return p, err == nil && n >= 0 && p.ID() == id
	}
	text, ok := strings.CutPrefix(id, nameRow)
	b, err := base64.RawURLEncoding.DecodeString(text)
	names := strings.Split(string(b), "\x00")
	if !ok || err != nil || len(names) != 3 {
		return Place{}, false
	}
	p := Place{PointOfCare: names[0], Room: names[1], Bed: names[2]}
	return p, p.ID() == id
}

// locations returns the location table as rooms are resolved by it.
func (u *Unit) locations() []siteLocation {
	if len(u.places) == 0 {
		return nil
	}
	list := make([]siteLocation, 0, len(u.places))
	for _, p := range u.places {
		if p.PointOfCare == "" && p.Room == "" && p.Bed == "" {
			continue
		}
		list = append(list, siteLocation{
			PointOfCare: p.PointOfCare, Room: p.Room, Bed: p.Bed,
			HasRoom: p.HasRoomID, RoomID: p.RoomID, Outside: p.Outside, Primary: p.Primary,
		})
	}
	return list
}

// takePlace takes a row of the location table, or takes it back. The room that
// it names is known and confirmed from then on; a census that lists the room may
// call it otherwise (H18).
func (u *Unit) takePlace(in *intake, p *Place) {
	id := p.ID()
	if p.Delete {
		if u.places[id] != nil {
			delete(u.places, id)
			u.dirty.gone = append(u.dirty.gone, string(u.key(kindPlace, id)))
		}
		return
	}
	if old := u.places[id]; old == nil || old.Place != *p {
		u.places[id] = &PlaceState{Place: *p, Version: u.facts.Version + 1, By: in.o.Source, At: in.o.ReceivedAt}
		u.dirty.places = append(u.dirty.places, id)
	}
	if !p.HasRoomID {
		return
	}
	r := u.room(p.RoomID)
	if r == nil {
		if u.addRoom(RoomState{ID: p.RoomID, Label: p.Label, Area: p.Area}) == nil {
			in.warn("too_many_rooms", "roomId")
		}
		return
	}
	before := r.RoomState
	say(&r.Label, p.Label)
	say(&r.Area, p.Area)
	r.Registered, r.PointOfCare, r.Room = false, "", ""
	if r.Label != before.Label || r.Area != before.Area || before.Registered {
		u.markRoom(r, markState)
	}
}
