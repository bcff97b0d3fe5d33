package acuity

import "strconv"

// PlaceState is a row of the location table of the hospital.
type PlaceState struct {
	Place
	Version int64   // of the change that set it
	By      string  // id of the key that set it
	At      Instant // receipt
}

func (*PlaceState) state() {}

// ID names the row: what the sender calls the place. A row without a name is
// about a room alone.
func (p *Place) ID() string {
	if p.PointOfCare == "" && p.Room == "" && p.Bed == "" {
		return "room-" + strconv.Itoa(int(p.RoomID))
	}
	return "loc-" + shortDigest(string(key(nil, p.PointOfCare, p.Room, p.Bed)))
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
