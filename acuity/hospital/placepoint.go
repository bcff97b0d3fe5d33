package hospital

import (
	"svc/acuity"
	"svc/acuity/adt"
)

// placePoint is an instant at which ADT says something about the place of a visit.
type placePoint struct {
	At acuity.Instant
	// About is the time of the event that a cancel takes back; 0: the point is no
	// cancel. If that event came behind a census, the census still holds.
	About acuity.Instant
}

// addADTSpans fills the merge of a visit from its timeline.
func (l *stayBuilder) addADTSpans(v *visit, w *locationMerge) {
	*w = locationMerge{adtSpans: w.adtSpans[:0], points: w.points[:0], censusSpans: w.censusSpans[:0], times: w.times[:0]}
	for i := range v.timeline.Stays {
		s := &v.timeline.Stays[i]
		w.adtSpans = append(w.adtSpans, locationSpan{Placement: l.locations.table.Placement(s.Place()), From: s.From, To: s.To})
		if s.Placing.NamesNoPlace(l.locations.table.IsWard) {
			continue // the census decides where the visit is (F2)
		}
		w.points = append(w.points, placePoint{At: s.From})
		if s.Last > s.From {
			w.points = append(w.points, placePoint{At: s.Last})
		}
		if s.To != 0 {
			w.points = append(w.points, placePoint{At: s.To})
		}
	}
	if !l.facts.HasCensus && len(v.Stays) == 0 {
		return
	}
	for i := range v.timeline.Events {
		switch t := &v.timeline.Events[i]; {
		case t.Event.Type == acuity.A03 && (t.Disposition == adt.Applied || t.Disposition == adt.AlreadyDischarged):
			w.points = append(w.points, placePoint{At: t.At}) // also if only a census has the visit in a room
		case t.Disposition == adt.Applied && adt.IsCancel(t.Event.Type):
			p := placePoint{At: min(t.Event.Recorded(), t.Event.ReceivedAt), About: v.timeline.TakenBack(t)}
			if _, there := w.adtPlacementAt(p.At); there || t.Event.Type != acuity.A13 { // an A13 never makes a patient leave
				w.points = append(w.points, p)
			}
		}
	}
	l.addCensusSpans(v, w)
}
