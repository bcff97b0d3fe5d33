package location

import (
	"cmp"
	"strconv"

	"svc/acuity"
	"svc/acuity/adt"
)

// Placement is the result of resolving a location.
type Placement struct {
	Kind Kind
	Room int32 // only for InRoom
}

// Kind is the kind of a placement.
type Kind uint8

// The kinds of placements.
const (
	Nowhere     Kind = iota // the location is empty: unplaced
	InRoom                  // in a room of this unit
	Outside                 // in another unit: neither in a room nor unplaced (docs/decisions.md#outside-locations)
	WithoutRoom             // in a unit but not in a room: unplaced, with a warning (docs/decisions.md#point-of-care-alone)
)

// knownRoom is a room named by a census, an administrator or a room id.
type knownRoom struct{ label, area string }

// Table resolves locations to rooms. Its answers depend on its contents, not on the order in which they arrived. A
// location is resolved when the chart is computed, so the newest table also applies to older events
// (docs/decisions.md#location-resolution). The zero Table is empty. A Table is not safe for concurrent use.
type Table struct {
	known map[int32]knownRoom
	rows  map[string]*acuity.Place // keyed by point of care, room and bed
	named map[int32]bool           // ids of the rooms in rows

	// References returns the place of a FHIR Location by its name; a zero place means that the Location is unknown or
	// has no place. If References is nil, all Locations are unknown.
	References func(name string) acuity.Location

	own    map[string]*ownRoom // keyed by point of care and room
	slots  map[int32]*ownRoom  // keyed by id
	names  map[string]int      // number of ADT rooms, by PV1-3.2
	moved  bool                // whether the ids must be recomputed
	points map[int32][]string  // points of care by the room number with which events name them
	listed map[int32][]string  // the same for the rows that map a number to the room with that id

	stale   bool
	byLabel map[string]int32 // noRoom if several rooms have the label
	byArea  map[string]int32 // keyed by area and label
	areas   map[string]bool  // folded areas of the known rooms

	found map[acuity.Location]*cachedAnswer // see find
}

const noRoom = -1

// SetRoom adds or changes a room named by a census, an administrator or a room id. It reports whether the table
// changed.
func (t *Table) SetRoom(id int32, label, area string) bool {
	k := knownRoom{label, area}
	if old, known := t.known[id]; known && old == k {
		return false
	}
	if t.known == nil {
		t.known = map[int32]knownRoom{}
	}
	t.known[id] = k
	t.stale, t.found = true, nil
	t.moved = t.moved || t.slots[id] != nil
	return true
}

// hasRoom reports whether a room is known.
func (t *Table) hasRoom(id int32) bool {
	_, ok := t.known[id]
	return ok
}

// RemoveRoom removes a known room. It reports whether the table changed.
func (t *Table) RemoveRoom(id int32) bool {
	if !t.hasRoom(id) {
		return false
	}
	delete(t.known, id)
	t.stale, t.found = true, nil
	t.moved = t.moved || id >= firstOwnRoom && id < firstOwnRoom+ownRooms
	return true
}

// SetRows replaces the rows that administrators maintain. The table keeps pointers to the rows, which must not change
// afterwards.
func (t *Table) SetRows(rows []*acuity.Place) {
	t.found = nil
	t.rows, t.named, t.listed = make(map[string]*acuity.Place, len(rows)), map[int32]bool{}, map[int32][]string{}
	for _, r := range rows {
		t.rows[string(appendKey(nil, r.PointOfCare, r.Room, r.Bed))] = r
		if !r.HasRoomID {
			continue
		}
		t.named[r.RoomID] = true
		if n, ok := roomNumber(r.Room); ok && n == r.RoomID && r.PointOfCare != "" {
			t.listed[n] = addPoint(t.listed[n], r.PointOfCare)
		}
	}
}

// Answer is the information in the table about a location.
type Answer struct {
	Placement
	adt.Place
}

// cachedAnswer is an Answer in the cache of a table.
type cachedAnswer struct {
	Placement
	adt.CachedPlace
}

// find returns what the table knows about a location, cached until the table changes. The cache helps because
// rebuilding a visit's timeline resolves all of its locations again, and most of them are repetitions.
func (t *Table) find(l *acuity.Location) *cachedAnswer {
	if f := t.found[*l]; f != nil {
		return f
	}
	if t.found == nil || len(t.found) >= capFound {
		t.found = map[acuity.Location]*cachedAnswer{}
	}
	a := t.LookUp(*l)
	f := &cachedAnswer{Placement: a.Placement, CachedPlace: adt.CachedPlace{Place: a.Place}}
	t.found[*l] = f
	return f
}

// Describe returns what the table knows about a location, apart from its room. The result is cached until the table
// changes.
func (t *Table) Describe(l *acuity.Location) *adt.CachedPlace { return &t.find(l).CachedPlace }

// capFound is the maximum size of the cache; when it is full, the cache is cleared.
const capFound = 1024

// LookUp returns the information in the table about a location, without the cache.
func (t *Table) LookUp(l acuity.Location) Answer {
	where := t.resolveReference(l)
	a := Answer{t.Resolve(l), adt.Place{PointOfCare: where.PointOfCare, Label: cmp.Or(where.Label, where.Room)}}
	if s := t.rowOf(&where); s != nil {
		a.Primary = s.Primary
	}
	if r, ok := t.known[a.Room]; ok && a.Kind == InRoom {
		a.Area, a.Label = r.area, cmp.Or(r.label, a.Label)
	}
	return a
}

// Placement returns the placement of a location, cached until the table changes.
func (t *Table) Placement(l *acuity.Location) Placement { return t.find(l).Placement }

// Resolve returns the placement of a location (docs/decisions.md#location-resolution), without the cache.
func (t *Table) Resolve(l acuity.Location) Placement {
	if l.HasRoomID {
		return Placement{InRoom, l.RoomID} // takes precedence over all text (docs/decisions.md#room-id-first)
	}
	l = t.resolveReference(l)
	room := roomName(&l)
	if l.PointOfCare == "" && room == "" {
		return Placement{}
	}
	s := t.rowOf(&l)
	if s != nil && (s.HasRoomID || s.Outside) {
		if s.Outside {
			return Placement{Kind: Outside}
		}
		return Placement{InRoom, s.RoomID}
	}
	// A location for which the location table has a row belongs to this unit, even if that row names no room.
	elsewhere := s == nil && t.isElsewhere(l.PointOfCare)
	if s == nil && l.PointOfCare == "" {
		elsewhere = adt.BeginsOutside(room) // a FHIR display names both in one text
	}
	if id := t.labelled(&l, room, elsewhere); id != noRoom {
		return Placement{InRoom, id}
	}
	if elsewhere {
		return Placement{Kind: Outside}
	}
	if id := t.numbered(&l, room); id != noRoom {
		return Placement{InRoom, id}
	}
	if s == nil && adt.IsMedical(l.PointOfCare) && !t.isArea(l.PointOfCare) {
		return Placement{Kind: Outside}
	}
	if room == "" {
		return Placement{Kind: WithoutRoom}
	}
	var array [96]byte
	k := appendKey(array[:0], l.PointOfCare, room)
	if o := t.own[string(k)]; o != nil {
		t.assignIDs()
		return Placement{InRoom, o.id}
	}
	return Placement{InRoom, preferredID(k)}
}

// isElsewhere reports whether a point of care has the name of another unit and is not the area of a known room.
func (t *Table) isElsewhere(pointOfCare string) bool {
	if outside, _ := adt.IsOutside(pointOfCare); !outside {
		return false
	}
	return !t.isArea(pointOfCare)
}

// isArea reports whether a point of care is the area of a known room.
func (t *Table) isArea(pointOfCare string) bool {
	t.rebuildIndexes()
	var array [96]byte
	return t.areas[string(appendFolded(array[:0], pointOfCare))]
}

// labelled returns the known room whose label matches a location, or noRoom if none or several match. The argument
// room is the location's room name. If the point of care has the name of another unit, elsewhere is true, and a number,
// even with letters (see isNumber), must match together with the point of care. For a label that is only digits, see
// numbered.
func (t *Table) labelled(l *acuity.Location, room string, elsewhere bool) int32 {
	t.rebuildIndexes()
	var array [96]byte
	lookUp := func(m map[string]int32, parts ...string) int32 {
		k := array[:0]
		for _, p := range parts {
			k = appendFolded(k, p)
		}
		if id, ok := m[string(k)]; ok && len(k) > 0 {
			return id
		}
		return noRoom
	}
	if room == "" {
		return lookUp(t.byLabel, l.PointOfCare)
	}
	_, bare := roomNumber(room)
	byName := !elsewhere || !isNumber(room)
	// The most specific label is tried first: a bed is a separate room only if a label says so
	// (docs/decisions.md#beds).
	if l.Bed != "" {
		// the FHIR display name, including the bed (docs/decisions.md#several-locations)
		if id := lookUp(t.byLabel, l.Label); id != noRoom && (byName || !isNumber(l.Label)) {
			return id
		}
		if id := lookUp(t.byArea, l.PointOfCare, room, "-", l.Bed); id != noRoom {
			return id
		}
		if id := lookUp(t.byLabel, room, "-", l.Bed); id != noRoom && byName {
			return id
		}
	}
	if id := lookUp(t.byLabel, l.PointOfCare, room); id != noRoom && l.PointOfCare != "" {
		return id
	}
	if id := lookUp(t.byArea, l.PointOfCare, room); id != noRoom {
		return id
	}
	if bare || !byName {
		return noRoom
	}
	return lookUp(t.byLabel, room)
}

// rebuildIndexes rebuilds the indexes of labels after a change.
func (t *Table) rebuildIndexes() {
	if !t.stale && t.byLabel != nil {
		return
	}
	t.stale, t.byLabel, t.byArea = false, make(map[string]int32, len(t.known)), make(map[string]int32, len(t.known))
	t.areas = map[string]bool{}
	put := func(m map[string]int32, k string, id int32) {
		if _, twice := m[k]; twice {
			id = noRoom
		}
		m[k] = id
	}
	for id, r := range t.known {
		if r.area != "" {
			t.areas[string(appendFolded(nil, r.area))] = true
		}
		if r.label == "" {
			continue
		}
		put(t.byLabel, string(appendFolded(nil, r.label)), id)
		if r.area != "" {
			put(t.byArea, string(appendFolded(appendFolded(nil, r.area), r.label)), id)
		}
	}
}

// rowOf returns the most specific row of the location table for l, or nil if no row applies. A row for a room without a
// point of care does not apply to a point of care that is outside the unit.
func (t *Table) rowOf(l *acuity.Location) *acuity.Place {
	if len(t.rows) == 0 {
		return nil
	}
	var array [96]byte
	room := roomName(l)
	for _, k := range [...][3]string{
		{l.PointOfCare, room, l.Bed}, {l.PointOfCare, room, ""}, {"", room, l.Bed}, {"", room, ""}, {l.PointOfCare, "", ""},
	} {
		s := t.rows[string(appendKey(array[:0], k[0], k[1], k[2]))]
		if s == nil {
			continue
		}
		if k[0] == "" && l.PointOfCare != "" {
			if unit := t.rows[string(appendKey(array[:0], l.PointOfCare, "", ""))]; unit != nil && unit.Outside {
				return unit
			}
		}
		return s
	}
	return nil
}

// IsWard reports whether a location names a unit but no room (docs/decisions.md#point-of-care-alone).
func (t *Table) IsWard(l *acuity.Location) bool { return t.Placement(l).Kind == WithoutRoom }

// IsOutside reports whether a location is outside the unit (docs/decisions.md#outside-locations).
func (t *Table) IsOutside(l *acuity.Location) bool { return t.Placement(l).Kind == Outside }

// SameRoom reports whether two locations are equal or resolve to the same room.
func (t *Table) SameRoom(a, b *acuity.Location) bool {
	if *a == *b {
		return true
	}
	p := t.Placement(a)
	return p.Kind == InRoom && p == t.Placement(b)
}

// Label returns the label of a room, and reports whether only ADT events name the room. The label of such a room is
// its PV1-3.2, preceded by the point of care if PV1-3.2 alone would be ambiguous.
func (t *Table) Label(id int32) (label string, own bool) {
	if r, ok := t.known[id]; ok {
		if r.label == "" {
			return strconv.Itoa(int(id)), false
		}
		return r.label, false
	}
	o := t.slot(id)
	if o == nil {
		return strconv.Itoa(int(id)), false
	}
	t.rebuildIndexes()
	name := appendFolded(nil, o.room)
	_, taken := t.byLabel[string(name)]
	if _, numeric := roomNumber(o.room); (numeric || taken || t.names[string(name)] > 1) && o.pointOfCare != "" {
		return o.pointOfCare + " " + o.room, true
	}
	return o.room, true
}
