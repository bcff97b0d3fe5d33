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

func hospitalSnapshotFields(c *coder, s *Snapshot) {
	c.text(&s.Hospital)
	snapshotFields(c, &s.Snapshot)
	list(c, &s.LevelSeconds, (*coder).int)
}

func snapshotFields(c *coder, s *acuity.Snapshot) {
	c.int(&s.Hour)
	c.int(&s.Generation)
	c.long(&s.Position)
	c.int(&s.Backfill)
	c.text(&s.RulesVersion)
	c.bool(&s.Observed)
	list(c, &s.Visits, snapshotVisitFields)
	list(c, &s.Arrivals, snapshotArrivalFields)
	c.int(&s.Moves)
	c.int(&s.Occupied)
	c.int(&s.Rooms)
	c.int(&s.Boarders)
	class4 := s.Class4[:]
	list(c, &class4, (*coder).int)
	if copy(s.Class4[:], class4) < len(s.Class4) || len(class4) > len(s.Class4) {
		c.r.refuse("another number of hours")
	}
	c.int(&s.Nurses)
	enum(c, &s.Call, lastTristate)
	enum(c, &s.Level, lastLevel)
}

func snapshotVisitFields(c *coder, v *acuity.SnapshotVisit) {
	c.hash(&v.Visit)
	enum(c, &v.Class, lastStageClass)
	c.int(&v.Age)
	c.fixed(v.Demand[:])
	c.fixed(v.Score[:])
}

func snapshotArrivalFields(c *coder, a *acuity.SnapshotArrival) {
	c.hash(&a.Visit)
	enum(c, &a.Kind, lastArrivalKind)
}
