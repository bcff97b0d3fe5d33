package stays

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// ChooseOccupants decides, for each room in which a census reported an occupant without a visit, which visit's
// patient is that occupant. If a room has several candidates, the candidate who arrived last is chosen.
func (l *Builder) ChooseOccupants() {
	for i := 0; i < len(l.Work.Visits.With(registry.Touched)); i++ {
		v := l.Work.Visits.With(registry.Touched)[i]
		r, from := l.occupantCandidate(v)
		if v.CandidateFor != nil {
			v.CandidateFor.Candidates = slices.DeleteFunc(v.CandidateFor.Candidates, func(c registry.Candidate) bool { return c.V == v })
			l.Work.MarkRoom(v.CandidateFor, registry.Touched)
		}
		v.CandidateFor = r
		if r != nil {
			r.Candidates = append(r.Candidates, registry.Candidate{V: v, From: from})
			l.Work.MarkRoom(r, registry.Touched)
		}
	}
	for _, r := range l.Work.Rooms.With(registry.Touched) {
		var best registry.Candidate
		for _, c := range r.Candidates {
			if best.V == nil || cmp.Or(cmp.Compare(c.From, best.From), cmp.Compare(c.V.ID, best.V.ID)) > 0 {
				best = c
			}
		}
		if r.Occupant == nil {
			best.V = nil
		}
		if r.OccupantVisit == best.V {
			continue
		}
		if old := r.OccupantVisit; old != nil && old.OccupantOf == r {
			old.OccupantOf = nil
			l.Work.MarkVisit(old, registry.Touched)
		}
		r.OccupantVisit = best.V
		if best.V != nil {
			best.V.OccupantOf = r
			l.Work.MarkVisit(best.V, registry.Touched)
		}
		l.Work.MarkRoom(r, registry.Touched)
	}
}

// occupantCandidate returns the room in which the visit may be the occupant whom the newest census reported without a
// visit, and the start of the visit's stay there. This is the room in which ADT places the visit at the time of that
// census. There is no such room if ADT last reported the visit there before the occupant's arrival.
func (l *Builder) occupantCandidate(v *registry.Visit) (*registry.Room, acuity.Instant) {
	if !l.Facts.HasCensus || v.Timeline.Newborn || wasReportedAt(v, l.Facts.CensusAt) {
		return nil, 0
	}
	for i := range v.Timeline.Stays {
		s := &v.Timeline.Stays[i]
		if !(registry.LocationSpan{From: s.From, To: s.To}).Holds(l.Facts.CensusAt) {
			continue
		}
		p := l.Locations.Table.Placement(s.Place())
		if p.Kind != location.InRoom {
			return nil, 0
		}
		r := l.Room(p.Room)
		if r == nil || r.Occupant == nil || r.Occupant.Last != l.Facts.CensusAt || s.Last < r.Occupant.From {
			return nil, 0
		}
		return r, s.From
	}
	return nil, 0
}
