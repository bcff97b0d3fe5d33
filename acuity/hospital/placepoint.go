package hospital

import (
	"svc/acuity"
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
	for i := range v.timeline.stays {
		s := &v.timeline.stays[i]
		w.adtSpans = append(w.adtSpans, locationSpan{placement: l.locations.table.placementOf(s.place()), From: s.From, To: s.To})
		if s.Placing.saysNothingOfPlace(l.locations.table.isWard) {
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
	for i := range v.timeline.events {
		switch t := &v.timeline.events[i]; {
		case t.event.Type == acuity.A03 && (t.disposition == eventApplied || t.disposition == eventClosedAlready):
			w.points = append(w.points, placePoint{At: t.at}) // also if only a census has the visit in a room
		case t.disposition == eventApplied && isCancel(t.event.Type):
			p := placePoint{At: min(recorded(t.event), t.event.ReceivedAt), About: v.timeline.takenBack(t)}
			if _, there := w.adtPlacementAt(p.At); there || t.event.Type != acuity.A13 { // an A13 never makes a patient leave
				w.points = append(w.points, p)
			}
		}
	}
	l.addCensusSpans(v, w)
}

// saysNothingOfPlace reports whether an event only opens a visit: an Encounter without a
// location, or with a ward that may hold any room; a message without PV1-3.
func (e *event) saysNothingOfPlace(isWard func(*acuity.Location) bool) bool {
	if e.Place.IsZero() {
		return !e.PlaceNull
	}
	return e.Resource != "" && isWard != nil && isWard(e.Place)
}

// takenBack returns the time of the newest event that a cancel took back.
func (s *timeline) takenBack(c *appliedEvent) acuity.Instant {
	last := acuity.Instant(0)
	for i := range s.events {
		t, key := &s.events[i], c.event.Cancels
		if t.disposition != eventCancelled || !cancels(c.event.Type, t.event.Type) {
			continue
		}
		if key == 0 && t.at <= c.at || key != 0 && sameTime(t.event.At, t.event.Precision, key, c.event.CancelsPrecision) {
			last = max(last, t.at)
		}
	}
	return last
}
