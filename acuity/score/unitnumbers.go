package score

import (
	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// UnitNumbers are the numbers from which the axes of a unit are computed. Forecasts use them to compute the level of a
// hypothetical unit. They do not cover the skill axis, patients without a room, or double occupancy.
type UnitNumbers struct {
	Required catalogue.Demand // total demand of all rooms
	Single   catalogue.Demand // total demand of the rooms that need at least one nurse
	Score    int64            // total score of all rooms
	STAT     int32            // number of rooms with a factor of class 4
	Occupied int32
	Rooms    int32 // number of rooms in use or available; 0: unknown, so the capacity axis is unknown
	Boarders int32
	Moves    int32 // moves in the last 120 min
	Nurses   int32 // nurses on duty; -1: unknown
	Call     acuity.Tristate
}

// Level returns the level of a unit with these numbers, computed from the same axes as the verdict.
func (g *UnitNumbers) Level() acuity.Level {
	var readings [acuity.AxisCount]axisReading
	return g.readAxes(&readings)
}

// Driving returns the level and the driving axis.
func (g *UnitNumbers) Driving() (acuity.Level, acuity.Axis) {
	var readings [acuity.AxisCount]axisReading
	top, d := g.readAxes(&readings), driver{}
	for i := range readings {
		if r := &readings[i]; r.known && r.level == top {
			d.consider(acuity.Axis(i), r.level, r.pressure())
		}
	}
	return d.level, d.axis
}

// readAxes fills in the readings and returns the highest level of the known axes.
func (g *UnitNumbers) readAxes(readings *[acuity.AxisCount]axisReading) acuity.Level {
	t := axisInput{
		roomCounts: roomCounts{
			required: g.Required, single: g.Single, score: g.Score, stat: int64(g.STAT),
			occupied: int64(g.Occupied), busy: int64(g.Occupied), boarders: int64(g.Boarders),
		},
		rooms: int64(g.Rooms), census: g.Rooms > 0, moves: int64(g.Moves),
		staffed: g.Nurses >= 0, nurses: int64(max(g.Nurses, 0)), call: g.Call == acuity.Yes,
	}
	t.readAxes(readings)
	top := acuity.LevelGreen
	for i := range readings {
		if readings[i].known {
			top = max(top, readings[i].level)
		}
	}
	return top
}

// SumSnapshot returns the unit numbers for a snapshot. A snapshot does not say which visits share a room, so Single
// is the total demand of the visits that need at least one nurse.
func SumSnapshot(s *acuity.Snapshot) UnitNumbers {
	g := UnitNumbers{
		STAT: s.Class4[0], Occupied: s.Occupied, Rooms: s.Rooms, Boarders: s.Boarders,
		Moves: s.Moves, Nurses: s.Nurses, Call: s.Call,
	}
	for i := range s.Visits {
		v := &s.Visits[i]
		d := catalogue.Demand(v.Demand[0])
		g.Required += d
		if d >= catalogue.Nurse {
			g.Single += d
		}
		g.Score += int64(v.Score[0])
	}
	return g
}

// roomCounts are the totals over the rooms of a unit.
type roomCounts struct {
	required catalogue.Demand // total demand of all rooms
	single   catalogue.Demand // total demand of the rooms that need at least one nurse
	score    int64
	stat     int64 // rooms with a factor of class 4
	occupied int64 // occupied rooms
	boarders int64
	doubles  int64
	assumed  int64
	stale    int64
	unnamed  int64 // rooms in which a tracing of a multiple gestation does not identify its fetus
	births   int64 // rooms with a patient who has a factor from the Labor or Cesarean section
	fatigue  int64 // rooms with a factor that marks the nurse as fatigued
	listed   int64 // rooms that count toward capacity
	busy     int64 // listed rooms that are occupied
	blocked  int64 // listed rooms that are blocked
}

// UnitSums contains the room totals. next is the next instant at which one of the rooms changes although no new facts
// arrive, or 0 if there is no such instant.
type UnitSums struct {
	roomCounts
	next acuity.Instant
}

// SumRooms returns the totals over rooms.
func SumRooms(rooms []RoomVerdict) UnitSums {
	var s UnitSums
	for i := range rooms {
		s.addRoom(&rooms[i])
		s.next = codes.Soonest(s.next, rooms[i].Until())
	}
	return s
}

// IsDue reports whether the totals are out of date at the given time, because a room has changed although no new
// facts have arrived.
func (s *UnitSums) IsDue(now acuity.Instant) bool { return s.next != 0 && s.next <= now }

// one returns 1 for true and 0 for false.
func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// addRoom adds a room to the totals.
func (s *roomCounts) addRoom(r *RoomVerdict) {
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
	s.unnamed += one(r.UnnamedFetus)
	s.occupied += one(r.Status == acuity.RoomOccupied)
	s.births += one(r.Birth)
	s.fatigue += one(r.fatigue)
	if r.listed {
		s.listed++
		s.busy += one(r.Status == acuity.RoomOccupied)
		s.blocked += one(r.Status == acuity.RoomBlocked)
	}
}
