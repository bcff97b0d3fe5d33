package acuity

import "slices"

// takeCensus takes a full snapshot of the rooms (clinical-decisions X3, X15,
// scoring-decisions 57). Its time is its asOf, but not later than its receipt.
func (u *Unit) takeCensus(in *intake, c *Census) {
	at := in.o.ReceivedAt
	if c.AsOf != 0 {
		if c.AsOf > at.Add(clockSlack) {
			in.warn("time_in_future", "asOf")
		}
		at = min(at, c.AsOf)
	}
	if u.facts.HasCensus && at < u.facts.CensusAt {
		in.Outcome, in.Reason = Ignored, "census_older"
		in.warn("census_older", "asOf")
		return
	}
	in.census, in.present = true, len(u.chart.Rooms)
	t := taking{unit: u, in: in, at: at, before: u.facts.CensusAt, shown: map[*visit]bool{}, rooms: map[int32]bool{}, owned: map[*room]owned{}}
	for _, r := range u.rooms {
		t.owned[r] = owned{r.known(), r.Occupant != nil}
	}
	t.freeze()
	for i := range c.Rooms {
		t.row(i, &c.Rooms[i])
	}
	var unnamed []*CensusRoom
	for i := range c.Rooms { // those named first: nobody is in two rooms
		row := &c.Rooms[i]
		if row.Status != RoomOccupied {
			continue
		}
		switch {
		case row.Visit == "":
		case u.visits[row.Visit] == nil && !u.roomForVisit(): // somebody is there all the same
			in.refuse(reasonVisits, item("rooms", i)+".visitId")
		case t.named(row):
			continue
		default:
			in.warn("visit_twice", item("rooms", i)+".visitId")
		}
		unnamed = append(unnamed, row)
	}
	for _, row := range unnamed {
		t.unnamed(row)
	}
	t.leave()
	first := !u.facts.HasCensus
	u.facts.HasCensus, u.facts.CensusAt = true, at
	u.facts.TotalRooms = max(c.TotalRooms, int32(len(t.rooms))) //nolint:gosec // rooms of one census, which are limited
	u.work.retable = u.relabel() || u.work.retable
	if first {
		u.markAll()
	} else {
		t.mark()
	}
	u.work.known = true
	for _, r := range u.rooms {
		u.markRoom(r, markTouched|markState)
	}
}

// mark asks for what a census can change that names the rooms as they were known:
// no timeline, and no stay that was over before the census before.
func (t *taking) mark() {
	u := t.unit
	for _, v := range u.visits {
		if v.ended == 0 || v.ended > t.before || v.adopts != nil || v.claimed != nil {
			u.markVisit(v, dirtyLocation)
		}
	}
	for _, r := range u.rooms {
		u.markRoom(r, dirtyOccupant|dirtyChart)
		if was := t.owned[r]; was.occupant || r.Occupant != nil || was.known != r.known() {
			u.markRoom(r, dirtyAssignment)
		}
	}
}

// owned is what of a room's facts decides whose its statements are, beside the
// visits that are or were in it.
type owned struct{ known, occupant bool }

// taking is one census on its way into the facts.
type taking struct {
	unit       *Unit
	in         *intake
	at, before Instant // this census, the one before
	shown      map[*visit]bool
	owned      map[*room]owned // before this census
	rooms      map[int32]bool
	seated     map[int32]bool
}

// freeze makes facts of what was decided about the occupants whom the census
// before did not name: ADT said by now who they are.
func (t *taking) freeze() {
	for _, r := range t.unit.rooms {
		v := r.adopter
		if v == nil || r.Occupant == nil {
			continue
		}
		t.unit.takeOver(v, r)
	}
}

// takeOver gives a visit what censuses said about the occupant of a room.
func (u *Unit) takeOver(v *visit, r *room) {
	o := r.Occupant
	v.Facts = u.factsOf(v)
	s := o.Stay
	for _, sp := range v.spans {
		if sp.Kind == inRoom && sp.Room == r.ID && sp.holds(o.Last) {
			s.From = max(s.From, min(sp.From, s.First))
			s.First = max(s.First, min(sp.From, s.Last))
		}
	}
	v.addStay(s)
	u.indexKnown(v)
	u.weigh(v)
	r.Occupant, r.adopter, v.adopts = nil, nil, nil
	u.touch(v)
	u.markVisit(v, markState|dirtyLocation)
	u.markRoom(r, markState|dirtyOccupant)
}

// addStay adds a stay by census.
func (v *visit) addStay(s Stay) {
	if n := len(v.Stays); n >= capStays {
		v.Stays = slices.Delete(v.Stays, 0, n-capStays+1)
	}
	v.Stays = append(v.Stays, s)
}

// row takes what a row says about the room.
func (t *taking) row(i int, row *CensusRoom) {
	if t.rooms[row.ID] {
		t.in.warn("room_twice", "rooms")
		return
	}
	r := t.unit.room(row.ID)
	if r == nil {
		if len(t.unit.rooms) >= t.unit.limits.known {
			t.in.refuse(reasonRooms, item("rooms", i))
			return
		}
		r = t.unit.addRoom(RoomState{ID: row.ID})
	}
	t.rooms[row.ID] = true
	say(&r.Label, row.Label)
	say(&r.Area, row.Area)
	r.Listed, r.Status, r.Clinical, r.Placed = true, row.Status, false, false
	r.Registered, r.PointOfCare, r.Room = false, "", ""
}

// named takes a row that says which visit is in the room. It returns false of one that
// another row had in another room: the room is taken all the same, by somebody.
func (t *taking) named(row *CensusRoom) bool {
	u := t.unit
	v, r := u.visit(row.Visit), u.room(row.ID)
	if r == nil {
		return true
	}
	if t.shown[v] {
		return false
	}
	elsewhere := false
	for _, s := range v.spans {
		if s.holds(t.before) && (s.Kind != inRoom || s.Room != row.ID) {
			elsewhere = true
		}
	}
	if r.Occupant != nil && r.anonymous() && !elsewhere && t.unit.facts.HasCensus {
		u.takeOver(v, r) // a visit that is missing on one side continues
	}
	t.show(v, row)
	return true
}

// unnamed takes a row that does not: it is the visit that is there at the time,
// else somebody without a visit.
func (t *taking) unnamed(row *CensusRoom) {
	u := t.unit
	r := u.room(row.ID)
	if r == nil || t.seated[row.ID] {
		return
	}
	if b := r.at(t.at); b.kind == toVisit && !t.shown[b.v] && (!b.v.timeline.newborn || u.cat.mayBeNewborn(row)) {
		t.show(b.v, row)
		return
	}
	o := r.Occupant
	if o == nil || r.occupantEnd() != 0 {
		t.end(r)
		from := t.before + 1
		if !u.facts.HasCensus {
			from = 1
		}
		o = &Occupant{Stay: Stay{Room: r.ID, From: min(from, t.at), First: t.at}}
		r.Occupant = o
	}
	o.Last = t.at
	t.describe(&o.Facts, row)
	t.seat(row.ID)
}

// mayBeNewborn reports whether a row that names no visit says nothing that only a mother
// has: then a newborn who is alone in the room is whom it means (X3).
func (c *Catalogue) mayBeNewborn(row *CensusRoom) bool {
	return (row.Primary == 0 || c.isNewborn(row.Primary)) && (row.Class == 0 || row.Class == 'N') &&
		row.DeliveredAt == 0 && len(row.Modifiers) == 0 && len(row.Diagnoses) == 0 && len(row.Newborns) == 0
}

// show notes that the census sees a visit in a room.
func (t *taking) show(v *visit, row *CensusRoom) {
	t.shown[v] = true
	t.seat(row.ID)
	if n := len(v.Stays); n > 0 && v.Stays[n-1].To == 0 && v.Stays[n-1].Room == row.ID {
		v.Stays[n-1].Last = t.at
	} else {
		if n > 0 && v.Stays[n-1].To == 0 {
			v.Stays[n-1].To = t.at
		}
		from := t.before + 1
		if !t.unit.facts.HasCensus {
			from = 1
		}
		if n > 0 || len(v.spans) > 0 || t.unit.room(row.ID).taken(v, t.before) {
			from = t.at
		}
		v.addStay(Stay{Room: row.ID, From: min(from, t.at), First: t.at, Last: t.at})
	}
	if v.Facts == nil {
		v.Facts = &CensusFacts{}
	}
	t.describe(v.Facts, row)
	t.unit.indexKnown(v)
	t.unit.weigh(v)
	t.unit.touch(v)
	t.unit.markVisit(v, markState|dirtyLocation)
}

// taken reports whether a visit other than v was in the room after t: what was
// said there in that time is about that one.
func (r *room) taken(v *visit, t Instant) bool {
	return slices.ContainsFunc(r.sits, func(s sit) bool {
		return s.v != v && !s.v.timeline.newborn && (s.To == 0 || s.To > t)
	})
}

func (t *taking) seat(id int32) {
	if t.seated == nil {
		t.seated = map[int32]bool{}
	}
	t.seated[id] = true
}

// leave ends what this census does not show any more.
func (t *taking) leave() {
	u := t.unit
	for _, v := range u.visits {
		if n := len(v.Stays); n > 0 && v.Stays[n-1].To == 0 && !t.shown[v] {
			v.Stays[n-1].To = t.at
			u.markVisit(v, markState|dirtyLocation)
		}
	}
	for _, r := range u.rooms {
		if r.Occupant != nil && r.Occupant.Last != t.at {
			t.end(r)
		}
		if !t.rooms[r.ID] {
			u.unlist(r)
		}
	}
}

// end closes the stay of an occupant without a visit.
func (t *taking) end(r *room) {
	if r.Occupant == nil {
		return
	}
	s := r.Occupant.Stay
	s.To = t.at
	if end := r.occupantEnd(); end != 0 {
		s.To = min(s.To, end)
	}
	r.Occupant = nil
	if n := len(r.Past); n >= capPast {
		r.Past = slices.Delete(r.Past, 0, n-capPast+1)
	}
	r.Past = append(r.Past, s)
	t.unit.markRoom(r, markState|dirtyOccupant)
}

// unlist takes a room out of the newest census. What belongs to nobody else
// goes with it; what belongs to a visit stays with the visit.
func (u *Unit) unlist(r *room) {
	r.Listed, r.Status, r.Clinical, r.Placed = false, RoomUnknown, false, false
	list := r.threads.byArrival(func(*Heard) bool { return true })
	r.threads = threads{}
	for i := range list {
		h := &list[i]
		if v := u.visitOfHeard(h); v != nil {
			u.hearFor(v, *h)
			v.folds.forget()
		} else {
			u.lose(h)
		}
	}
	u.markRoom(r, markState)
}
