package hospital

import (
	"encoding/base64"
	"strconv"
	"strings"

	"svc/acuity"
)

// PlaceState is a row of the location table of the hospital.
type PlaceState struct {
	acuity.Place
	Version int64          // of the change that set it
	By      string         // id of the key that set it
	At      acuity.Instant // receipt
}

func (*PlaceState) state() {}

// The beginnings of the ids of rows: about a room alone, or about a name.
const (
	roomRow = "room-"
	nameRow = "loc-"
)

// PlaceID names the row by the sender's name of the place, which it contains. A row without a
// name is about a room alone.
func PlaceID(p *acuity.Place) string {
	if p.PointOfCare == "" && p.Room == "" && p.Bed == "" {
		return roomRow + strconv.Itoa(int(p.RoomID))
	}
	return nameRow + base64.RawURLEncoding.EncodeToString(key(nil, p.PointOfCare, p.Room, p.Bed))
}

// PlaceByID returns the place of the row with an id; false: no row can have that id.
func PlaceByID(id string) (acuity.Place, bool) {
	if text, ok := strings.CutPrefix(id, roomRow); ok {
		n, err := strconv.ParseInt(text, 10, 32)
		p := acuity.Place{HasRoomID: true, RoomID: int32(n)}
		return p, err == nil && n >= 0 && PlaceID(&p) == id
	}
	text, ok := strings.CutPrefix(id, nameRow)
	b, err := base64.RawURLEncoding.DecodeString(text)
	names := strings.Split(string(b), "\x00")
	if !ok || err != nil || len(names) != 3 {
		return acuity.Place{}, false
	}
	p := acuity.Place{PointOfCare: names[0], Room: names[1], Bed: names[2]}
	return p, PlaceID(&p) == id
}

// locations returns the location table for the resolution of rooms.
func (s *localSettings) locations() []localPlace {
	if len(s.places) == 0 {
		return nil
	}
	list := make([]localPlace, 0, len(s.places))
	for _, p := range s.places {
		if p.PointOfCare == "" && p.Room == "" && p.Bed == "" {
			continue
		}
		list = append(list, localPlace{
			PointOfCare: p.PointOfCare, Room: p.Room, Bed: p.Bed,
			HasRoom: p.HasRoomID, RoomID: p.RoomID, Outside: p.Outside, Primary: p.Primary,
		})
	}
	return list
}

// takePlace takes a row of the location table, or deletes it.
func (s *localSettings) takePlace(in *intake, p *acuity.Place) {
	id := PlaceID(p)
	if p.Delete {
		if s.places[id] != nil {
			delete(s.places, id)
			s.keys.drop(s.keys.key(kindPlace, id))
		}
		return
	}
	if old := s.places[id]; old == nil || old.Place != *p {
		s.places[id] = &PlaceState{Place: *p, Version: s.facts.Version + 1, By: in.o.Source, At: in.o.ReceivedAt}
		s.changedPlaces = append(s.changedPlaces, id)
	}
}

// confirmRoom makes the room of a row of the location table known and confirmed. A
// census that lists the room may label it otherwise (H18).
func (g *registry) confirmRoom(in *intake, p *acuity.Place) {
	if p.Delete || !p.HasRoomID {
		return
	}
	r := g.room(p.RoomID)
	if r == nil {
		if g.addRoom(RoomState{ID: p.RoomID, Label: p.Label, Area: p.Area}) == nil {
			in.warn("too_many_rooms", "roomId")
		}
		return
	}
	before := r.RoomState
	say(&r.Label, p.Label)
	say(&r.Area, p.Area)
	r.Registered, r.PointOfCare, r.Room = false, "", ""
	if r.Label != before.Label || r.Area != before.Area || before.Registered {
		g.work.markRoom(r, markState)
	}
}
