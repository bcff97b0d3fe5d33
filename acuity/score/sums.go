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
	next  acuity.Instant
	stale bool // next may belong to a room that changed since
}

// SumRooms adds up rooms.
func SumRooms(rooms []RoomVerdict) UnitSums {
	var s UnitSums
	for i := range rooms {
		s.Add(&rooms[i])
	}
	return s
}

// Add adds a room.
func (s *UnitSums) Add(r *RoomVerdict) {
	s.count(r, 1)
	s.next = codes.Soonest(s.next, r.Until())
}

// Drop subtracts a room that was added.
func (s *UnitSums) Drop(r *RoomVerdict) {
	s.count(r, -1)
	s.stale = s.stale || r.Until() == s.next && s.next != 0
}

// IsDue reports whether time alone has changed one of the rooms.
func (s *UnitSums) IsDue(now acuity.Instant) bool { return s.next != 0 && s.next <= now }

// RecomputeNext recomputes the next change after the room that determined it was
// dropped.
func (s *UnitSums) RecomputeNext(rooms []RoomVerdict) {
	if !s.stale {
		return
	}
	s.stale, s.next = false, 0
	for i := range rooms {
		s.next = codes.Soonest(s.next, rooms[i].Until())
	}
}

// count adds a room so many times.
func (s *roomCounts) count(r *RoomVerdict, times int64) {
	one := func(b bool) int64 {
		if b {
			return times
		}
		return 0
	}
	demand := r.Demand * catalogue.Demand(times) //nolint:gosec // one, or less one
	s.required += demand
	if r.Demand >= catalogue.Nurse {
		s.single += demand
	}
	s.score += int64(r.Score) * times
	s.stat += one(r.STAT)
	s.boarders += one(r.Boarder)
	s.doubles += one(r.Double)
	s.assumed += one(r.Assumed)
	s.stale += one(r.Stale)
	s.occupied += one(r.Status == acuity.RoomOccupied)
	s.births += one(r.Birth)
	s.fatigue += one(r.fatigue)
	if r.listed {
		s.listed += times
		s.busy += one(r.Status == acuity.RoomOccupied)
		s.blocked += one(r.Status == acuity.RoomBlocked)
	}
}
