package hospital

import (
	"cmp"
	"strconv"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
)

// placement is where a location is.
type placement struct {
	Kind placementKind
	Room int32 // of inRoom
}

// placementKind is the kind of a location.
type placementKind uint8

const (
	nowhere     placementKind = iota // no place was said: unplaced
	inRoom                           // a room of this unit
	outside                          // a place of another unit: neither in a room nor unplaced (X5)
	withoutRoom                      // a unit without a room: unplaced, with a warning (P3)
)

// localPlace is an administrator's entry of the location table.
type localPlace struct {
	PointOfCare, Room, Bed string // Room and Bed may be empty: any
	HasRoom                bool
	RoomID                 int32
	Outside                bool
	Primary                catalogue.Factor // of patients placed here; 0: by the table of areas
}

// knownRoom is a room that a census, an administrator or a room id made known.
type knownRoom struct{ label, area string }

// roomTable resolves locations to rooms. Its answers depend on what it was told, not on
// the order. A room is looked up when the chart is made, so an event always lies where
// the newest table says (P7). The zero value is ready and knows nothing.
type roomTable struct {
	known       map[int32]knownRoom
	localPlaces map[string]*localPlace // by point of care, room and bed

	references map[string]*ReferenceState // by name

	own    map[string]*ownRoom // by point of care and room
	slots  map[int32]*ownRoom  // by id
	names  map[string]int      // number of own rooms with this PV1-3.2
	moved  bool                // some ids clash and must be given anew
	points map[int32]string    // point of care of numeric rooms, or several

	stale   bool
	byLabel map[string]int32 // several: noRoom
	byArea  map[string]int32 // area and label

	found map[*acuity.Location]*foundPlace // see find
}

const (
	noRoom  = -1
	several = "\x00several"
)

// know adds or changes a room that a census, an administrator or a room id names. It
// reports whether the table changed.
func (t *roomTable) know(id int32, label, area string) bool {
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

// has reports whether a room is known.
func (t *roomTable) has(id int32) bool {
	_, ok := t.known[id]
	return ok
}

// forget removes a room. It reports whether the table changed.
func (t *roomTable) forget(id int32) bool {
	if !t.has(id) {
		return false
	}
	delete(t.known, id)
	t.stale, t.found = true, nil
	t.moved = t.moved || id >= firstOwnRoom && id < firstOwnRoom+ownRooms
	return true
}

// setLocalPlaces replaces the entries of the location table.
func (t *roomTable) setLocalPlaces(entries []localPlace) {
	t.found = nil
	t.localPlaces = make(map[string]*localPlace, len(entries))
	for i := range entries {
		e := &entries[i]
		t.localPlaces[string(key(nil, e.PointOfCare, e.Room, e.Bed))] = e
	}
}

// toldPlace is what the table knows about a place.
type toldPlace struct {
	placement
	adt.Place
}

// foundPlace is a toldPlace that is cached.
type foundPlace struct {
	placement
	adt.CachedPlace
}

// find returns what the table knows about a place, cached until the table changes. Each
// event of a visit asks for all its places again, and there are few places.
func (t *roomTable) find(l *acuity.Location) *foundPlace {
	if f := t.found[l]; f != nil {
		return f
	}
	if t.found == nil || len(t.found) >= capFound {
		t.found = map[*acuity.Location]*foundPlace{}
	}
	told := t.lookUp(*l)
	f := &foundPlace{placement: told.placement, CachedPlace: adt.CachedPlace{Place: told.Place}}
	t.found[l] = f
	return f
}

// describe is find without the room.
func (t *roomTable) describe(l *acuity.Location) *adt.CachedPlace { return &t.find(l).CachedPlace }

// capFound bounds what find keeps; beyond it, the cache starts anew.
const capFound = 1024

// lookUp returns what the table knows about a place.
func (t *roomTable) lookUp(l acuity.Location) toldPlace {
	where := t.standsFor(l)
	f := toldPlace{t.resolve(l), adt.Place{PointOfCare: where.PointOfCare, Label: cmp.Or(where.Label, where.Room)}}
	if s := t.localPlaceOf(&where); s != nil {
		f.Primary = s.Primary
	}
	if r, ok := t.known[f.Room]; ok && f.Kind == inRoom {
		f.Area, f.Label = r.area, cmp.Or(r.label, f.Label)
	}
	return f
}

// placementOf returns where a place is, cached.
func (t *roomTable) placementOf(l *acuity.Location) placement { return t.find(l).placement }

// resolve returns where a location is (clinical-input 2, P1 to P5, X5).
func (t *roomTable) resolve(l acuity.Location) placement {
	if l.HasRoomID {
		return placement{inRoom, l.RoomID} // wins over all text (H18)
	}
	l = t.standsFor(l)
	room := roomName(&l)
	if l.PointOfCare == "" && room == "" {
		return placement{}
	}
	s := t.localPlaceOf(&l)
	if s != nil && (s.HasRoom || s.Outside) {
		if s.Outside {
			return placement{Kind: outside}
		}
		return placement{inRoom, s.RoomID}
	}
	if id := t.labelled(&l, room); id != noRoom {
		return placement{inRoom, id}
	}
	if room != "" {
		if n, ok := roomNumber(room); ok && t.has(n) && !t.shared(n) {
			return placement{inRoom, n}
		}
	}
	// A row that names no room says that the place is ours.
	if s == nil && adt.IsOutside(l.PointOfCare) {
		return placement{Kind: outside}
	}
	if room == "" {
		return placement{Kind: withoutRoom}
	}
	var array [96]byte
	k := key(array[:0], l.PointOfCare, room)
	if o := t.own[string(k)]; o != nil {
		t.assign()
		return placement{inRoom, o.id}
	}
	return placement{inRoom, home(k)}
}

// shared reports whether several points of care use a room of that number (P1).
func (t *roomTable) shared(n int32) bool { return t.points[n] == several }

// labelled returns the known room with the label of the location.
func (t *roomTable) labelled(l *acuity.Location, room string) int32 {
	t.index()
	var array [96]byte
	look := func(m map[string]int32, parts ...string) int32 {
		k := array[:0]
		for _, p := range parts {
			k = fold(k, p)
		}
		if id, ok := m[string(k)]; ok && len(k) > 0 {
			return id
		}
		return noRoom
	}
	if room == "" {
		return look(t.byLabel, l.PointOfCare)
	}
	// The closest first: a bed splits a room only if a label says so (P2).
	if l.Bed != "" {
		if id := look(t.byLabel, l.Label); id != noRoom { // as FHIR displays it, bed and all (F10)
			return id
		}
		if id := look(t.byArea, l.PointOfCare, room, "-", l.Bed); id != noRoom {
			return id
		}
		if id := look(t.byLabel, room, "-", l.Bed); id != noRoom {
			return id
		}
	}
	if id := look(t.byLabel, l.PointOfCare, room); id != noRoom && l.PointOfCare != "" {
		return id
	}
	if id := look(t.byArea, l.PointOfCare, room); id != noRoom {
		return id
	}
	if n, ok := roomNumber(room); ok && t.shared(n) {
		return noRoom // a bare number is as good as a room id, see P1
	}
	return look(t.byLabel, room)
}

// index rebuilds the labels if a room changed.
func (t *roomTable) index() {
	if !t.stale && t.byLabel != nil {
		return
	}
	t.stale, t.byLabel, t.byArea = false, make(map[string]int32, len(t.known)), make(map[string]int32, len(t.known))
	put := func(m map[string]int32, k string, id int32) {
		if _, twice := m[k]; twice {
			id = noRoom
		}
		m[k] = id
	}
	for id, r := range t.known {
		if r.label == "" {
			continue
		}
		put(t.byLabel, string(fold(nil, r.label)), id)
		if r.area != "" {
			put(t.byArea, string(fold(fold(nil, r.area), r.label)), id)
		}
	}
}

// localPlaceOf returns the closest entry of the location table; nil: there is none.
func (t *roomTable) localPlaceOf(l *acuity.Location) *localPlace {
	if len(t.localPlaces) == 0 {
		return nil
	}
	var array [96]byte
	room := roomName(l)
	for _, k := range [...][3]string{
		{l.PointOfCare, room, l.Bed}, {l.PointOfCare, room, ""}, {"", room, l.Bed}, {"", room, ""}, {l.PointOfCare, "", ""},
	} {
		if s := t.localPlaces[string(key(array[:0], k[0], k[1], k[2]))]; s != nil {
			return s
		}
	}
	return nil
}

// isWard reports whether a place is a unit without a room (P3).
func (t *roomTable) isWard(l *acuity.Location) bool { return t.placementOf(l).Kind == withoutRoom }

// sameRoom reports whether two places are one room.
func (t *roomTable) sameRoom(a, b *acuity.Location) bool {
	if *a == *b {
		return true
	}
	p := t.placementOf(a)
	return p.Kind == inRoom && p == t.placementOf(b)
}

// label returns the label of a room, and whether only ADT knows the room. Then it is
// PV1-3.2, after the point of care if that alone would be ambiguous.
func (t *roomTable) label(id int32) (label string, own bool) {
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
	t.index()
	name := fold(nil, o.room)
	_, taken := t.byLabel[string(name)]
	if _, numeric := roomNumber(o.room); (numeric || taken || t.names[string(name)] > 1) && o.pointOfCare != "" {
		return o.pointOfCare + " " + o.room, true
	}
	return o.room, true
}
