package schemas

import "svc/acuity"

// Snapshot is a unit at one full hour, with the id of its hospital.
type Snapshot struct {
	Hospital string
	Snapshot acuity.Snapshot
	// LevelSeconds is how many seconds the unit had each level in the hour before, the best level
	// first. Their sum is below 3600 if part of the hour was not observed. A backfill has none.
	LevelSeconds []int32
}

func hospitalSnapshotFields(c *Coder, s *Snapshot) {
	c.Text(&s.Hospital)
	snapshotFields(c, &s.Snapshot)
	List(c, &s.LevelSeconds, (*Coder).Int)
}

func snapshotFields(c *Coder, s *acuity.Snapshot) {
	c.Int(&s.Hour)
	c.Int(&s.Generation)
	c.Long(&s.Position)
	c.Int(&s.Backfill)
	c.Text(&s.RulesVersion)
	c.Bool(&s.Observed)
	List(c, &s.Visits, snapshotVisitFields)
	List(c, &s.Arrivals, snapshotArrivalFields)
	c.Int(&s.Moves)
	c.Int(&s.Occupied)
	c.Int(&s.Rooms)
	c.Int(&s.Boarders)
	class4 := s.Class4[:]
	List(c, &class4, (*Coder).Int)
	if copy(s.Class4[:], class4) < len(s.Class4) || len(class4) > len(s.Class4) {
		c.r.refuse("another number of hours")
	}
	c.Int(&s.Nurses)
	Enum(c, &s.Call, lastTristate)
	Enum(c, &s.Level, lastLevel)
}

func snapshotVisitFields(c *Coder, v *acuity.SnapshotVisit) {
	c.hash(&v.Visit)
	Enum(c, &v.Class, lastStageClass)
	c.Int(&v.Age)
	c.Fixed(v.Demand[:])
	c.Fixed(v.Score[:])
}

func snapshotArrivalFields(c *Coder, a *acuity.SnapshotArrival) {
	c.hash(&a.Visit)
	Enum(c, &a.Kind, lastArrivalKind)
}
