package registry

import (
	"svc/acuity"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/acuity/score"
)

// Own reports whether only a location makes the room known.
func (r *Room) Own() bool { return r.Registered && r.Room != "" }

// LocationSpan is a time that a visit spends in one place, by ADT and census together.
type LocationSpan struct {
	location.Placement
	From, To acuity.Instant // To 0: still
}

// Holds reports whether the span covers t.
func (s LocationSpan) Holds(t acuity.Instant) bool { return s.From <= t && (s.To == 0 || t < s.To) }

// Candidate is a visit that may be the occupant whom a census sees without a visit.
type Candidate struct {
	V    *Visit
	From acuity.Instant
}

// OccupantEnd returns when the occupant without a visit turned out to be a visit, or
// left for one; 0: not yet.
func (r *Room) OccupantEnd() acuity.Instant {
	if r.Occupant == nil {
		return 0
	}
	for i := range r.Stays {
		s := &r.Stays[i]
		if s.V == r.OccupantVisit && s.Holds(r.Occupant.Last) && !s.V.Timeline.Newborn {
			return max(s.From, 1)
		}
		if s.From > r.Occupant.Last && !s.V.Timeline.Newborn {
			return s.From
		}
	}
	return 0
}

// Anonymous reports whether an occupant without a visit is in the room now.
func (r *Room) Anonymous() bool {
	return r.Occupant != nil && r.OccupantEnd() == 0 && r.OccupantVisit == nil
}

// Known reports whether ADT or a census knows the room.
func (r *Room) Known() bool {
	return r.Listed || r.Placed || r.Occupant != nil || len(r.Stays) > 0 || len(r.Past) > 0
}

// RoomStay is the presence of a visit in a room.
type RoomStay struct {
	V        *Visit
	From, To acuity.Instant // To 0: still
}

// Holds reports whether the stay covers t.
func (s RoomStay) Holds(t acuity.Instant) bool { return s.From <= t && (s.To == 0 || t < s.To) }

// Room is a room with what is derived for it.
type Room struct {
	facts.RoomState
	Statements    evidence.Statements // statements about whoever is here
	Stays         []RoomStay          // of the visits that are or were here, by arrival
	Here          []RoomStay          // the stays that go on
	Candidates    []Candidate         // visits that may be the occupant without a visit
	OccupantVisit *Visit              // the visit that is the occupant
	InUnit        bool
	Belongs       bool               // to the unit, unless too many rooms do
	CrowdedOut    bool               // too many rooms belong to the unit, and this one is not in use
	Judged        bool               // anew in this step
	Compared      bool               // the verdict may differ from the step before
	Before        *score.RoomVerdict // of a compared room; nil: it was not in the unit
	Cache         *evidence.Cache    // of the occupant without a visit, or of the room itself
	Chart         acuity.RoomChart
	ChartAt       int // index of the chart in that of the unit, if it is in the unit
	Marks         mark
}
