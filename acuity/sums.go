package acuity

// counts is what the rooms of a unit come to.
type counts struct {
	required Demand // of all rooms
	single   Demand // of the rooms with one nurse or more
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

// sums is counts, and when time alone changes the first of the rooms; 0: never.
type sums struct {
	counts
	next Instant
	late bool // next may be that of a room that has another by now
}

// sumsOf returns what rooms come to.
func sumsOf(rooms []RoomVerdict) sums {
	var s sums
	for i := range rooms {
		s.add(&rooms[i])
	}
	return s
}

// add counts a room.
func (s *sums) add(r *RoomVerdict) {
	s.count(r, 1)
	s.next = Soonest(s.next, r.Until())
}

// drop takes a room out that was counted.
func (s *sums) drop(r *RoomVerdict) {
	s.count(r, -1)
	s.late = s.late || r.Until() == s.next && s.next != 0
}

// settle finds the next change of the rooms that are counted, if it was that of
// one that was taken out.
func (s *sums) settle(rooms []RoomVerdict) {
	if !s.late {
		return
	}
	s.late, s.next = false, 0
	for i := range rooms {
		s.next = Soonest(s.next, rooms[i].Until())
	}
}

// count counts a room so many times.
func (s *counts) count(r *RoomVerdict, times int64) {
	one := func(b bool) int64 {
		if b {
			return times
		}
		return 0
	}
	demand := r.Demand * Demand(times) //nolint:gosec // one, or less one
	s.required += demand
	if r.Demand >= Nurse {
		s.single += demand
	}
	s.score += int64(r.Score) * times
	s.stat += one(r.STAT)
	s.boarders += one(r.Boarder)
	s.doubles += one(r.Double)
	s.assumed += one(r.Assumed)
	s.stale += one(r.Stale)
	s.occupied += one(r.Status == RoomOccupied)
	s.births += one(r.Birth)
	s.fatigue += one(r.fatigue)
	if r.listed {
		s.listed += times
		s.busy += one(r.Status == RoomOccupied)
		s.blocked += one(r.Status == RoomBlocked)
	}
}
