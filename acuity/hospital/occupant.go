package hospital

import (
	"slices"

	"svc/acuity/location"
	"svc/acuity/registry"
)

// giveOccupantTo moves the census facts about a room's occupant, and the occupant's stay, to a visit.
func (t *censusIntake) giveOccupantTo(v *registry.Visit, r *registry.Room) {
	u := t.unit
	o := r.Occupant
	v.Facts = v.CensusFacts()
	s := o.CensusStay
	for _, sp := range v.Spans {
		if sp.Kind == location.InRoom && sp.Room == r.ID && sp.Holds(o.Last) {
			s.From = max(s.From, min(sp.From, s.First))
			s.First = max(s.First, min(sp.From, s.Last))
		}
	}
	v.AddStay(s)
	u.registry.IndexKnown(v)
	u.registry.UpdateSize(v)
	r.Occupant, r.OccupantVisit, v.OccupantOf = nil, nil, nil
	u.registry.RecordFact(v)
	u.registry.Work.MarkVisit(v, registry.Unsaved|registry.Touched)
	u.registry.Work.MarkRoom(r, registry.Unsaved|registry.Touched)
}

// endOccupant ends the stay of an occupant without a visit.
func (t *censusIntake) endOccupant(r *registry.Room) {
	if r.Occupant == nil {
		return
	}
	s := r.Occupant.CensusStay
	s.To = t.at
	if end := r.OccupantEnd(); end != 0 {
		s.To = min(s.To, end)
	}
	r.Occupant = nil
	if n := len(r.Past); n >= capPast {
		r.Past = slices.Delete(r.Past, 0, n-capPast+1)
	}
	r.Past = append(r.Past, s)
	t.unit.registry.Work.MarkRoom(r, registry.Unsaved|registry.Touched)
}
