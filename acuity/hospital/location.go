package hospital

import (
	"svc/acuity"
	"svc/acuity/location"
)

// PlaceState is a row of the location table of the hospital.
type PlaceState struct {
	acuity.Place
	Version int64          // of the change that set it
	By      string         // id of the key that set it
	At      acuity.Instant // receipt
}

func (*PlaceState) state() {}

// locations returns the rows that name a place, for the resolution of rooms. Nobody changes a
// row: another version is another row.
func (s *localSettings) locations() []*acuity.Place {
	if len(s.places) == 0 {
		return nil
	}
	list := make([]*acuity.Place, 0, len(s.places))
	for _, p := range s.places {
		if p.PointOfCare != "" || p.Room != "" || p.Bed != "" {
			list = append(list, &p.Place)
		}
	}
	return list
}

// takePlace takes a row of the location table, or deletes it.
func (s *localSettings) takePlace(in *intake, p *acuity.Place) {
	id := location.RowID(p)
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
