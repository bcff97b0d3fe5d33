package registry

import (
	"svc/acuity"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/acuity/score"
)

// IsOwn reports whether the room is known only from the locations in ADT events.
func (r *Room) IsOwn() bool { return r.Registered && r.Room != "" }

// LocationSpan is a time span that a visit spends in one place, according to ADT and census together.
type LocationSpan struct {
	location.Placement
	From, To acuity.Instant // To is 0 if the visit is still there
}

// Holds reports whether the span covers t.
func (s LocationSpan) Holds(t acuity.Instant) bool { return s.From <= t && (s.To == 0 || t < s.To) }

// Candidate is a visit whose patient may be the occupant whom a census reports without a visit.
type Candidate struct {
	V    *Visit
	From acuity.Instant
}

// OccupantEnd returns when the room's occupant without a visit was identified as the patient of a visit or, if that
// visit is not in the room, when another mother arrived after the last census that reported the occupant. It returns
// 0 if neither has happened or there is no such occupant.
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

// IsKnown reports whether a census lists the room, or ADT or a census has reported a patient in it.
func (r *Room) IsKnown() bool {
	return r.Listed || r.Placed || r.Occupant != nil || len(r.Stays) > 0 || len(r.Past) > 0
}

// RoomStay is the presence of a visit in a room.
type RoomStay struct {
	V        *Visit
	From, To acuity.Instant // To is 0 if the visit is still there
}

// Holds reports whether the stay covers t.
func (s RoomStay) Holds(t acuity.Instant) bool { return s.From <= t && (s.To == 0 || t < s.To) }

// Room is a room's facts and derived state.
type Room struct {
	facts.RoomState
	Statements    evidence.Statements // statements about the patients in the room
	Stays         []RoomStay          // stays of current and former visits, in order of arrival
	Here          []RoomStay          // current stays
	Candidates    []Candidate         // visits whose patient may be the occupant whom a census reported without a visit
	OccupantVisit *Visit              // visit whose patient is that occupant, chosen from Candidates; nil: none
	InUnit        bool
	Belongs       bool               // whether the room belongs to the unit, before the limit on rooms is applied; see CrowdedOut
	CrowdedOut    bool               // whether the room is left out because too many rooms belong to the unit and this one is not in use
	Judged        bool               // whether the room was evaluated in this step
	Compared      bool               // whether the verdict may differ from that of the previous step
	Before        *score.RoomVerdict // previous verdict of a compared room; nil: the room was not in the unit
	Cache         *evidence.Cache    // evidence cache of the occupant without a visit, or of the room itself
	Chart         acuity.RoomChart
	ChartAt       int // index of the room's chart in the unit's chart, if the room is in the unit
	Marks         mark
}
