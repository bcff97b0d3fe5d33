package adt

import (
	"cmp"
	"slices"
	"strconv"

	"svc/acuity"
)

// JoinParts returns the events of a visit that a sender divides into several FHIR Encounters, ready for [Build]. The
// function isPart reports whether an event belongs to a part, which is an Encounter that is partOf another Encounter
// of the same visit. All other events form the whole.
//
// The end of a part does not end the visit; the end of the whole does. If no event of the whole opens the visit, the
// visit ends with its last part. The patient's location is the one named by the newest part in progress that names a
// location, or else the location of the whole. When that part ends, the patient returns to the location of the next
// newest part. A later location from HL7 or JSON takes effect even while parts are in progress.
func (how Options) JoinParts(events []Event, isPart func(*Event) bool) []Event {
	j := joiner{how: how}
	for i := range events {
		e := &events[i]
		if isPart(e) && !e.Void && e.Resource != "" {
			j.addPart(e)
		} else {
			j.whole = append(j.whole, *e)
		}
	}
	if len(j.parts) == 0 {
		return j.whole
	}
	j.known = Build(j.whole, how)
	return j.join()
}

// part is one Encounter that is partOf another Encounter of the same visit.
type part struct {
	resource string
	from, to acuity.Instant // start and end of the part; from is 0 if it is only planned, to is 0 if it has not ended
	events   []Event        // events of the part, in the order in which they apply
	end      *Event         // discharge of the part; nil: there is none
}

// joiner joins the parts of a visit.
type joiner struct {
	how   Options
	whole []Event
	parts []*part // ascending by start
	known Timeline
	out   []Event
}

// addPart adds an event of a part to j.parts.
func (j *joiner) addPart(e *Event) {
	i := slices.IndexFunc(j.parts, func(p *part) bool { return p.resource == e.Resource })
	if i < 0 {
		i = len(j.parts)
		j.parts = append(j.parts, &part{resource: e.Resource})
	}
	j.parts[i].events = append(j.parts[i].events, *e)
}

// opens reports whether events of type t open a visit or move the patient.
func opens(t acuity.EventType) bool {
	return t == acuity.A01 || t == acuity.A04 || t == acuity.A02 || t == acuity.A06 || t == acuity.A07
}

// join returns the events of the whole and of the parts, changed as [Options.JoinParts] describes.
func (j *joiner) join() []Event {
	for _, p := range j.parts {
		slices.SortFunc(p.events, func(a, b Event) int { return a.Compare(&b) })
		for i := range p.events {
			switch e := &p.events[i]; {
			case e.Type == acuity.A03:
				p.end, p.to = e, max(happenedAt(e), 1)
			case opens(e.Type) && p.from == 0:
				p.from = max(happenedAt(e), 1)
			}
		}
	}
	slices.SortFunc(j.parts, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.resource, b.resource))
	})
	hasWhole := len(j.known.Stays) > 0
	j.addWhole()
	j.addParts(hasWhole)
	if hasWhole {
		j.addReturns()
		return j.out
	}
	j.addReturns()
	if last := j.lastEnd(); last != nil {
		j.out = append(j.out, *last)
	}
	return j.out
}

// addWhole adds the events of the whole. A location in the whole's FHIR Encounter is ignored while a part with a
// location is in progress.
func (j *joiner) addWhole() {
	for _, e := range j.whole {
		if e.Resource != "" && !e.Void && opens(e.Type) && !e.NamesNoPlace(j.how.IsWard) && j.partAt(happenedAt(&e)) != nil {
			e = withoutLocation(e)
		}
		j.out = append(j.out, e)
	}
}

// withoutLocation returns a copy of an event without the location. An admission still opens the visit; a transfer
// becomes an update.
func withoutLocation(e Event) Event {
	e.Place, e.PlaceNull = noLocation, false
	if e.Type == acuity.A02 {
		e.Type = acuity.A08
	}
	return e
}

// addParts adds the events of the parts, except their discharges. If the whole opens the visit, a part does not open
// it or change its class. An event of a part does not move the patient after the end of the whole, or while a newer
// part determines the location.
func (j *joiner) addParts(hasWhole bool) {
	opened := false
	for _, p := range j.parts {
		for _, e := range p.events {
			at := happenedAt(&e)
			switch {
			case e.Type == acuity.A03:
				continue
			case !opens(e.Type):
			case j.endedAt(at), !e.NamesNoPlace(j.how.IsWard) && j.partAt(at) != p:
				e = withoutLocation(e)
				e.Type, e.Class = acuity.A08, 0
			case hasWhole || opened:
				e.Type = acuity.A02
				if e.NamesNoPlace(j.how.IsWard) {
					e.Type = acuity.A08
				}
				if hasWhole || e.Class != 'I' {
					e.Class = 0
				}
			default:
				opened = true
			}
			j.out = append(j.out, e)
		}
	}
}

// endedAt reports whether the whole had ended by t.
func (j *joiner) endedAt(t acuity.Instant) bool {
	stays := j.known.Stays
	if len(stays) == 0 || t < stays[0].From {
		return false
	}
	return !slices.ContainsFunc(stays, func(s Stay) bool { return s.From <= t && (s.To == 0 || t < s.To) })
}

// partAt returns the newest part in progress at t that names a location, or nil if there is none.
func (j *joiner) partAt(t acuity.Instant) *part {
	for _, p := range slices.Backward(j.parts) {
		if p.from != 0 && p.from <= t && (p.to == 0 || t < p.to) && p.placedAt(t, j.how) != nil {
			return p
		}
	}
	return nil
}

// placedAt returns the newest event of this part that placed the patient at or before t, or nil if there is none.
func (p *part) placedAt(t acuity.Instant, how Options) *Event {
	for i := range slices.Backward(p.events) {
		if e := &p.events[i]; opens(e.Type) && happenedAt(e) <= t && !e.NamesNoPlace(how.IsWard) {
			return e
		}
	}
	return nil
}

// addReturns adds a transfer at the end of each part that determined the patient's location. The destination of the
// transfer is the location that applies from then on. If no such location is known, the patient stays.
func (j *joiner) addReturns() {
	for _, p := range j.parts {
		if p.to == 0 || j.endedAt(p.to) {
			continue
		}
		last := p.placedAt(p.to, j.how)
		if last == nil || j.partAt(p.to-1) != p || j.placedSince(happenedAt(last), p.to) {
			continue
		}
		to := j.wholeAt(p.to)
		if next := j.partAt(p.to); next != nil {
			if to = next.placedAt(p.to, j.how); happenedAt(to) == p.to {
				continue // the event of the next part at this time already places the patient
			}
		}
		if to == nil {
			continue
		}
		back := *to
		back.ID += "@" + strconv.FormatInt(int64(p.to), 10)
		back.Type, back.At, back.Precision, back.RecordedAt, back.Class = acuity.A02, p.to, p.end.Precision, p.end.RecordedAt, 0
		if back.AtFrom != 0 {
			x := *back.extra
			x.AtFrom, x.AtTo, back.extra = 0, 0, &x
		}
		back.ReceivedAt = max(back.ReceivedAt, p.end.ReceivedAt)
		back.DiagnosisMode = acuity.DiagnosisNone
		j.out = append(j.out, back)
	}
}

// placedSince reports whether HL7 or JSON placed the patient in the interval (from, to].
func (j *joiner) placedSince(from, to acuity.Instant) bool {
	return slices.ContainsFunc(j.known.Stays, func(s Stay) bool {
		return s.Placing.Resource == "" && !s.Placing.NamesNoPlace(j.how.IsWard) && s.Last > from && s.From <= to
	})
}

// wholeAt returns the newest event of the whole that placed the patient at or before t, or nil if there is none.
func (j *joiner) wholeAt(t acuity.Instant) *Event {
	for i := range slices.Backward(j.known.Stays) {
		if s := &j.known.Stays[i]; s.From <= t && !s.Placing.NamesNoPlace(j.how.IsWard) {
			return s.Placing
		}
	}
	return nil
}

// lastEnd returns the discharge of the part that ends last. It returns nil if a part is in progress or no part has
// ended.
func (j *joiner) lastEnd() (last *Event) {
	for _, p := range j.parts {
		switch {
		case p.from == 0 && p.end == nil: // the part is only planned
		case p.end == nil:
			return nil
		case last == nil || last.Compare(p.end) < 0:
			last = p.end
		}
	}
	return last
}

// CountsAt returns the instant at which an event counts: the event time or the time of receipt, whichever is earlier.
func (e *Event) CountsAt() acuity.Instant { return happenedAt(e) }

// Opens reports whether events of this type open a visit or move the patient.
func (e *Event) Opens() bool { return opens(e.Type) }

// OpenAt reports whether the visit was open at t.
func (s *Timeline) OpenAt(t acuity.Instant) bool { return s.stayAt(t) != nil }

// stayAt returns the stay at t, or nil if the visit was not open.
func (s *Timeline) stayAt(t acuity.Instant) *Stay {
	for i := range slices.Backward(s.Stays) {
		if stay := &s.Stays[i]; stay.From <= t && (stay.To == 0 || t < stay.To) {
			return stay
		}
	}
	return nil
}

// IsIn reports whether the visit was in the room of location l at t. An empty location is not a room.
func (s *Timeline) IsIn(l *acuity.Location, t acuity.Instant, how Options) bool {
	stay := s.stayAt(t)
	if stay == nil || l.IsZero() || stay.Place().IsZero() {
		return false
	}
	n := builder{how: how}
	return n.sameRoom(stay.Place(), l)
}

// Target returns the time of the newest event that the given cancel cancels, or 0 if it cancels none.
func (s *Timeline) Target(cancel *Event) acuity.Instant {
	for i := range s.Events {
		t := &s.Events[i]
		if t.Event.ID == cancel.ID && t.Event.At == cancel.At && t.Event.Type == cancel.Type && t.Disposition == Applied {
			return max(s.TakenBack(t), 1)
		}
	}
	return 0
}
