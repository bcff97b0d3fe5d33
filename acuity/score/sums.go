package score

import (
	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// roomCounts is what the rooms of a unit add up to.
type roomCounts struct {
	required catalogue.Demand // of all rooms
	single   catalogue.Demand // of the rooms with one nurse or more
	score    int64
	stat     int64 // rooms with a factor of class 4
	occupied int64 // rooms
	boarders int64
	doubles  int64
	assumed  int64
	stale    int64
	births   int64 // rooms with a patient in Labor or Cesarean
	fatigue  int64 // rooms with a factor that marks the nurse as tired
	listed   int64 // rooms that count for capacity
	busy     int64 // occupied ones of them
	blocked  int64 // blocked ones of them
}

// UnitSums is roomCounts, and when time alone changes the first of the rooms; 0: never.
type UnitSums struct {
	roomCounts
	next acuity.Instant
}

// SumRooms adds up rooms.
func SumRooms(rooms []RoomVerdict) UnitSums {
	var s UnitSums
	for i := range rooms {
		s.count(&rooms[i])
		s.next = codes.Soonest(s.next, rooms[i].Until())
	}
	return s
}

// IsDue reports whether time alone has changed one of the rooms.
func (s *UnitSums) IsDue(now acuity.Instant) bool { return s.next != 0 && s.next <= now }

func (s *roomCounts) count(r *RoomVerdict) {
	one := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	s.required += r.Demand
	if r.Demand >= catalogue.Nurse {
		s.single += r.Demand
	}
	s.score += int64(r.Score)
	s.stat += one(r.STAT)
	s.boarders += one(r.Boarder)
	s.doubles += one(r.Double)
	s.assumed += one(r.Assumed)
	s.stale += one(r.Stale)
	s.occupied += one(r.Status == acuity.RoomOccupied)
	s.births += one(r.Birth)
	s.fatigue += one(r.fatigue)
	if r.listed {
		s.listed++
		s.busy += one(r.Status == acuity.RoomOccupied)
		s.blocked += one(r.Status == acuity.RoomBlocked)
	}
}
