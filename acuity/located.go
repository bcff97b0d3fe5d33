package acuity

import "maps"

// locatedPlace is a place that events name, with what the table of rooms told of it
// when everything was derived last.
type locatedPlace struct {
	events int // that name it as their place, or as the one before
	told   toldPlace
	known  bool // what was told
}

// locate notes that so many more events name a place.
func (u *Unit) locate(l *Location, events int) {
	if *l == (Location{}) {
		return
	}
	p := u.located[*l]
	if p == nil {
		p = &locatedPlace{}
		u.located[*l] = p
	}
	if p.events += events; p.events <= 0 {
		delete(u.located, *l)
	}
}

// locateEvents is locate for the places of events.
func (u *Unit) locateEvents(list []event, events int) {
	for i := range list {
		u.locate(list[i].Place, events)
		u.locate(list[i].Prior, events)
	}
}

// settleTable brings the table of rooms up to what the step has changed, once, and asks
// for what is derived from what it tells otherwise than before: a step may make
// hundreds of rooms known, and mostly no visit has to do with them.
func (u *Unit) settleTable() {
	w := &u.work
	for _, l := range w.unsaid {
		w.learn = w.learn || u.table.lacks(*l)
	}
	w.unsaid = emptied(w.unsaid)
	switch {
	case w.learn:
		u.learn()
	case w.relabel:
		u.relabel()
	case !w.retable:
		return
	}
	w.learn, w.relabel, w.retable = false, false, false
	u.markTold()
	for _, r := range u.rooms {
		if label, own := u.table.label(r.ID); r.own() && own && label != r.Label {
			u.markRoom(r, dirtyChart)
		}
	}
}

// markTold asks for the visits anew that have to do with a place of which the table
// tells something else than before.
func (u *Unit) markTold() {
	changed := map[Location]bool{}
	for l, p := range u.located {
		told := u.table.look(l)
		if p.known && told != p.told {
			changed[l] = true
		}
		p.told, p.known = told, true // of a new one all who name it are told anew
	}
	if len(changed) == 0 {
		return
	}
	for _, v := range u.visits {
		for i := range v.events {
			if e := &v.events[i]; changed[*e.Place] || changed[*e.Prior] {
				u.markVisit(v, dirtyTimeline|dirtyLocation)
				break
			}
		}
	}
}

// relocate counts the places of all events.
func (u *Unit) relocate() {
	clear(u.located)
	for v := range maps.Values(u.visits) {
		u.locateEvents(v.events, 1)
	}
	u.markTold()
}
