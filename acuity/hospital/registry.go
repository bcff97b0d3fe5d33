package hospital

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/location"
)

// registry has what is known of the unit, its rooms and its visits, and what the next steps
// must do for them. Every part of a [State] shares it.
type registry struct {
	keys   stateKeys
	limits limits
	facts  UnitState
	work   work
	chart  acuity.Chart

	rooms  []*room // ascending by id
	visits map[string]*visit
	slots  slots

	eventBytes int // approximate size of the events of all visits

	unknown map[*visit]struct{} // visits that only statements name; a statement may come before its visit
	fresh   []*visit            // became known since housekeeping
	checks  map[int32][]*visit  // visits to check, by the hour in which they may be over
	recent  []*visit            // at least those that a fact named since housekeeping
}

// room returns the room with an id; nil: it is not known. Where ids are consecutive,
// the id gives the index.
func (g *registry) room(id int32) *room {
	if n := int64(len(g.rooms)); n > 0 {
		if at := int64(id) - int64(g.rooms[0].ID); at >= 0 && at < n && g.rooms[at].ID == id {
			return g.rooms[at]
		}
	}
	if i, ok := slices.BinarySearchFunc(g.rooms, id, byRoomID); ok {
		return g.rooms[i]
	}
	return nil
}

func byID(a, b *room) int            { return cmp.Compare(a.ID, b.ID) }
func byRoomID(r *room, id int32) int { return cmp.Compare(r.ID, id) }

// addRoom makes a room known. The caller has checked the limits.
func (g *registry) addRoom(s RoomState) *room {
	i, _ := slices.BinarySearchFunc(g.rooms, s.ID, byRoomID)
	r := &room{RoomState: s}
	g.rooms = slices.Insert(g.rooms, i, r)
	g.work.dropPast = true
	g.work.markRoom(r, unsaved|touched)
	return r
}

// visit returns the visit with an id, and makes it known if it is not.
func (g *registry) visit(id string) *visit {
	v := g.visits[id]
	if v == nil {
		v = &visit{visitFacts: visitFacts{ID: strings.Clone(id)}} // keeps the text of the observation out of memory
		g.visits[v.ID] = v
		g.slots.assign(v)
		g.indexKnown(v)
		g.work.markVisit(v, unsaved|touched)
	}
	return v
}

// indexKnown keeps the set of unknown visits after the facts of a visit changed, and
// puts known visits on the list of housekeeping.
func (g *registry) indexKnown(v *visit) {
	if v.isName() {
		g.unknown[v] = struct{}{}
		return
	}
	delete(g.unknown, v)
	if !v.inChecks {
		v.inChecks, g.fresh = true, append(g.fresh, v)
	}
}

// whereIs returns the room in which a visit is now; nil: it is in none.
func (g *registry) whereIs(v *visit) *room {
	if v = v.whole(); v == nil {
		return nil
	}
	if n := len(v.spans); n > 0 && v.spans[n-1].To == 0 && v.spans[n-1].Kind == location.InRoom {
		return g.room(v.spans[n-1].Room)
	}
	return nil
}

// removeRoomStays removes a visit from the rooms of its spans.
func (g *registry) removeRoomStays(v *visit, stays []locationSpan) {
	for _, s := range stays {
		if r := g.room(s.Room); s.Kind == location.InRoom && r != nil {
			n := roomStay{v: v, From: s.From}
			r.stays, r.here = removeRoomStay(r.stays, n), removeRoomStay(r.here, n)
		}
	}
}

// visitOfStatement returns the visit that owns a statement; nil: no visit does.
func (g *registry) visitOfStatement(h *evidence.Statement) *visit {
	if h.Owner.ID == 0 {
		return nil
	}
	return g.slots.visits[h.Owner.ID]
}

// bindingOf returns the owner of a statement.
func (g *registry) bindingOf(h *evidence.Statement) binding {
	return binding{g.visitOfStatement(h), h.Owner.Kind}
}

// cacheOf returns the cache of the owner of a statement; nil: there is none.
func (g *registry) cacheOf(h *evidence.Statement) *evidence.Cache {
	if v := g.visitOfStatement(h); v != nil {
		return v.cache
	}
	if r := g.room(h.Room); r != nil {
		return r.cache
	}
	return nil
}

// touchOwner touches the room where the owner of statements is;
// nil: the room is unknown by now.
func (g *registry) touchOwner(r *room, b binding) {
	switch {
	case b.v != nil:
		g.touchRoomOf(b.v)
	case r != nil && b.kind != toNobody:
		g.work.markRoom(r, touched)
	}
}

// touchRoomOf touches the room in which a visit is now.
func (g *registry) touchRoomOf(v *visit) {
	if r := g.whereIs(v); r != nil {
		g.work.markRoom(r, touched)
	}
}

// touchRoomsOf touches the rooms where a visit is or was.
func (g *registry) touchRoomsOf(v *visit) {
	for _, s := range v.spans {
		if r := g.room(s.Room); s.Kind == location.InRoom && r != nil {
			g.work.markRoom(r, touched)
		}
	}
}

// slots numbers the visits of a unit for the owners of statements. Slot 0 is no visit's.
type slots struct {
	visits []*visit
	vacant []int32
}

// assign gives a visit a slot.
func (s *slots) assign(v *visit) {
	if n := len(s.vacant); n > 0 {
		v.slot, s.vacant = s.vacant[n-1], s.vacant[:n-1]
		s.visits[v.slot] = v
		return
	}
	if len(s.visits) == 0 {
		s.visits = append(s.visits, nil)
	}
	v.slot = int32(len(s.visits)) //nolint:gosec // the visits of a week
	s.visits = append(growLittle(s.visits), v)
}

// release frees the slot of a visit. No statement may hold its number any more.
func (s *slots) release(v *visit) {
	s.visits[v.slot] = nil
	s.vacant = append(s.vacant, v.slot)
	v.slot = 0
}

// visitFacts is a [VisitState] as a unit keeps it.
type visitFacts struct {
	ID      string
	events  []adt.Event
	Folded  int32
	FoldAt  acuity.Instant
	Touched acuity.Instant

	Facts *CensusFacts
	Stays []CensusStay
}

// visitRecords have memory for the record of a visit, which is far larger than what a
// unit keeps. Few units write at once.
var visitRecords = sync.Pool{New: func() any { return new(VisitState) }}

// writeVisits writes the facts of visits.
func (g *registry) writeVisits(list []*visit, write func(key []byte, s Record)) {
	if len(list) == 0 {
		return
	}
	record := visitRecords.Get().(*VisitState) //nolint:errcheck // nothing else is put there
	for _, v := range list {
		*record = VisitState{
			ID: v.ID, Events: record.Events[:0], Folded: v.Folded, FoldAt: v.FoldAt, Touched: v.Touched,
			Facts: v.Facts, Stays: v.Stays,
		}
		for i := range v.events {
			record.Events = v.events[i].AppendTo(record.Events, v.ID)
		}
		write(g.keys.visit(v.ID), record)
	}
	*record = VisitState{Events: emptied(record.Events[:cap(record.Events)])}
	visitRecords.Put(record)
}

// storeVisit returns the facts of a record as they are kept.
func storeVisit(r *VisitState) visitFacts {
	return visitFacts{
		ID: strings.Clone(r.ID), events: adt.StoreEvents(r.Events), Folded: r.Folded, FoldAt: r.FoldAt, Touched: r.Touched,
		Facts: r.Facts, Stays: r.Stays,
	}
}

// known reports whether ADT or a census knows the room.
func (r *room) known() bool {
	return r.Listed || r.Placed || r.Occupant != nil || len(r.stays) > 0 || len(r.Past) > 0
}

// weigh updates the size of the facts of a visit.
func (g *registry) weigh(v *visit) {
	n := v.size()
	g.eventBytes += n - v.bytes
	v.bytes = n
}

// size returns the approximate bytes of the record of a visit.
func (v *visit) size() int {
	n := v.Facts.size()
	for i := range v.events {
		e := &v.events[i]
		n += 160 + 16*len(e.CoarseTimes) + len(e.ID) + len(e.Resource) + len(e.Encounter) + len(e.Subject) + len(e.Patient) +
			len(e.MotherVisit) + len(e.MotherPatient) + len(e.Account) + len(e.Place.Room) + len(e.Place.PointOfCare) + len(e.Place.Label) +
			len(e.Prior.Room) + len(e.Prior.PointOfCare)
		for j := range e.Diagnoses {
			n += 32 + len(e.Diagnoses[j].Code) + len(e.Diagnoses[j].Display)
		}
	}
	return n
}

// size returns the approximate bytes of the facts; nil: 0.
func (f *CensusFacts) size() int {
	if f == nil {
		return 0
	}
	n := 100 + 24*len(f.Listed) + 60*len(f.Newborns)
	for i := range f.Diagnoses {
		n += 48 + len(f.Diagnoses[i].Code) + len(f.Diagnoses[i].Display)
	}
	return n
}
