package hospital

import (
	"maps"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/location"
)

// locatedPlace is a place that events name, with the answer of the room table when
// everything was last derived.
type locatedPlace struct {
	events int // number of events that name it as their place or prior place
	answer location.Answer
}

// locations says which rooms the places of events are.
type locations struct {
	*registry
	table   location.Table
	located map[acuity.Location]*locatedPlace
	options adt.Options // the look-ups of the table
}

// locate records that so many more events name a place.
func (t *locations) locate(l *acuity.Location, events int) {
	if *l == (acuity.Location{}) {
		return
	}
	p := t.located[*l]
	if p == nil {
		p = &locatedPlace{answer: t.table.LookUp(*l)}
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

// settleTable updates the room table after a step, once, and touches what depends on
// changed answers. A step may make hundreds of rooms known, and mostly no visit depends
// on them.
func (u *State) settleTable() {
	w := &u.work
	for _, l := range w.droppedPlaces {
		w.rebuildTable = w.rebuildTable || u.locations.table.IsUnused(*l)
	}
	w.droppedPlaces = emptied(w.droppedPlaces)
	switch {
	case w.rebuildTable:
		u.rebuildTable()
	case w.relabel:
		u.locations.relabel()
	case !w.tableChanged:
		return
	}
	w.rebuildTable, w.relabel, w.tableChanged = false, false, false
	u.locations.touchChangedAnswers()
	for _, r := range u.rooms {
		if label, own := u.locations.table.Label(r.ID); r.own() && own && label != r.Label {
			u.work.markRoom(r, touched)
		}
	}
}

// touchChangedAnswers touches the visits with a place whose answer in the room table changed.
func (t *locations) touchChangedAnswers() {
	changed := map[acuity.Location]bool{}
	for l, p := range t.located {
		if answer := t.table.LookUp(l); answer != p.answer {
			p.answer, changed[l] = answer, true
		}
	}
	if len(changed) == 0 {
		return
	}
	for _, v := range t.visits {
		for i := range v.events {
			if e := &v.events[i]; changed[*e.Place] || changed[*e.Prior] {
				t.work.markVisit(v, touched)
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
	t.touchChangedAnswers()
}

// rebuildTable rebuilds the room table from the facts, and the list of newborns in censuses.
func (u *State) rebuildTable() {
	u.locations.table = location.Table{References: u.names.placeOf}
	u.locations.table.SetRows(u.settings.locations())
	u.locations.relabel()
	for _, r := range u.names.references {
		u.names.joinPersons(&r.Reference)
	}
	u.names.index()
	for _, v := range u.visits {
		for i := range v.events {
			u.locations.table.AddUse(*v.events[i].Place)
		}
		u.stays.list(v.Facts)
	}
	for _, r := range u.rooms {
		if r.Occupant != nil {
			u.stays.list(&r.Occupant.Facts)
		}
	}
}

// own reports whether only a location makes the room known.
func (r *room) own() bool { return r.Registered && r.Room != "" }

// relabel brings the room table up to the labels known. It reports whether the table's
// answers changed.
func (t *locations) relabel() (news bool) {
	t.work.dropPast = true // a past takes its rooms from the table
	for _, r := range t.rooms {
		if r.own() {
			news = t.table.Forget(r.ID) || news
		} else {
			news = t.table.Know(r.ID, r.Label, r.Area) || news
		}
	}
	return news
}

// forgetPlaces releases the places of dropped events. A later step checks which places no
// event names any more. It checks equal places in a row once.
func (t *locations) forgetPlaces(events []adt.Event) {
	for i := range events {
		p := events[i].Place
		t.table.DropUse(*p)
		t.locate(p, -1)
		t.locate(events[i].Prior, -1)
		if i == 0 || p != events[i-1].Place {
			t.work.droppedPlaces = append(t.work.droppedPlaces, p)
		}
	}
}

// roomOf returns the room of a placement. A room that only ADT names becomes known.
func (t *locations) roomOf(p location.Placement) *room {
	if p.Kind != location.InRoom {
		return nil
	}
	if r := t.room(p.Room); r != nil {
		return r
	}
	s := RoomState{ID: p.Room, Registered: true}
	if point, name, own := t.table.Spelling(p.Room); own {
		s.Label, _ = t.table.Label(p.Room)
		s.PointOfCare, s.Room = point, name
	}
	return t.addRoom(s)
}
