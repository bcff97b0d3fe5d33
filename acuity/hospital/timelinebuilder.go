package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
)

// foldedID begins the identities of the events that replace folded ones (R10). No other
// identity begins so, because they are pseudonyms.
const foldedID = "folded"

// timelineBuilder applies the events of one visit in order.
type timelineBuilder struct {
	*timeline
	how timelineOptions

	stay     int16 // index of the current stay; -1: not open
	reasons  acuity.Reasons
	lastMove *event // newest event counted for turnover
}

// buildTimeline returns the timeline of the events of one visit. It depends on the set of
// events alone, not on their order. The timeline keeps pointers to the events, so they
// must not change afterwards.
func buildTimeline(events []event, how timelineOptions) timeline {
	var s timeline
	s.build(events, how)
	return s
}

// build replaces the timeline by that of the events. It reuses the memory, because each
// event of a visit rebuilds its timeline.
func (s *timeline) build(events []event, how timelineOptions) {
	clear(s.stays) // they point at old events
	*s = timeline{events: s.events[:0], stays: s.stays[:0], moves: s.moves[:0], diagnoses: s.diagnoses[:0]}
	n := timelineBuilder{timeline: s, how: how, stay: -1}
	n.line(events)
	n.cancel()
	for i := range n.events {
		t := &n.events[i]
		if t.disposition == eventApplied && !isCancel(t.event.Type) {
			n.apply(t)
		}
		t.stay, t.class, t.service, t.reasons = n.stay, n.class, n.service, n.reasons
		t.birth, t.cesarean = n.birth, n.cesarean
	}
	if n.newborn {
		n.moves = nil // turnover counts mothers (R12)
	}
	slices.Sort(n.waiting)
}

// line sorts the events into the order in which they count (R8), and marks those that do
// not count.
func (n *timelineBuilder) line(events []event) {
	var array [24]*event
	order := array[:0]
	for i := range events {
		order = append(order, &events[i])
	}
	slices.SortFunc(order, compareEvents)
	if len(order) > cap(n.events) {
		n.events = make([]appliedEvent, 0, max(len(order)+len(order)/4, usualEvents))
	}
	clear(n.events[len(order):cap(n.events)]) // releases folded events
	n.events = n.events[:len(order)]
	for i, e := range order {
		t := &n.events[i]
		*t = appliedEvent{event: e, at: happenedAt(e)}
		switch {
		case i > 0 && e.ID != "" && e.ID == order[i-1].ID:
			t.disposition = eventDuplicate
		case e.Void:
			t.disposition = eventVoid
		case e.Type == acuity.EventOther:
			t.disposition = eventOther
		case n.how.FoldAt != 0 && !strings.HasPrefix(e.ID, foldedID) && !isCancel(e.Type) && e.At <= n.how.FoldAt:
			t.disposition, t.remarks = eventBeforeFold, remarkTooLate
		}
		if e.ReceivedAt != 0 && e.At > e.ReceivedAt.Add(clockSlack) {
			t.remarks |= remarkFuture
		}
	}
}

// happenedAt is the event time, but never later than the receipt: nothing is
// scheduled, and bedside clocks run ahead of ours (T2).
func happenedAt(e *event) acuity.Instant {
	if e.ReceivedAt != 0 && e.At > e.ReceivedAt {
		return e.ReceivedAt
	}
	return e.At
}

// rank orders event types at equal times.
func rank(t acuity.EventType) int {
	switch t {
	case acuity.A04:
		return 0
	case acuity.A01:
		return 1
	case acuity.A06:
		return 2
	case acuity.A07:
		return 3
	case acuity.A02:
		return 4
	case acuity.A08:
		return 5
	case acuity.A03:
		return 6
	case acuity.EventOther, acuity.A11, acuity.A12, acuity.A13:
	}
	return 7 + int(t)
}

// compareEvents orders events by time, EVN-2, type and location text (R8); the
// rest only makes the order total.
func compareEvents(a, b *event) int {
	if x, y := happenedAt(a), happenedAt(b); x != y {
		return cmp.Compare(x, y)
	}
	if c := cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(recorded(a), recorded(b)), cmp.Compare(rank(a.Type), rank(b.Type))); c != 0 {
		return c
	}
	if c := compareLocations(a.Place, b.Place); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Digest, b.Digest),
		cmp.Compare(a.ReceivedAt, b.ReceivedAt), cmp.Compare(a.Cancels, b.Cancels),
		compareLocations(a.Prior, b.Prior))
}

// compareLocations orders locations by their text.
func compareLocations(a, b *acuity.Location) int {
	if a == b || *a == *b {
		return 0
	}
	return cmp.Or(cmp.Compare(a.PointOfCare, b.PointOfCare), cmp.Compare(a.Room, b.Room), cmp.Compare(a.Bed, b.Bed),
		cmp.Compare(a.RoomID, b.RoomID), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Facility, b.Facility))
}

// folded reports whether t replaces folded events.
func (n *timelineBuilder) folded(t *appliedEvent) bool {
	return n.how.FoldAt != 0 && strings.HasPrefix(t.event.ID, foldedID)
}

// sameRoom reports whether two locations are one room.
func (n *timelineBuilder) sameRoom(a, b *acuity.Location) bool {
	return a == b || *a == *b || (n.how.SameRoom != nil && !a.IsZero() && !b.IsZero() && n.how.SameRoom(a, b))
}

// apply applies a live event.
func (n *timelineBuilder) apply(t *appliedEvent) {
	switch t.event.Type {
	case acuity.A06, acuity.A07:
		if !n.open && n.closedAt != 0 && t.at <= n.closedAt {
			t.disposition, t.remarks = eventAfterDischarge, t.remarks|remarkAfterDischarge // not newer than the discharge
			return
		}
		n.admit(t)
	case acuity.A01:
		n.admit(t)
	case acuity.A04:
		if n.open && n.class == 'I' {
			n.update(t) // a registration of an inpatient is an update (R11)
			return
		}
		n.admit(t)
	case acuity.A02:
		n.transfer(t)
	case acuity.A03:
		n.discharge(t)
	case acuity.A08:
		n.update(t)
	case acuity.EventOther, acuity.A11, acuity.A12, acuity.A13:
	}
}

// admit applies an admission, a registration, or the change between them.
func (n *timelineBuilder) admit(t *appliedEvent) {
	e := t.event
	again := n.lastMove != nil && n.lastMove.Type == e.Type && happenedAt(n.lastMove) == t.at && n.sameRoom(n.lastMove.Place, e.Place)
	wasOpen, converted := n.open, n.open && n.class != 'I' && !again
	n.note(t)
	if e.Class == 0 && (!wasOpen || converted || e.Type == acuity.A06 || e.Type == acuity.A07) {
		n.class = 'I'
		if e.Type == acuity.A04 || e.Type == acuity.A07 {
			n.class = 'O'
		}
	}
	n.diagnose(t)
	t.begins = !wasOpen || converted
	if !wasOpen {
		n.begin(t.at)
	}
	if !wasOpen || !e.saysNothingOfPlace(n.how.IsWard) {
		n.move(t)
	}
	if !again {
		n.count(t)
	}
}

// transfer applies a transfer. Its diagnoses never count (D4).
func (n *timelineBuilder) transfer(t *appliedEvent) {
	e := t.event
	switch {
	case !n.open && n.closedAt != 0:
		t.disposition, t.remarks = eventAfterDischarge, t.remarks|remarkAfterDischarge
		return
	case !n.open: // the admission was never sent (R5)
		n.note(t)
		if n.class == 0 {
			n.class = 'I'
		}
		n.begin(t.at)
		t.begins = true
		n.move(t)
		n.count(t)
		return
	case e.Place.IsZero() && !e.PlaceNull:
		t.disposition = eventNoPlace
		return
	}
	here := &n.stays[n.stay]
	if !e.PlaceNull && n.sameRoom(here.place(), e.Place) {
		here.Last = t.at
		t.disposition = eventSameRoom
		return
	}
	if !e.Prior.IsZero() && !here.place().IsZero() && !n.sameRoom(here.place(), e.Prior) {
		t.remarks |= remarkPriorDiffers
	}
	n.note(t)
	n.move(t)
	n.count(t)
}

// discharge closes the visit, and ends all that was known of its state. A discharge
// alone makes a closed visit without turnover (R14).
func (n *timelineBuilder) discharge(t *appliedEvent) {
	if !n.open {
		if n.closedAt != 0 {
			t.disposition = eventClosedAlready
			return
		}
		n.closedAt = t.at
		return
	}
	n.stays[n.stay].To = t.at
	n.open, n.stay, n.closedAt = false, -1, t.at
	n.diagnoses, n.birth, n.cesarean, n.reasons = nil, 0, false, 0
	t.closes = true
	n.count(t)
}

// update takes what an update says. It moves a patient only if the hospital allows that.
func (n *timelineBuilder) update(t *appliedEvent) {
	e := t.event
	n.note(t)
	n.diagnose(t)
	if e.Place.IsZero() {
		return // a null place of an update says nothing (P6)
	}
	trusted := n.how.TrustA08 && e.Type == acuity.A08
	switch {
	case trusted && !n.open && n.closedAt == 0:
		n.begin(t.at)
		t.begins = true
		n.move(t)
	case n.open && !n.sameRoom(n.stays[n.stay].place(), e.Place):
		if trusted {
			n.move(t)
			return
		}
		t.remarks |= remarkPlaceDiffers
	}
}

// begin opens the visit.
func (n *timelineBuilder) begin(at acuity.Instant) {
	n.open, n.openedAt, n.closedAt = true, at, 0
}

// move brings the visit to the place of an event, which may be none.
func (n *timelineBuilder) move(t *appliedEvent) {
	if n.stay >= 0 {
		here := &n.stays[n.stay]
		if n.sameRoom(here.place(), t.event.Place) {
			here.Last = t.at
			return
		}
		here.To = t.at
	}
	if n.stays == nil {
		n.stays = make([]adtStay, 0, 4)
	}
	n.stays = append(n.stays, adtStay{From: t.at, Last: t.at, Placing: t.event})
	n.stay = int16(len(n.stays) - 1) //nolint:gosec // a visit has at most 200 events
	t.moved = true
}

// count counts an event for turnover.
func (n *timelineBuilder) count(t *appliedEvent) {
	n.lastMove = t.event
	if n.moves == nil {
		n.moves = make([]acuity.Instant, 0, 6)
	}
	n.moves = append(n.moves, t.at)
}

// addSubject keeps a further name of the patient.
func (n *timelineBuilder) addSubject(name string) {
	if name != "" && len(n.subjects) < capSubjects && !slices.Contains(n.subjects, name) {
		n.subjects = append(n.subjects, name)
	}
}

// note takes what an event says beside the place.
func (n *timelineBuilder) note(t *appliedEvent) {
	e := t.event
	// The registration of an inpatient does not make her an outpatient.
	if e.Class != 0 && (e.Type != acuity.A04 || !n.open || n.class != 'I') {
		n.class = e.Class
	}
	if e.Service != "" {
		n.service = e.Service
	}
	if e.Reasons != 0 {
		n.reasons = e.Reasons
	}
	if e.Babies != 0 {
		n.babies = e.Babies
	}
	n.newborn = n.newborn || e.Newborn
	switch {
	case e.Resource != "":
		n.addSubject(e.Patient)
		n.addSubject(e.Subject)
	case e.Patient != "":
		n.patient = e.Patient
	}
	if e.MotherVisit != "" {
		n.motherVisit = e.MotherVisit
	}
	if e.MotherPatient != "" {
		n.motherPatient = e.MotherPatient
	}
}
