package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/acuity/registry"
	"svc/acuity/stays"
)

// applyCensus applies a census, which is a full snapshot of the rooms (docs/decisions.md#census-among-adt,
// #census-rows, docs/decisions.md#census-keys). The snapshot applies at the census's asOf time, or at its receipt if
// that is earlier.
func (u *State) applyCensus(in *registry.Intake, c *acuity.Census) {
	at := in.Observation.ReceivedAt
	if c.AsOf != 0 {
		if c.AsOf > at.Add(adt.ClockSlack) {
			in.Warn("time_in_future", "asOf")
		}
		at = min(at, c.AsOf)
	}
	if u.registry.Facts.HasCensus && at < u.registry.Facts.CensusAt {
		in.Outcome, in.Reason = acuity.Ignored, "census_older"
		in.Warn("census_older", "asOf")
		return
	}
	in.Census, in.Present = true, len(u.registry.Chart.Rooms)
	t := censusIntake{
		unit: u, in: in, at: at, before: u.registry.Facts.CensusAt,
		shown: map[*registry.Visit]bool{}, rooms: map[int32]bool{},
	}
	for _, r := range u.registry.Rooms {
		if v := r.OccupantVisit; v != nil && r.Occupant != nil {
			t.giveOccupantTo(v, r) // ADT reported the occupant's visit before this census
		}
	}
	for i := range c.Rooms {
		t.applyRow(i, &c.Rooms[i])
	}
	var unnamed []*acuity.CensusRoom
	for i := range c.Rooms { // rows with a visit first, because a visit is in at most one room
		row := &c.Rooms[i]
		if row.Status != acuity.RoomOccupied {
			continue
		}
		switch {
		case row.Visit == "":
		case u.names.VisitNamed(row.Visit) == nil && !u.capacity.allowsVisit(): // only the visit is refused; the room counts as occupied
			in.Refuse(reasonVisits, registry.ItemPath("rooms", i)+".visitId")
		case t.applyNamedRow(row):
			continue
		default:
			in.Warn("visit_twice", registry.ItemPath("rooms", i)+".visitId")
		}
		unnamed = append(unnamed, row)
	}
	for _, row := range unnamed {
		t.applyUnnamedRow(row)
	}
	t.endMissing()
	first := !u.registry.Facts.HasCensus
	u.registry.Facts.HasCensus, u.registry.Facts.CensusAt = true, at
	u.registry.Facts.TotalRooms = max(c.TotalRooms, int32(len(t.rooms))) //nolint:gosec // a census has a limited number of rooms
	u.registry.Work.TableChanged = u.locations.Relabel() || u.registry.Work.TableChanged
	if first {
		u.touchAll()
	} else {
		t.touchChanged()
	}
	for _, r := range u.registry.Rooms {
		u.registry.Work.MarkRoom(r, registry.Named|registry.Unsaved)
	}
}

// touchChanged touches everything that a census can change: every room, and the visits whose stays had not ended before
// the previous census.
func (t *censusIntake) touchChanged() {
	u := t.unit
	for _, v := range u.registry.Visits {
		if v.LastPlaced == 0 || v.LastPlaced > t.before || v.OccupantOf != nil || v.CandidateFor != nil {
			u.registry.Work.MarkVisit(v, registry.Touched)
		}
	}
	for _, r := range u.registry.Rooms {
		u.registry.Work.MarkRoom(r, registry.Touched)
	}
}

// censusIntake is one census being applied.
type censusIntake struct {
	unit       *State
	in         *registry.Intake
	at, before acuity.Instant // time of this census, and time of the previous census
	shown      map[*registry.Visit]bool
	rooms      map[int32]bool
	occupied   map[int32]bool
}

// applyRow applies a row to its room.
func (t *censusIntake) applyRow(i int, row *acuity.CensusRoom) {
	if t.rooms[row.ID] {
		t.in.Warn("room_twice", "rooms")
		return
	}
	r := t.unit.registry.Room(row.ID)
	if r == nil {
		if len(t.unit.registry.Rooms) >= t.unit.registry.Limits.Known {
			t.in.Refuse(reasonRooms, registry.ItemPath("rooms", i))
			return
		}
		r = t.unit.registry.AddRoom(facts.RoomState{ID: row.ID})
	}
	t.rooms[row.ID] = true
	overwrite(&r.Label, row.Label)
	overwrite(&r.Area, row.Area)
	r.Listed, r.Status, r.Clinical, r.Placed = true, row.Status, false, false
	r.Registered, r.PointOfCare, r.Room = false, "", ""
}

// applyNamedRow applies a row that names the visit in the room. It returns false if another row already named that
// visit; the room then counts as occupied without a visit.
func (t *censusIntake) applyNamedRow(row *acuity.CensusRoom) bool {
	u := t.unit
	v, r := u.names.VisitNamed(row.Visit), u.registry.Room(row.ID)
	if v == nil {
		v = u.registry.Visit(row.Visit)
	}
	if r == nil {
		return true
	}
	if t.shown[v] {
		return false
	}
	elsewhere := false
	for _, s := range v.Spans {
		if s.Holds(t.before) && (s.Kind != location.InRoom || s.Room != row.ID) {
			elsewhere = true
		}
	}
	if r.Occupant != nil && r.Anonymous() && !elsewhere && t.unit.registry.Facts.HasCensus {
		t.giveOccupantTo(v, r) // the occupant may be the patient of v, a visit that only this census has named so far
	}
	t.placeVisit(v, row)
	return true
}

// applyUnnamedRow applies a row that names no visit, or whose visit cannot be used. The row refers to the visit that
// is in the room at the time of the census, unless another row already refers to that visit, or the visit is a
// newborn's and mayBeNewborn returns false. If no visit remains, the row refers to an occupant without a visit.
func (t *censusIntake) applyUnnamedRow(row *acuity.CensusRoom) {
	u := t.unit
	r := u.registry.Room(row.ID)
	if r == nil || t.occupied[row.ID] {
		return
	}
	if b := stays.OwnerAt(r, t.at); b.Kind == registry.ToVisit && !t.shown[b.V] && (!b.V.Timeline.Newborn || mayBeNewborn(row)) {
		t.placeVisit(b.V, row)
		return
	}
	o := r.Occupant
	if o == nil || r.OccupantEnd() != 0 {
		t.endOccupant(r)
		from := t.before + 1
		if !u.registry.Facts.HasCensus {
			from = 1
		}
		o = &facts.Occupant{CensusStay: facts.CensusStay{Room: r.ID, From: min(from, t.at), First: t.at}}
		r.Occupant = o
	}
	o.Last = t.at
	t.describe(&o.Facts, row)
	t.markOccupied(row.ID)
}

// mayBeNewborn reports whether a row without a visit may refer to a newborn who is alone in the room: it contains
// nothing that applies only to a mother (docs/decisions.md#census-among-adt).
func mayBeNewborn(row *acuity.CensusRoom) bool {
	return (row.Primary == 0 || row.Primary.IsNewborn()) && (row.Class == 0 || row.Class == 'N') &&
		row.DeliveredAt == 0 && len(row.Modifiers) == 0 && len(row.Diagnoses) == 0 && len(row.Newborns) == 0
}

// placeVisit records that this census reports a visit in a room.
func (t *censusIntake) placeVisit(v *registry.Visit, row *acuity.CensusRoom) {
	t.shown[v] = true
	t.markOccupied(row.ID)
	if n := len(v.Stays); n > 0 && v.Stays[n-1].To == 0 && v.Stays[n-1].Room == row.ID {
		v.Stays[n-1].Last = t.at
	} else {
		if n > 0 && v.Stays[n-1].To == 0 {
			v.Stays[n-1].To = t.at
		}
		from := t.before + 1
		if !t.unit.registry.Facts.HasCensus {
			from = 1
		}
		if n > 0 || len(v.Spans) > 0 || isTakenByAnother(t.unit.registry.Room(row.ID), v, t.before) {
			from = t.at
		}
		v.AddStay(facts.CensusStay{Room: row.ID, From: min(from, t.at), First: t.at, Last: t.at})
	}
	if v.Facts == nil {
		v.Facts = &facts.CensusFacts{}
	}
	t.describe(v.Facts, row)
	t.unit.registry.IndexKnown(v)
	t.unit.registry.UpdateSize(v)
	t.unit.registry.RecordFact(v)
	t.unit.registry.Work.MarkVisit(v, registry.Unsaved|registry.Touched)
}

// isTakenByAnother reports whether a visit other than v was in the room after t, not counting newborns' visits.
// Statements from after t then belong to that visit.
func isTakenByAnother(r *registry.Room, v *registry.Visit, t acuity.Instant) bool {
	return slices.ContainsFunc(r.Stays, func(s registry.RoomStay) bool {
		return s.V != v && !s.V.Timeline.Newborn && (s.To == 0 || s.To > t)
	})
}

// markOccupied records that this census reports an occupant in the room.
func (t *censusIntake) markOccupied(id int32) {
	if t.occupied == nil {
		t.occupied = map[int32]bool{}
	}
	t.occupied[id] = true
}

// endMissing ends the stays of the visits and occupants that this census does not report, and calls unlistRoom for
// the rooms that this census does not list.
func (t *censusIntake) endMissing() {
	u := t.unit
	for _, v := range u.registry.Visits {
		if n := len(v.Stays); n > 0 && v.Stays[n-1].To == 0 && !t.shown[v] {
			v.Stays[n-1].To = t.at
			u.registry.Work.MarkVisit(v, registry.Unsaved|registry.Touched)
		}
	}
	for _, r := range u.registry.Rooms {
		if r.Occupant != nil && r.Occupant.Last != t.at {
			t.endOccupant(r)
		}
		if !t.rooms[r.ID] {
			t.unlistRoom(r)
		}
	}
}

// unlistRoom records that this census does not list a room. A statement received since the time of the census keeps the
// room in the unit. An older statement no longer belongs to the room itself, but a late message can still assign it to a
// visit for 24 hours (docs/decisions.md#statement-owner).
func (t *censusIntake) unlistRoom(r *registry.Room) {
	r.Listed, r.Status, r.Clinical, r.Placed = false, acuity.RoomUnknown, false, false
	r.Statements.Remove(func(h *evidence.Statement) bool {
		if h.ReceivedAt >= t.at {
			r.Clinical = true
			return false
		}
		if h.Settled { // the statement belongs permanently to the room
			t.unit.statements.DropStatement(h)
		}
		return h.Settled
	})
	t.unit.registry.Work.MarkRoom(r, registry.Unsaved)
}
