package identity

import (
	"maps"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// LocatedPlace is a place that events name, with the room table's last result for that place.
type LocatedPlace struct {
	events int // number of times that events name this place, as their place or as their prior place
	answer location.Answer
}

// Locations maps the places of events to rooms.
type Locations struct {
	*registry.Registry
	Table   location.Table
	Located map[acuity.Location]*LocatedPlace
	Options adt.Options // callbacks that look up locations in Table
}

// Locate adds a number, which may be negative, to the count of events at a place.
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

// IsNewFacility reports whether earlier events used the location's room, but only with other facilities. The answers of
// Table do not depend on the facility.
func (t *Locations) IsNewFacility(l *acuity.Location) (is bool) {
	if l.Facility == "" || l.Room == "" || l.HasRoomID || t.Located[*l] != nil {
		return false
	}
	for o := range t.Located {
		switch {
		case o.Facility == "" || o.HasRoomID || !strings.EqualFold(o.PointOfCare, l.PointOfCare) || !strings.EqualFold(o.Room, l.Room):
		case strings.EqualFold(o.Facility, l.Facility):
			return false
		default:
			is = true
		}
	}
	return is && t.Table.Placement(l).Kind == location.InRoom
}

// LocateEvents calls Locate for the places in events.
func (t *Locations) LocateEvents(list []adt.Event, events int) {
	for i := range list {
		t.Locate(list[i].Place, events)
		t.Locate(list[i].Prior, events)
	}
}

// TouchChangedAnswers touches the visits with a place for which the room table's result has changed. It returns the ids
// of the rooms to which the table no longer maps a place.
func (t *Locations) TouchChangedAnswers() (left map[int32]bool) {
	changed := map[acuity.Location]bool{}
	left = map[int32]bool{}
	for l, p := range t.Located {
		answer := t.Table.LookUp(l)
		if answer == p.answer {
			continue
		}
		if p.answer.Kind == location.InRoom && answer.Placement != p.answer.Placement {
			left[p.answer.Room] = true
		}
		p.answer, changed[l] = answer, true
	}
	if len(changed) == 0 {
		return left
	}
	for _, v := range t.Visits {
		for i := range v.Events {
			if e := &v.Events[i]; changed[*e.Place] || changed[*e.Prior] {
				t.Work.MarkVisit(v, registry.Touched)
				break
			}
		}
	}
	return left
}

// Relocate counts the events at each place again, and touches the visits with places for which the room table's
// result has changed.
func (t *Locations) Relocate() {
	clear(t.Located)
	for v := range maps.Values(t.Visits) {
		t.LocateEvents(v.Events, 1)
	}
	t.TouchChangedAnswers()
}

// Relabel updates the room table with the labels of the rooms. It reports whether the table's results changed.
func (t *Locations) Relabel() (news bool) {
	t.Work.DropPast = true // the replay of past hours uses the rooms in the table
	for _, r := range t.Rooms {
		if r.IsOwn() {
			news = t.Table.RemoveRoom(r.ID) || news
		} else {
			news = t.Table.SetRoom(r.ID, r.Label, r.Area) || news
		}
	}
	return news
}

// ForgetPlaces subtracts dropped events from the counts of events at their places. A later step checks whether any
// event still names those places. A place that consecutive events share is listed only once for that check.
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

// RoomOf returns the room of a placement. If the unit does not have the room yet, because only ADT names it, RoomOf
// adds the room.
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
