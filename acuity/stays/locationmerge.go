package stays

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// censusSpan is a series of censuses that agree on where a visit is, or that the visit is absent. At is the time of
// the first of these censuses, and Last the time of the newest.
type censusSpan struct {
	At, Last acuity.Instant
	Place    location.Placement
	Absent   bool
}

// locationMerge merges the places that ADT and censuses report for one visit.
type locationMerge struct {
	adtSpans    []registry.LocationSpan // from ADT only
	points      []placePoint            // instants at which ADT reports the place
	censusSpans []censusSpan            // ascending
	early       registry.LocationSpan   // span before the first census, if ADT did not know the visit yet
	times       []acuity.Instant
}

// mergeLocations appends the location spans of a visit to dst. A census at T overrides every ADT event up to T. An
// ADT event after T, or a cancel recorded after T, overrides the census (docs/decisions.md#census-among-adt).
func (l *Builder) mergeLocations(v *registry.Visit, w *locationMerge, dst []registry.LocationSpan) []registry.LocationSpan {
	l.addADTSpans(v, w)
	v.LastPlaced = w.lastReported(v)
	if len(w.censusSpans) == 0 {
		return append(dst, w.adtSpans...)
	}
	w.times = w.times[:0]
	for _, s := range w.adtSpans {
		w.times = append(w.times, s.From)
		if s.To != 0 {
			w.times = append(w.times, s.To)
		}
	}
	for _, p := range w.points {
		w.times = append(w.times, p.At)
	}
	for _, q := range w.censusSpans {
		w.times = append(w.times, q.At)
	}
	if w.early.From != 0 {
		w.times = append(w.times, w.early.From)
	}
	slices.Sort(w.times)
	for _, t := range slices.Compact(w.times) {
		p, there := w.placementAt(t)
		last := len(dst) - 1
		if last >= 0 && dst[last].To == 0 {
			if there && dst[last].Placement == p {
				continue
			}
			dst[last].To = t
		}
		if there {
			dst = append(dst, registry.LocationSpan{Placement: p, From: t})
		}
	}
	return dst
}

// placementAt returns where the visit is at t, and reports whether the visit is in the hospital.
func (w *locationMerge) placementAt(t acuity.Instant) (location.Placement, bool) {
	q := -1
	for i := range w.censusSpans {
		if w.censusSpans[i].At <= t {
			q = i
		}
	}
	if q < 0 {
		if w.early.From != 0 && w.early.Holds(t) {
			return w.early.Placement, true
		}
		return w.adtPlacementAt(t)
	}
	lastReported := min(t, w.censusSpans[q].Last)
	for _, p := range w.points {
		if lastReported < p.At && p.At <= t && p.About <= lastReported {
			return w.adtPlacementAt(t)
		}
	}
	return w.censusSpans[q].Place, !w.censusSpans[q].Absent
}

// lastReported returns when ADT or a census last reported a place or the departure of the visit, or 1 if neither ever
// did. It returns 0 if ADT or a census currently has a place for the visit.
func (w *locationMerge) lastReported(v *registry.Visit) acuity.Instant {
	last := acuity.Instant(1)
	for _, s := range w.adtSpans {
		if s.To == 0 {
			return 0
		}
	}
	for _, p := range w.points {
		last = max(last, p.At)
	}
	for i := range v.Stays {
		if v.Stays[i].To == 0 {
			return 0
		}
		last = max(last, v.Stays[i].To)
	}
	return last
}

// adtPlacementAt returns where ADT alone places the visit at t, and reports whether ADT places the visit anywhere.
func (w *locationMerge) adtPlacementAt(t acuity.Instant) (location.Placement, bool) {
	for _, s := range slices.Backward(w.adtSpans) {
		if s.Holds(t) {
			return s.Placement, true
		}
	}
	return location.Placement{}, false
}

// addCensusSpans adds the spans that censuses report for the visit.
func (l *Builder) addCensusSpans(v *registry.Visit, w *locationMerge) {
	for i := range v.Stays {
		s := &v.Stays[i]
		place := location.Placement{Kind: location.InRoom, Room: s.Room}
		known := len(w.adtSpans) > 0 && w.adtSpans[0].From <= s.First
		if i == 0 && s.From < s.First && !known {
			w.early = registry.LocationSpan{Placement: place, From: max(s.From, 1), To: s.First}
		}
		w.censusSpans = append(w.censusSpans, censusSpan{At: s.First, Last: s.Last, Place: place})
		if s.To != 0 && (i+1 == len(v.Stays) || v.Stays[i+1].First != s.To) {
			w.censusSpans = append(w.censusSpans, censusSpan{At: s.To, Last: s.To, Absent: true})
		}
	}
	if !l.Facts.HasCensus || wasReportedAt(v, l.Facts.CensusAt) {
		return
	}
	at := l.Facts.CensusAt
	switch r := v.OccupantOf; {
	case r != nil:
		o := &r.Occupant.CensusStay
		place := location.Placement{Kind: location.InRoom, Room: r.ID}
		from := o.First
		if arrived, ok := w.arrival(at); ok && arrived > o.First {
			from = arrived // the earlier censuses reported a different patient
		} else if ok && o.From < arrived {
			w.early = registry.LocationSpan{Placement: place, From: max(o.From, 1), To: arrived}
		}
		w.censusSpans = append(w.censusSpans, censusSpan{At: from, Last: o.Last, Place: place})
	case v.Timeline.Newborn && l.isInOccupiedRoom(v, w, at):
	default:
		if _, there := w.adtPlacementAt(at); there && !v.Timeline.PlacedAbout(at) || !there && len(v.Stays) > 0 {
			w.censusSpans = append(w.censusSpans, censusSpan{At: at, Last: at, Absent: true})
		}
	}
}

// arrival returns the start of the ADT span that covers t.
func (w *locationMerge) arrival(t acuity.Instant) (acuity.Instant, bool) {
	for i := range w.adtSpans {
		if w.adtSpans[i].Holds(t) {
			return w.adtSpans[i].From, true
		}
	}
	return 0, false
}

// isInOccupiedRoom reports whether the newborn v counts as present at the time of the newest census, although the
// census does not list it. This is the case if ADT places the newborn in a room that the census reports as occupied,
// in a room in which its mother is or was, or in a place that is not a room of the unit. A census lists rooms and
// rarely lists a newborn separately.
func (l *Builder) isInOccupiedRoom(v *registry.Visit, w *locationMerge, at acuity.Instant) bool {
	p, there := w.adtPlacementAt(at)
	if !there {
		return false
	}
	if p.Kind != location.InRoom {
		return true
	}
	if r := l.Room(p.Room); r != nil && r.Listed && r.Status == acuity.RoomOccupied {
		return true
	}
	m := l.motherOf(v)
	return m != nil && slices.ContainsFunc(m.Spans, func(s registry.LocationSpan) bool { return s.Placement == p })
}

// wasReportedAt reports whether the census at t reported the visit.
func wasReportedAt(v *registry.Visit, t acuity.Instant) bool {
	n := len(v.Stays)
	return n > 0 && v.Stays[n-1].Last == t && v.Stays[n-1].To == 0
}

// appendWithMother appends the spans of a newborn to dst: the newborn's own spans, then the mother's spans from the
// time at which she leaves the shared room (docs/decisions.md#newborn-location). A newborn without a room is where its
// mother is, unless it left the unit.
func appendWithMother(own, mothers []registry.LocationSpan, from, to acuity.Instant, dst []registry.LocationSpan) []registry.LocationSpan {
	if n := len(own); n > 0 && own[n-1].Kind == location.Outside {
		return append(dst, own...)
	}
	leaves := from // time from which the newborn follows its mother
	if n := len(own); n > 0 && own[n-1].Kind == location.InRoom {
		home := own[n-1]
		if home.To != 0 {
			return append(dst, own...)
		}
		leaves = 0
		for _, m := range mothers {
			if m.Placement == home.Placement && m.To != 0 && m.To > home.From {
				leaves = m.To
				break
			}
		}
		if leaves == 0 {
			return append(dst, own...)
		}
		dst = append(dst, own...)
		dst[len(dst)-1].To = leaves
	}
	for _, m := range mothers {
		if m.To != 0 && m.To <= leaves || to != 0 && m.From >= to {
			continue
		}
		m.From = max(m.From, leaves)
		if to != 0 && (m.To == 0 || m.To > to) {
			m.To = to
		}
		dst = append(dst, m)
	}
	return dst
}

// placePoint is an instant at which ADT reports a visit's place.
type placePoint struct {
	At acuity.Instant
	// About is the time of the event to which a cancel refers, or 0 if the point is not a cancel. If that event is
	// later than a census, the cancel does not override the census, because the census was not affected by the event.
	About acuity.Instant
}

// addADTSpans fills w from the visit's timeline.
func (l *Builder) addADTSpans(v *registry.Visit, w *locationMerge) {
	*w = locationMerge{adtSpans: w.adtSpans[:0], points: w.points[:0], censusSpans: w.censusSpans[:0], times: w.times[:0]}
	for i := range v.Timeline.Stays {
		s := &v.Timeline.Stays[i]
		w.adtSpans = append(w.adtSpans, registry.LocationSpan{Placement: l.Locations.Table.Placement(s.Place()), From: s.From, To: s.To})
		if s.Placing.NamesNoPlace(l.Locations.Table.IsWard) {
			continue // the census decides where the visit is (docs/decisions.md#encounter-without-location)
		}
		w.points = append(w.points, placePoint{At: s.From})
		if s.Last > s.From {
			w.points = append(w.points, placePoint{At: s.Last})
		}
		if s.To != 0 {
			w.points = append(w.points, placePoint{At: s.To})
		}
	}
	if !l.Facts.HasCensus && len(v.Stays) == 0 {
		return
	}
	for i := range v.Timeline.Events {
		switch t := &v.Timeline.Events[i]; {
		case t.Event.Type == acuity.A03 && (t.Disposition == adt.Applied || t.Disposition == adt.AlreadyDischarged):
			w.points = append(w.points, placePoint{At: t.At}) // added even if only a census places the visit in a room
		case t.Disposition == adt.Applied && adt.IsCancel(t.Event.Type):
			p := placePoint{At: min(t.Event.Recorded(), t.Event.ReceivedAt), About: v.Timeline.TakenBack(t)}
			if _, there := w.adtPlacementAt(p.At); there || t.Event.Type != acuity.A13 { // an A13 never makes a patient leave
				w.points = append(w.points, p)
			}
		}
	}
	l.addCensusSpans(v, w)
}
