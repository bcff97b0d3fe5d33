package acuity

// UnitNumbers are the numbers that the axes of a unit are computed from. A forecast asks
// with them how a unit would stand. They leave out the skill axis, patients without a
// room and rooms with two patients.
type UnitNumbers struct {
	Required Demand // of all rooms
	Single   Demand // of the rooms with one nurse or more
	Score    int64  // of all rooms
	STAT     int32  // rooms with a factor of class 4
	Occupied int32
	Rooms    int32 // that may be used; 0: unknown, no capacity axis
	Boarders int32
	Moves    int32 // of the last 120 min
	Nurses   int32 // on duty; -1: unknown
	Call     Tristate
}

// Level returns the level of a unit with these numbers, by the axes of the verdict.
func (g *UnitNumbers) Level() Level {
	var readings [AxisCount]axisReading
	return g.readAxes(&readings)
}

// Driving returns the level and the axis that drives it.
func (g *UnitNumbers) Driving() (Level, Axis) {
	var readings [AxisCount]axisReading
	top, d := g.readAxes(&readings), driver{}
	for i := range readings {
		if r := &readings[i]; r.known && r.level == top {
			d.see(Axis(i), r.level, r.pressure())
		}
	}
	return d.level, d.axis
}

// readAxes fills in the axes, and returns the worst level of the known ones.
func (g *UnitNumbers) readAxes(readings *[AxisCount]axisReading) Level {
	t := axisInput{
		roomCounts: roomCounts{
			required: g.Required, single: g.Single, score: g.Score, stat: int64(g.STAT),
			occupied: int64(g.Occupied), busy: int64(g.Occupied), boarders: int64(g.Boarders),
		},
		rooms: int64(g.Rooms), census: g.Rooms > 0, moves: int64(g.Moves),
		staffed: g.Nurses >= 0, nurses: int64(max(g.Nurses, 0)), call: g.Call == Yes,
	}
	t.readAxes(readings)
	top := LevelGreen
	for i := range readings {
		if readings[i].known {
			top = max(top, readings[i].level)
		}
	}
	return top
}

// Numbers returns the numbers of a unit from its snapshot.
func SumSnapshot(s *Snapshot) UnitNumbers {
	g := UnitNumbers{
		STAT: s.Class4[0], Occupied: s.Occupied, Rooms: s.Rooms, Boarders: s.Boarders,
		Moves: s.Moves, Nurses: s.Nurses, Call: s.Call,
	}
	for i := range s.Visits {
		v := &s.Visits[i]
		d := Demand(v.Demand[0])
		g.Required += d
		if d >= Nurse {
			g.Single += d
		}
		g.Score += int64(v.Score[0])
	}
	return g
}
