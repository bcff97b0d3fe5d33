package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/location"
)

// chooseOccupants decides which visits are the occupants that censuses saw without a
// visit. If a room has several candidates, the one that came last wins.
func (l *stayBuilder) chooseOccupants() {
	for i := 0; i < len(l.work.visits.with(touched)); i++ {
		v := l.work.visits.with(touched)[i]
		r, from := l.occupantCandidate(v)
		if v.candidateFor != nil {
			v.candidateFor.candidates = slices.DeleteFunc(v.candidateFor.candidates, func(c candidate) bool { return c.v == v })
			l.work.markRoom(v.candidateFor, touched)
		}
		v.candidateFor = r
		if r != nil {
			r.candidates = append(r.candidates, candidate{v, from})
			l.work.markRoom(r, touched)
		}
	}
	for _, r := range l.work.rooms.with(touched) {
		var best candidate
		for _, c := range r.candidates {
			if best.v == nil || cmp.Or(cmp.Compare(c.from, best.from), cmp.Compare(c.v.ID, best.v.ID)) > 0 {
				best = c
			}
		}
		if r.Occupant == nil {
			best.v = nil
		}
		if r.occupantVisit == best.v {
			continue
		}
		if old := r.occupantVisit; old != nil && old.occupantOf == r {
			old.occupantOf = nil
			l.work.markVisit(old, touched)
		}
		r.occupantVisit = best.v
		if best.v != nil {
			best.v.occupantOf = r
			l.work.markVisit(best.v, touched)
		}
		l.work.markRoom(r, touched)
	}
}

// candidate is a visit that may be the occupant whom a census sees without a visit.
type candidate struct {
	v    *visit
	from acuity.Instant
}

// occupantCandidate returns the room where the visit may be the occupant whom the newest
// census saw without a visit. It is the room where ADT has the visit at that census, if
// the visit did not come before the occupant.
func (l *stayBuilder) occupantCandidate(v *visit) (*room, acuity.Instant) {
	if !l.facts.HasCensus || v.timeline.Newborn || shownAt(v, l.facts.CensusAt) {
		return nil, 0
	}
	for i := range v.timeline.Stays {
		s := &v.timeline.Stays[i]
		if !(locationSpan{From: s.From, To: s.To}).holds(l.facts.CensusAt) {
			continue
		}
		p := l.locations.table.Placement(s.Place())
		if p.Kind != location.InRoom {
			return nil, 0
		}
		r := l.room(p.Room)
		if r == nil || r.Occupant == nil || r.Occupant.Last != l.facts.CensusAt || s.Last < r.Occupant.From {
			return nil, 0
		}
		return r, s.From
	}
	return nil, 0
}

// occupantEnd returns when the occupant without a visit turned out to be a visit, or
// left for one; 0: not yet.
func (r *room) occupantEnd() acuity.Instant {
	if r.Occupant == nil {
		return 0
	}
	for i := range r.stays {
		s := &r.stays[i]
		if s.v == r.occupantVisit && s.holds(r.Occupant.Last) && !s.v.timeline.Newborn {
			return max(s.From, 1)
		}
		if s.From > r.Occupant.Last && !s.v.timeline.Newborn {
			return s.From
		}
	}
	return 0
}

// anonymous reports whether an occupant without a visit is in the room now.
func (r *room) anonymous() bool {
	return r.Occupant != nil && r.occupantEnd() == 0 && r.occupantVisit == nil
}

// giveOccupantTo gives a visit what censuses said about the occupant of a room.
func (t *censusIntake) giveOccupantTo(v *visit, r *room) {
	u := t.unit
	o := r.Occupant
	v.Facts = v.censusFacts()
	s := o.CensusStay
	for _, sp := range v.spans {
		if sp.Kind == location.InRoom && sp.Room == r.ID && sp.holds(o.Last) {
			s.From = max(s.From, min(sp.From, s.First))
			s.First = max(s.First, min(sp.From, s.Last))
		}
	}
	v.addStay(s)
	u.indexKnown(v)
	u.weigh(v)
	r.Occupant, r.occupantVisit, v.occupantOf = nil, nil, nil
	u.recordFact(v)
	u.work.markVisit(v, unsaved|touched)
	u.work.markRoom(r, unsaved|touched)
}

// endOccupant ends the stay of an occupant without a visit.
func (t *censusIntake) endOccupant(r *room) {
	if r.Occupant == nil {
		return
	}
	s := r.Occupant.CensusStay
	s.To = t.at
	if end := r.occupantEnd(); end != 0 {
		s.To = min(s.To, end)
	}
	r.Occupant = nil
	if n := len(r.Past); n >= capPast {
		r.Past = slices.Delete(r.Past, 0, n-capPast+1)
	}
	r.Past = append(r.Past, s)
	t.unit.work.markRoom(r, unsaved|touched)
}
