package fhir

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
)

// move is a move of the patient to a location.
type move struct {
	at     acuity.Instant
	moment acuity.Moment // the time as sent
	place  acuity.Location
}

// stay is a decoded location of an Encounter.
type stay struct {
	move
	end     acuity.Instant
	rank    locationRank
	current bool
	level   string // physical type, if known
}

// isBed reports whether the location is a bed with an unknown room.
func (s stay) isBed() bool { return s.level == "bd" && s.place.Bed == "" }

// locationRank ranks a location of an Encounter as a candidate for the current one
// (docs/decisions.md#several-locations).
type locationRank uint8

const (
	left      locationRank = iota // the location's status is completed, or the location has an end
	openEnded                     // the location has no end
	active                        // the location's status is active
)

// moves returns the moves of an Encounter between its locations, in chronological order and none before the start of
// the Encounter. The first move is at the start of the Encounter. If the patient came to her first location later than
// that, the first move has no location. If no location or only a ward is known, moves returns a single move without a
// room (docs/decisions.md#encounter-without-location).
func (m *mapper) moves(r *resource, e *acuity.Event, start acuity.Instant) []move {
	stays, ward := m.stays(r)
	if len(stays) == 0 {
		return []move{{place: acuity.Location{PointOfCare: ward}}}
	}
	now := stays[0]
	at := 0
	for i, s := range stays {
		if s.rank > now.rank || s.rank == now.rank && s.at >= now.at {
			now, at = s, i
		}
	}
	if now.at == 0 && len(stays) > 1 { // a current location without a time is assumed to be the latest
		now.at, now.moment = m.instead(r, e, "location.period.start"), acuity.Moment{}
	}
	now.at = max(now.at, start)
	now.current = true
	stays[at] = now
	// The other locations are used only if they have a time.
	stays = slices.DeleteFunc(stays, func(s stay) bool { return s.at == 0 && !s.current })
	slices.SortStableFunc(stays, func(a, b stay) int { return cmp.Compare(max(a.at, start), max(b.at, start)) })
	moves := make([]move, 0, len(stays)+1)
	if stays[0].moment.From > start {
		moves = append(moves, move{at: start})
	}
	passed := false          // true once the loop is past the current location
	var here acuity.Location // the current location
	for i, s := range stays {
		s.at = max(s.at, start)
		if s.place.PointOfCare == "" {
			s.place.PointOfCare = ward
		}
		if s.current {
			passed, here = true, s.place
		}
		switch {
		case s.current || !passed:
			moves = append(moves, s.move)
		case s.end > s.at: // a temporary stay in another place
			moves = append(moves, s.move)
			if i+1 == len(stays) || stays[i+1].at > s.end {
				moves = append(moves, move{at: s.end, moment: acuity.Moment{From: s.end, Precision: acuity.Second}, place: here})
			}
		}
	}
	return moves
}

// stays returns the current and former locations of an Encounter, and the ward if the Encounter lists one. It omits
// planned and reserved locations.
func (m *mapper) stays(r *resource) (stays []stay, ward string) {
	for i := range m.locations[r.firstLocation:r.lastLocation] {
		l := &m.locations[r.firstLocation:r.lastLocation][i]
		s := stay{rank: openEnded}
		switch string(m.bytes(l.status)) {
		case "planned", "reserved":
			continue
		case "active":
			s.rank = active
		case "completed":
			s.rank = left
		case "":
		default:
			m.warn(r, "status_unknown", "location["+strconv.Itoa(i)+"].status")
		}
		place, level, ok := m.place(r, l)
		switch {
		case !ok:
			m.warn(r, "reference_unusable", "location["+strconv.Itoa(i)+"].location")
			continue
		case wards[level]:
			if s.rank != left || ward == "" {
				ward = place.PointOfCare
			}
			continue
		}
		s.place, s.level = place, level
		s.at, s.moment = m.moment(r, l.during.start, "location.period.start")
		setEnd(m, r, &s, l.during.end, i)
		stays = append(stays, s)
	}
	return withRooms(stays), ward
}

// setEnd sets the end of a stay, which is the i-th location of an Encounter. An end in the future is only planned,
// unless the location's status is completed or the sender's clock may be fast.
func setEnd(m *mapper, r *resource, s *stay, sent span, i int) {
	end, ok := m.instant(sent)
	field := "location[" + strconv.Itoa(i) + "].period.end"
	isFuture := end.From.Sub(m.ReceivedAt) > maxSkew
	switch {
	case !ok && !sent.empty():
		m.warn(r, "time_unreadable", field)
	case !ok || isFuture && s.rank != left:
	case s.rank == openEnded:
		s.end, s.rank = m.resolve(r, end), left
	default:
		s.end = m.resolve(r, end)
		switch {
		case isFuture:
			m.warn(r, "time_in_future", field)
		case s.rank == active && max(end.From, end.To).Sub(m.ReceivedAt) <= maxSkew && phases[string(m.bytes(r.status))] == open:
			m.warn(r, "end_not_used", field)
		}
	}
}

// warnUnusedLocation warns about an Encounter whose locations do not assign a room, although the patient may
// currently be at one of them. The warning names the first location that is active or that, if the Encounter has
// begun, has neither a status nor an end.
func (d *document) warnUnusedLocation(r *resource, begun bool) {
	for i := range d.locations[r.firstLocation:r.lastLocation] {
		l := &d.locations[r.firstLocation:r.lastLocation][i]
		status := string(d.bytes(l.status))
		if status == "active" || begun && status == "" && l.during.end.empty() {
			d.warn(r, "location_not_used", "location["+strconv.Itoa(i)+"]")
			return
		}
	}
}

// withRooms drops each bed whose room is listed for the same time. Some servers list each level of a location, such
// as the room and the bed, as a separate entry.
func withRooms(stays []stay) []stay {
	if !slices.ContainsFunc(stays, stay.isBed) {
		return stays
	}
	all := slices.Clone(stays)
	return slices.DeleteFunc(stays, func(bed stay) bool {
		return bed.isBed() && slices.ContainsFunc(all, func(s stay) bool {
			return s.level == "ro" && s.at == bed.at && s.rank == bed.rank
		})
	})
}

const wardTypes = "si bu wi wa lvl area jdn rd"

var (
	// wards are the physical types (HL7 location-physical-type) that contain rooms.
	wards = words(wardTypes)
	// physicalTypes are the physical types that have a meaning for svc: the wards, the room and the bed.
	physicalTypes = words(wardTypes + " ro bd")
)

// levelNames maps the names of physical types to their codes.
var levelNames = map[string]string{
	"site": "si", "building": "bu", "wing": "wi", "ward": "wa", "level": "lvl", "area": "area", "jurisdiction": "jdn", "road": "rd",
	"room": "ro", "bed": "bd",
}

// levelOf reads a physicalType and returns its code. Some senders write the code in upper case, or send only the name.
func levelOf(p *parser) string {
	c := p.firstCoding(physicalTypes)
	code := strings.ToLower(string(p.bytes(c.code)))
	if physicalTypes[code] {
		return code
	}
	return cmp.Or(levelNames[strings.ToLower(strings.TrimSpace(string(p.bytes(c.display))))], code)
}

// maxAbove is the maximum number of levels above a Location in which the decoder searches for the room and the ward.
const maxAbove = 4

// place parses an Encounter.location. The name of the place is the display of the reference or, if that is missing,
// the name, the number or the id of the Location. A bed is part of its room (docs/decisions.md#fhir-references).
//
// If the body does not contain the Location, the reference becomes the room, or the ward if the display already names
// the room. The Location may then arrive in another message. level is the physical type. ok is false if the location
// has neither a name nor a usable reference.
func (m *mapper) place(r *resource, l *location) (place acuity.Location, level string, ok bool) {
	name := m.placeName(r, l.place.display)
	physical := l.physical
	t, found := m.follow(&l.place, locationKind, r)
	var where *resource
	elsewhere := ""
	switch {
	case !found:
	case t.at >= 0:
		where = &m.resources[t.at]
		if physical == "" {
			physical = where.physical
		}
		if name == "" {
			name = m.called(r, where)
		}
	default:
		if elsewhere = nameElsewhere(&t); name == "" {
			m.warn(r, "reference_unresolved", "location")
		}
	}
	switch {
	case name != "":
		place = m.within(where, name, physical)
		if elsewhere != "" && !wards[physical] {
			place.PointOfCare = elsewhere
		}
		return place, physical, true
	case elsewhere == "":
		return place, physical, false
	}
	place = acuity.Location{Room: elsewhere}
	if label := printable(t.logical); t.name != "" && len(label) <= maxPlace {
		place.Label = label
	}
	return place, physical, true
}

// nameElsewhere returns the name by which a place refers to a Location outside the body, or "" if the name is too
// long.
func nameElsewhere(t *target) string {
	name := printable(acuity.LocationName + cmp.Or(strings.TrimPrefix(t.name, acuity.LocationName), t.logical))
	if len(name) > maxPlace {
		return ""
	}
	return name
}

// within returns the location with the given name. If the FHIR Location is known, the result includes the ward and,
// for a bed, the room.
func (m *mapper) within(where *resource, name, physical string) acuity.Location {
	if wards[physical] {
		return acuity.Location{PointOfCare: name}
	}
	place := acuity.Location{Room: name}
	if room, bed, cut := cutBed(name); cut {
		place.Label, place.Room, place.Bed = name, room, bed
	}
	for range maxAbove {
		if where == nil {
			break
		}
		t, found := m.follow(&where.partOf, locationKind, where)
		if !found {
			// The enclosing Location cannot be found, so the display of the reference is its only name.
			place.PointOfCare = cmp.Or(place.PointOfCare, m.placeName(where, where.partOf.display))
			break
		}
		if t.at < 0 {
			recordWhole(&place, nameElsewhere(&t), name, physical)
			break
		}
		where = &m.resources[t.at]
		above := m.called(where, where)
		switch kind := where.physical; {
		case kind == "ro" && physical == "bd" && above != "":
			place.Room, place.Bed = above, name
			physical = kind
		case wards[kind] && place.PointOfCare == "":
			place.PointOfCare = above
		}
	}
	return place
}

// recordWhole records that a location is part of a FHIR Location outside the body. For a bed, that Location may be
// the room.
func recordWhole(place *acuity.Location, elsewhere, name, physical string) {
	switch {
	case elsewhere == "":
	case physical == "bd":
		place.Room, place.Bed, place.Label = elsewhere, name, ""
	case place.PointOfCare == "":
		place.PointOfCare = elsewhere
	}
}

// cutBed splits "LDR04, Bed 1" into room and bed.
func cutBed(name string) (room, bed string, ok bool) {
	i := strings.LastIndexByte(name, ',')
	if i <= 0 {
		return name, "", false
	}
	rest := strings.TrimSpace(name[i+1:])
	if len(rest) < 3 || !strings.EqualFold(rest[:3], "bed") || len(rest) > 3 && rest[3] != ' ' && rest[3] != '-' {
		return name, "", false
	}
	return strings.TrimSpace(name[:i]), strings.Trim(rest[3:], " -"), true
}

// placeName reads the name of a place and shortens it to maxPlace bytes, with a warning.
func (m *mapper) placeName(r *resource, p span) string {
	name := m.string(p, maxText)
	if len(name) > maxPlace {
		m.warn(r, "location_cut", "location")
	}
	return cutPlace(name)
}

// called returns the first available of a Location's name, identifier and id.
func (m *mapper) called(r, where *resource) string {
	if name := m.placeName(r, where.name); name != "" {
		return name
	}
	name := m.identifierOf(where, "")
	if name == "" {
		name = printable(string(m.idOf(where)))
	}
	return cutPlace(name)
}
