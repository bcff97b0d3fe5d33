package hospital

import (
	"maps"

	"svc/acuity"
	"svc/acuity/adt"
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

// locatedPlace is a place that events name, with the answer of the room table when
// everything was last derived.
type locatedPlace struct {
	events int // number of events that name it as their place or prior place
	told   location.Answer
}

// locations says which rooms the places of events are.
type locations struct {
	*registry
	table   location.Table
	located map[acuity.Location]*locatedPlace
}

// locate records that so many more events name a place.
func (t *locations) locate(l *acuity.Location, events int) {
	if *l == (acuity.Location{}) {
		return
	}
	p := t.located[*l]
	if p == nil {
		p = &locatedPlace{told: t.table.LookUp(*l)}
		t.located[*l] = p
	}
	if p.events += events; p.events <= 0 {
		delete(t.located, *l)
	}
}

// locateEvents is locate for the places of events.
func (t *locations) locateEvents(list []adt.Event, events int) {
	for i := range list {
		t.locate(list[i].Place, events)
		t.locate(list[i].Prior, events)
	}
}

// settleTable updates the room table after a step, once, and marks what depends on
// changed answers. A step may make hundreds of rooms known, and mostly no visit depends
// on them.
func (u *State) settleTable() {
	w := &u.work
	for _, l := range w.unsaid {
		w.learn = w.learn || u.locations.table.IsUnused(*l)
	}
	w.unsaid = emptied(w.unsaid)
	switch {
	case w.learn:
		u.learn()
	case w.relabel:
		u.locations.relabel()
	case !w.retable:
		return
	}
	w.learn, w.relabel, w.retable = false, false, false
	u.locations.markTold()
	for _, r := range u.rooms {
		if label, own := u.locations.table.Label(r.ID); r.own() && own && label != r.Label {
			u.work.markRoom(r, dirtyChart)
		}
	}
}

// markTold marks the visits with a place whose answer in the room table changed.
func (t *locations) markTold() {
	changed := map[acuity.Location]bool{}
	for l, p := range t.located {
		if told := t.table.LookUp(l); told != p.told {
			p.told, changed[l] = told, true
		}
	}
	if len(changed) == 0 {
		return
	}
	for _, v := range t.visits {
		for i := range v.events {
			if e := &v.events[i]; changed[*e.Place] || changed[*e.Prior] {
				t.work.markVisit(v, dirtyTimeline|dirtyLocation)
				break
			}
		}
	}
}

// relocate counts the places of all events.
func (t *locations) relocate() {
	clear(t.located)
	for v := range maps.Values(t.visits) {
		t.locateEvents(v.events, 1)
	}
	t.markTold()
}
