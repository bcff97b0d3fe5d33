package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/location"
)

// takeCensus takes a full snapshot of the rooms (docs/decisions.md#census-among-adt, #census-rows,
// docs/decisions.md#census-keys). Its time is its asOf, but not later than its receipt.
func (u *State) takeCensus(in *intake, c *acuity.Census) {
	at := in.o.ReceivedAt
	if c.AsOf != 0 {
		if c.AsOf > at.Add(adt.ClockSlack) {
			in.warn("time_in_future", "asOf")
		}
		at = min(at, c.AsOf)
	}
	if u.facts.HasCensus && at < u.facts.CensusAt {
		in.Outcome, in.Reason = acuity.Ignored, "census_older"
		in.warn("census_older", "asOf")
		return
	}
	in.census, in.present = true, len(u.chart.Rooms)
	t := censusIntake{
		unit: u, in: in, at: at, before: u.facts.CensusAt,
		shown: map[*visit]bool{}, rooms: map[int32]bool{},
	}
	for _, r := range u.rooms {
		if v := r.occupantVisit; v != nil && r.Occupant != nil {
			t.giveOccupantTo(v, r) // ADT said it before this census
		}
	}
	for i := range c.Rooms {
		t.takeRow(i, &c.Rooms[i])
	}
	var unnamed []*acuity.CensusRoom
	for i := range c.Rooms { // rows with a visit first: no visit is in two rooms
		row := &c.Rooms[i]
		if row.Status != acuity.RoomOccupied {
			continue
		}
		switch {
		case row.Visit == "":
		case u.names.visitNamed(row.Visit) == nil && !u.capacity.roomForVisit(): // the room is occupied all the same
			in.refuse(reasonVisits, itemPath("rooms", i)+".visitId")
		case t.takeNamedRow(row):
			continue
		default:
			in.warn("visit_twice", itemPath("rooms", i)+".visitId")
		}
		unnamed = append(unnamed, row)
	}
	for _, row := range unnamed {
		t.takeUnnamedRow(row)
	}
	t.endMissing()
	first := !u.facts.HasCensus
	u.facts.HasCensus, u.facts.CensusAt = true, at
	u.facts.TotalRooms = max(c.TotalRooms, int32(len(t.rooms))) //nolint:gosec // rooms of one census, which are limited
	u.work.tableChanged = u.locations.relabel() || u.work.tableChanged
	if first {
		u.touchAll()
	} else {
		t.touchChanged()
	}
	for _, r := range u.rooms {
		u.work.markRoom(r, named|unsaved)
	}
}

// touchChanged touches what a census can change: every room, and the visits whose stays were not
// over before the previous census.
func (t *censusIntake) touchChanged() {
	u := t.unit
	for _, v := range u.visits {
		if v.lastPlaced == 0 || v.lastPlaced > t.before || v.occupantOf != nil || v.candidateFor != nil {
			u.work.markVisit(v, touched)
		}
	}
	for _, r := range u.rooms {
		u.work.markRoom(r, touched)
	}
}

// censusIntake is one census on its way into the facts.
type censusIntake struct {
	unit       *State
	in         *intake
	at, before acuity.Instant // at is this census, before the previous one
	shown      map[*visit]bool
	rooms      map[int32]bool
	occupied   map[int32]bool
}

// addStay adds a census stay, and drops the oldest beyond capStays.
func (v *visit) addStay(s CensusStay) {
	if n := len(v.Stays); n >= capStays {
		v.Stays = slices.Delete(v.Stays, 0, n-capStays+1)
	}
	v.Stays = append(v.Stays, s)
}

// takeRow takes what a row says about the room.
func (t *censusIntake) takeRow(i int, row *acuity.CensusRoom) {
	if t.rooms[row.ID] {
		t.in.warn("room_twice", "rooms")
		return
	}
	r := t.unit.room(row.ID)
	if r == nil {
		if len(t.unit.rooms) >= t.unit.limits.known {
			t.in.refuse(reasonRooms, itemPath("rooms", i))
			return
		}
		r = t.unit.addRoom(RoomState{ID: row.ID})
	}
	t.rooms[row.ID] = true
	overwrite(&r.Label, row.Label)
	overwrite(&r.Area, row.Area)
	r.Listed, r.Status, r.Clinical, r.Placed = true, row.Status, false, false
	r.Registered, r.PointOfCare, r.Room = false, "", ""
}

// takeNamedRow takes a row that names the visit in the room. It returns false if another
// row had that visit: the room then counts as occupied without a visit.
func (t *censusIntake) takeNamedRow(row *acuity.CensusRoom) bool {
	u := t.unit
	v, r := u.names.visitNamed(row.Visit), u.room(row.ID)
	if v == nil {
		v = u.visit(row.Visit)
	}
	if r == nil {
		return true
	}
	if t.shown[v] {
		return false
	}
	elsewhere := false
	for _, s := range v.spans {
		if s.holds(t.before) && (s.Kind != location.InRoom || s.Room != row.ID) {
			elsewhere = true
		}
	}
	if r.Occupant != nil && r.anonymous() && !elsewhere && t.unit.facts.HasCensus {
		t.giveOccupantTo(v, r) // ADT or census may miss a visit; it continues
	}
	t.takeVisit(v, row)
	return true
}

// takeUnnamedRow takes a row without a visit. It means the visit that is in the room at
// that time, else an occupant without a visit.
func (t *censusIntake) takeUnnamedRow(row *acuity.CensusRoom) {
	u := t.unit
	r := u.room(row.ID)
	if r == nil || t.occupied[row.ID] {
		return
	}
	if b := r.at(t.at); b.kind == toVisit && !t.shown[b.v] && (!b.v.timeline.Newborn || mayBeNewborn(row)) {
		t.takeVisit(b.v, row)
		return
	}
	o := r.Occupant
	if o == nil || r.occupantEnd() != 0 {
		t.endOccupant(r)
		from := t.before + 1
		if !u.facts.HasCensus {
			from = 1
		}
		o = &Occupant{CensusStay: CensusStay{Room: r.ID, From: min(from, t.at), First: t.at}}
		r.Occupant = o
	}
	o.Last = t.at
	t.describe(&o.Facts, row)
	t.markOccupied(row.ID)
}

// mayBeNewborn reports whether a row without a visit says nothing that only holds for a
// mother. Then it may mean a newborn who is alone in the room (docs/decisions.md#census-among-adt).
func mayBeNewborn(row *acuity.CensusRoom) bool {
	return (row.Primary == 0 || row.Primary.IsNewborn()) && (row.Class == 0 || row.Class == 'N') &&
		row.DeliveredAt == 0 && len(row.Modifiers) == 0 && len(row.Diagnoses) == 0 && len(row.Newborns) == 0
}

// takeVisit records that the census sees a visit in a room.
func (t *censusIntake) takeVisit(v *visit, row *acuity.CensusRoom) {
	t.shown[v] = true
	t.markOccupied(row.ID)
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
		v.addStay(CensusStay{Room: row.ID, From: min(from, t.at), First: t.at, Last: t.at})
	}
	if v.Facts == nil {
		v.Facts = &CensusFacts{}
	}
	t.describe(v.Facts, row)
	t.unit.indexKnown(v)
	t.unit.weigh(v)
	t.unit.recordFact(v)
	t.unit.work.markVisit(v, unsaved|touched)
}

// taken reports whether another visit than v was in the room after t: statements of that
// time belong to it.
func (r *room) taken(v *visit, t acuity.Instant) bool {
	return slices.ContainsFunc(r.stays, func(s roomStay) bool {
		return s.v != v && !s.v.timeline.Newborn && (s.To == 0 || s.To > t)
	})
}

// markOccupied records that a row of this census has an occupant for the room.
func (t *censusIntake) markOccupied(id int32) {
	if t.occupied == nil {
		t.occupied = map[int32]bool{}
	}
	t.occupied[id] = true
}

// endMissing ends the stays and occupants that this census does not show.
func (t *censusIntake) endMissing() {
	u := t.unit
	for _, v := range u.visits {
		if n := len(v.Stays); n > 0 && v.Stays[n-1].To == 0 && !t.shown[v] {
			v.Stays[n-1].To = t.at
			u.work.markVisit(v, unsaved|touched)
		}
	}
	for _, r := range u.rooms {
		if r.Occupant != nil && r.Occupant.Last != t.at {
			t.endOccupant(r)
		}
		if !t.rooms[r.ID] {
			t.unlistRoom(r)
		}
	}
}

// unlistRoom removes a room from the newest census. Statements of a visit move to the
// visit, all others are lost.
func (t *censusIntake) unlistRoom(r *room) {
	u := t.unit
	r.Listed, r.Status, r.Clinical, r.Placed = false, acuity.RoomUnknown, false, false
	list := r.statements.ByArrival(func(*evidence.Statement) bool { return true })
	r.statements = evidence.Statements{}
	for i := range list {
		h := &list[i]
		if v := u.visitOfStatement(h); v != nil {
			u.statements.addToVisit(v, *h)
			v.cache.Forget()
		} else {
			u.statements.lose(h)
		}
	}
	u.work.markRoom(r, unsaved)
}
