package score

import (
	"svc/acuity"
	"svc/acuity/catalogue"
)

// UnitNumbers are the numbers that the axes of a unit are computed from. A forecast asks
// with them how a unit would stand. They leave out the skill axis, patients without a
// room and rooms with two patients.
type UnitNumbers struct {
	Required catalogue.Demand // of all rooms
	Single   catalogue.Demand // of the rooms with one nurse or more
	Score    int64            // of all rooms
	STAT     int32            // rooms with a factor of class 4
	Occupied int32
	Rooms    int32 // that may be used; 0: unknown, no capacity axis
	Boarders int32
	Moves    int32 // of the last 120 min
	Nurses   int32 // on duty; -1: unknown
	Call     acuity.Tristate
}

// Level returns the level of a unit with these numbers, by the axes of the verdict.
func (g *UnitNumbers) Level() acuity.Level {
	var readings [acuity.AxisCount]axisReading
	return g.readAxes(&readings)
}

// Driving returns the level and the axis that drives it.
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

// readAxes fills in the axes, and returns the worst level of the known ones.
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

// SumSnapshot returns the numbers of a unit from its snapshot.
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
