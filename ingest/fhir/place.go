package fhir

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
)

// move is a place that the patient comes to.
type move struct {
	at        acuity.Instant
	precision acuity.Precision
	place     acuity.Location
}

// stay is a location of an Encounter, read.
type stay struct {
	move
	end      acuity.Instant
	standing standing
	current  bool
	level    string // physical type, if it is known
}

// isBed reports whether it is a bed of which nothing tells the room.
func (s stay) isBed() bool { return s.level == "bd" && s.place.Bed == "" }

// standing is how much a location claims to be where the patient is now (F10).
type standing uint8

const (
	left      standing = iota // completed, or with an end
	openEnded                 // without an end
	active                    // it says so
)

// moves returns the places of an Encounter in the order of time, the first of them
// at its start; a single one without a place if none is known (F2).
func (d *decoder) moves(r *resource, e *acuity.Event, start acuity.Instant) []move {
	stays, ward := d.stays(r)
	if len(stays) == 0 {
		return []move{{place: acuity.Location{PointOfCare: ward}}}
	}
	now := stays[0]
	at := 0
	for i, s := range stays {
		if s.standing > now.standing || s.standing == now.standing && s.at >= now.at {
			now, at = s, i
		}
	}
	if now.at == 0 && len(stays) > 1 { // its time is not said: it is the newest
		now.at, now.precision = d.instead(r, e, "location.period.start")
	}
	now.at = max(now.at, start)
	now.current = true
	stays[at] = now
	// Of the others only those tell something that say when.
	stays = slices.DeleteFunc(stays, func(s stay) bool { return s.at == 0 })
	slices.SortStableFunc(stays, func(a, b stay) int { return cmp.Compare(max(a.at, start), max(b.at, start)) })
	moves := make([]move, 0, len(stays))
	passed := false          // now
	var here acuity.Location // of now
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
		case s.end > s.at: // a visit elsewhere, and back
			moves = append(moves, s.move)
			if i+1 == len(stays) || stays[i+1].at > s.end {
				moves = append(moves, move{s.end, acuity.Second, here})
			}
		}
	}
	return moves
}

// stays reads the locations of an Encounter at which the patient is or was, and
// the ward if one is named beside the rooms.
func (d *decoder) stays(r *resource) (stays []stay, ward string) {
	for i := range d.locations[r.firstLocation:r.lastLocation] {
		l := &d.locations[r.firstLocation:r.lastLocation][i]
		s := stay{standing: openEnded}
		switch string(d.bytes(l.status)) {
		case "planned", "reserved":
			continue
		case "active":
			s.standing = active
		case "completed":
			s.standing = left
		}
		place, level, ok := d.place(r, l)
		switch {
		case !ok:
			continue
		case wards[level]:
			if s.standing != left || ward == "" {
				ward = place.PointOfCare
			}
			continue
		}
		s.place, s.level = place, level
		s.at, s.precision = d.moment(r, l.during.start, "location.period.start")
		if s.end, _, ok = d.instant(l.during.end); ok && s.standing == openEnded {
			s.standing = left
		}
		stays = append(stays, s)
	}
	return withRooms(stays), ward
}

// withRooms leaves out each bed of which the room is named beside it, for the same
// time: a server may list the levels of one place, and the bed is in that room.
func withRooms(stays []stay) []stay {
	if !slices.ContainsFunc(stays, stay.isBed) {
		return stays
	}
	all := slices.Clone(stays)
	return slices.DeleteFunc(stays, func(bed stay) bool {
		return bed.isBed() && slices.ContainsFunc(all, func(s stay) bool {
			return s.level == "ro" && s.at == bed.at && s.standing == bed.standing
		})
	})
}

// wards are physical types (HL7 location-physical-type) that hold rooms.
var wards = map[string]bool{
	"si": true, "bu": true, "wi": true, "wa": true, "lvl": true, "area": true, "jdn": true, "rd": true,
}

// maxAbove is how far up a Location is looked for its room and its ward.
const maxAbove = 4

// place reads where a location is: what it is called here, else what the Location
// is called, else its number. A bed is a part of its room (clinical-input 3). A
// Location of another message is named, for what that tells, or will tell. The level
// is the physical type that is said of it.
func (d *decoder) place(r *resource, l *location) (place acuity.Location, level string, ok bool) {
	name := d.placeName(r, l.place.display)
	physical := string(d.bytes(l.physical))
	t, found := d.follow(&l.place, locationKind, r)
	var where *resource
	elsewhere := ""
	switch {
	case !found:
	case t.at >= 0:
		where = &d.resources[t.at]
		if physical == "" {
			physical = string(d.bytes(where.physical))
		}
		if name == "" {
			name = d.called(r, where)
		}
	default:
		if elsewhere = nameElsewhere(&t); name == "" {
			d.warn(r, "reference_unresolved", "location")
		}
	}
	switch {
	case name != "":
		place = d.within(where, name, physical)
		if elsewhere != "" && !wards[physical] {
			place.PointOfCare = elsewhere
		}
		return place, physical, true
	case elsewhere == "":
		return place, physical, false
	}
	place = acuity.Location{Room: elsewhere}
	if t.name != "" && len(t.logical) <= maxPlace {
		place.Label = t.logical
	}
	return place, physical, true
}

// nameElsewhere returns how a place names a Location that is not in the body; "" if
// the name is too long.
func nameElsewhere(t *target) string {
	name := acuity.LocationName + cmp.Or(strings.TrimPrefix(t.name, acuity.LocationName), t.logical)
	if len(name) > maxPlace {
		return ""
	}
	return name
}

// within returns the place of a name that a Location, if there is one, is of: with
// the room that a bed is in, and the ward that has it.
func (d *decoder) within(where *resource, name, physical string) acuity.Location {
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
		t, found := d.follow(&where.partOf, locationKind, where)
		if !found {
			// Of what has no Location of its own the name is all that there is.
			place.PointOfCare = cmp.Or(place.PointOfCare, d.placeName(where, where.partOf.display))
			break
		}
		if t.at < 0 {
			d.above(&place, nameElsewhere(&t), name, physical)
			break
		}
		where = &d.resources[t.at]
		above := d.called(where, where)
		switch kind := string(d.bytes(where.physical)); {
		case kind == "ro" && physical == "bd" && above != "":
			place.Room, place.Bed = above, name
			physical = kind
		case wards[kind] && place.PointOfCare == "":
			place.PointOfCare = above
		}
	}
	return place
}

// above notes what a place is a part of that is not in the body: a bed perhaps of
// its room.
func (*decoder) above(place *acuity.Location, elsewhere, name, physical string) {
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

// placeName reads the name of a place.
func (d *decoder) placeName(r *resource, p span) string {
	name := d.string(p, maxText)
	if len(name) > maxPlace {
		d.warn(r, "location_cut", "location")
		name = strings.TrimSpace(strings.ToValidUTF8(name[:maxPlace], ""))
	}
	return name
}

// called returns the name of a Location, else its identifier, else its id.
func (d *decoder) called(r, where *resource) string {
	if name := d.placeName(r, where.name); name != "" {
		return name
	}
	name := d.identifierOf(where, "")
	if name == "" {
		name = string(d.idOf(where))
	}
	return name[:min(len(name), maxPlace)]
}
