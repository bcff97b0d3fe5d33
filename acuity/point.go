package acuity

// point is when ADT says something about the place of a visit.
type point struct {
	At Instant
	// About is the time of the event that a cancel takes back, else 0. If that came
	// behind a census, what the census saw is as it was.
	About Instant
}

// thread fills the weaving of a visit.
func (u *Unit) thread(v *visit, w *weaving) {
	*w = weaving{spans: w.spans[:0], points: w.points[:0], voices: w.voices[:0], times: w.times[:0]}
	for i := range v.timeline.stays {
		s := &v.timeline.stays[i]
		w.spans = append(w.spans, sojourn{placement: u.table.of(s.place()), From: s.From, To: s.To})
		if s.Placing.saysNothingOfPlace(u.table.isWard) {
			continue // where a census saw the visit, it is (F2)
		}
		w.points = append(w.points, point{At: s.From})
		if s.Last > s.From {
			w.points = append(w.points, point{At: s.Last})
		}
		if s.To != 0 {
			w.points = append(w.points, point{At: s.To})
		}
	}
	if !u.facts.HasCensus && len(v.Stays) == 0 {
		return
	}
	for i := range v.timeline.events {
		switch t := &v.timeline.events[i]; {
		case t.event.Type == A03 && (t.disposition == eventApplied || t.disposition == eventClosedAlready):
			w.points = append(w.points, point{At: t.at}) // also of a visit that only a census has in a room
		case t.disposition == eventApplied && isCancel(t.event.Type):
			p := point{At: min(recorded(t.event), t.event.ReceivedAt), About: v.timeline.takenBack(t)}
			if _, there := w.byADT(p.At); there || t.event.Type != A13 { // it never makes anybody leave
				w.points = append(w.points, p)
			}
		}
	}
	u.listen(v, w)
}

// saysNothingOfPlace reports whether an event opens a visit, and no more: an Encounter
// without a location, or with a ward that may hold any room; a message without PV1-3.
func (e *event) saysNothingOfPlace(isWard func(*Location) bool) bool {
	if e.Place.IsZero() {
		return !e.PlaceNull
	}
	return e.Resource != "" && isWard != nil && isWard(e.Place)
}

// takenBack returns the time of the newest event that a cancel took back.
func (s *timeline) takenBack(c *appliedEvent) Instant {
	last := Instant(0)
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
