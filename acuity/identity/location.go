package identity

import (
	"maps"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// LocatedPlace is a place that events name, with the answer of the room table when
// everything was last derived.
type LocatedPlace struct {
	events int // number of events that name it as their place or prior place
	answer location.Answer
}

// Locations says which rooms the places of events are.
type Locations struct {
	*registry.Registry
	Table   location.Table
	Located map[acuity.Location]*LocatedPlace
	Options adt.Options // the look-ups of the table
}

// Locate records that so many more events name a place.
func (t *Locations) Locate(l *acuity.Location, events int) {
	if *l == (acuity.Location{}) {
		return
	}
	p := t.Located[*l]
	if p == nil {
		p = &LocatedPlace{answer: t.Table.LookUp(*l)}
		t.Located[*l] = p
	}
	if p.events += events; p.events <= 0 {
		delete(t.Located, *l)
	}
}

// LocateEvents is locate for the places of events.
func (t *Locations) LocateEvents(list []adt.Event, events int) {
	for i := range list {
		t.Locate(list[i].Place, events)
		t.Locate(list[i].Prior, events)
	}
}

// TouchChangedAnswers touches the visits with a place whose answer in the room table changed.
func (t *Locations) TouchChangedAnswers() {
	changed := map[acuity.Location]bool{}
	for l, p := range t.Located {
		if answer := t.Table.LookUp(l); answer != p.answer {
			p.answer, changed[l] = answer, true
		}
	}
	if len(changed) == 0 {
		return
	}
	for _, v := range t.Visits {
		for i := range v.Events {
			if e := &v.Events[i]; changed[*e.Place] || changed[*e.Prior] {
				t.Work.MarkVisit(v, registry.Touched)
				break
			}
		}
	}
}

// Relocate counts the places of all events.
func (t *Locations) Relocate() {
	clear(t.Located)
	for v := range maps.Values(t.Visits) {
		t.LocateEvents(v.Events, 1)
	}
	t.TouchChangedAnswers()
}

// Relabel brings the room table up to the labels known. It reports whether the table's
// answers changed.
func (t *Locations) Relabel() (news bool) {
	t.Work.DropPast = true // a past takes its rooms from the table
	for _, r := range t.Rooms {
		if r.Own() {
			news = t.Table.Forget(r.ID) || news
		} else {
			news = t.Table.Know(r.ID, r.Label, r.Area) || news
		}
	}
	return news
}

// ForgetPlaces releases the places of dropped events. A later step checks which places no
// event names any more. It checks equal places in a row once.
func (t *Locations) ForgetPlaces(events []adt.Event) {
	for i := range events {
		p := events[i].Place
		t.Table.DropUse(*p)
		t.Locate(p, -1)
		t.Locate(events[i].Prior, -1)
		if i == 0 || p != events[i-1].Place {
			t.Work.DroppedPlaces = append(t.Work.DroppedPlaces, p)
		}
	}
}

// RoomOf returns the room of a placement. A room that only ADT names becomes known.
func (t *Locations) RoomOf(p location.Placement) *registry.Room {
	if p.Kind != location.InRoom {
		return nil
	}
	if r := t.Room(p.Room); r != nil {
		return r
	}
	s := facts.RoomState{ID: p.Room, Registered: true}
	if point, name, own := t.Table.Spelling(p.Room); own {
		s.Label, _ = t.Table.Label(p.Room)
		s.PointOfCare, s.Room = point, name
	}
	return t.AddRoom(s)
}
