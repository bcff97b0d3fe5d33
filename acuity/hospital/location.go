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
