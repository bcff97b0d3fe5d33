package score

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// loadUnit is one nurse in the unit of a nurse's load: the demand of a room divides
// among up to twelve nurses without a rest.
const loadUnit = int64(catalogue.Nurse) * 27_720

// skill is what the roster says about the rooms.
type skill struct {
	nurses, novices, experts int64
	rated                    int64 // nurses whose skill is known
	load                     int64 // largest of a nurse, in loadUnits
	alone                    bool  // a class-4 room has novices only
}

// readSkill reads the skill mix of a roster. The demand of a room is divided among its assigned nurses. A
// room that the unit does not have counts nothing.
func readSkill(roster *acuity.Roster, rooms []RoomVerdict) skill {
	var s skill
	var store [128]uint8
	sharing, trained := store[:64], store[64:] // by room: nurses, and those who are no novices
	if len(rooms) > 64 {
		sharing, trained = make([]uint8, len(rooms)), make([]uint8, len(rooms))
	}
	s.nurses = int64(len(roster.Nurses))
	for i := range roster.Nurses {
		n := &roster.Nurses[i]
		switch {
		case n.Skill == 0:
			s.novices++
		case n.Skill >= 2:
			s.experts++
		}
		if n.Skill >= 0 {
			s.rated++
		}
		for j, id := range n.Rooms {
			at, ok := findRoom(rooms, id)
			if !ok || slices.Contains(n.Rooms[:j], id) || sharing[at] == 255 {
				continue
			}
			sharing[at]++
			if n.Skill != 0 {
				trained[at]++
			}
		}
	}
	for i := range roster.Nurses {
		load, list := int64(0), roster.Nurses[i].Rooms
		for j, id := range list {
			if at, ok := findRoom(rooms, id); ok && !slices.Contains(list[:j], id) {
				share := int64(rooms[at].Demand) * (loadUnit / int64(catalogue.Nurse))
				if sharing[at] > 1 { // a division costs more than all else here
					share /= int64(sharing[at])
				}
				load += share
			}
		}
		s.load = max(s.load, load)
	}
	for i := range rooms {
		s.alone = s.alone || rooms[i].STAT && sharing[i] > 0 && trained[i] == 0
	}
	return s
}

// findRoom returns the index of a room by its id. Where ids are consecutive, the id
// gives it.
func findRoom(rooms []RoomVerdict, id int32) (int, bool) {
	low, high := 0, len(rooms)
	if high > 0 {
		if at := int64(id) - int64(rooms[0].ID); at >= 0 && at < int64(high) && rooms[at].ID == id {
			return int(at), true
		}
	}
	for low < high {
		if mid := (low + high) / 2; rooms[mid].ID < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(rooms) && rooms[low].ID == id
}
