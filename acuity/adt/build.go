package adt

import (
	"slices"
	"strings"

	"svc/acuity"
)

// builder applies the events of one visit to the visit's timeline.
type builder struct {
	*Timeline
	how Options

	stay     int16 // index of the current stay; -1: the visit is not open
	reasons  acuity.Reasons
	lastMove *Event // newest event that counted toward turnover
	byHL7    bool   // whether MotherVisit is from an HL7 message
}

// Build returns the timeline of the events of one visit. The result depends on the set of events, not on their order.
// The timeline keeps pointers to the events, which must not change afterwards.
func Build(events []Event, how Options) Timeline {
	var s Timeline
	s.Rebuild(events, how)
	return s
}

// Rebuild replaces s with the timeline of the given events. It reuses the memory of s, because each new event of a
// visit requires a rebuild.
func (s *Timeline) Rebuild(events []Event, how Options) {
	clear(s.Stays) // drop the pointers to the previous events
	*s = Timeline{Events: s.Events[:0], Stays: s.Stays[:0], Moves: s.Moves[:0], Diagnoses: s.Diagnoses[:0]}
	n := builder{Timeline: s, how: how, stay: -1}
	n.sortEvents(events)
	n.cancel()
	for i := range n.Events {
		t := &n.Events[i]
		if t.Disposition == Applied && !IsCancel(t.Event.Type) {
			n.apply(t)
		}
		t.stay, t.class, t.service, t.reasons = n.stay, n.Class, n.Service, n.reasons
		t.birth, t.cesarean = n.Birth, n.Cesarean
	}
	if n.Newborn {
		n.Moves = nil // turnover does not count newborns (docs/decisions.md#turnover)
	}
	slices.Sort(n.Waiting)
}

// sortEvents sorts the events into the order in which they apply (docs/decisions.md#equal-times) and marks the events
// that do not count.
func (n *builder) sortEvents(events []Event) {
	var array [24]*Event
	order := array[:0]
	for i := range events {
		order = append(order, &events[i])
	}
	slices.SortFunc(order, (*Event).Compare)
	if len(order) > cap(n.Events) {
		n.Events = make([]AppliedEvent, 0, max(len(order)+len(order)/4, fewEvents))
	}
	clear(n.Events[len(order):cap(n.Events)]) // release the events beyond the new length, such as those that were folded
	n.Events = n.Events[:len(order)]
	for i, e := range order {
		t := &n.Events[i]
		*t = AppliedEvent{Event: e, At: happenedAt(e)}
		switch {
		case i > 0 && e.ID != "" && e.ID == order[i-1].ID:
			t.Disposition = Duplicate
		case e.Void:
			t.Disposition = Void
		case e.Type == acuity.EventOther:
			t.Disposition = OtherType
		case n.how.FoldAt != 0 && !n.how.Filtered && e.IsTooOld(n.how.FoldAt):
			t.Disposition, t.Remarks = TooOld, remarkTooLate
		}
		if e.ReceivedAt != 0 && e.At > e.ReceivedAt.Add(ClockSlack) {
			t.Remarks |= remarkFuture
		}
	}
	n.moveAdmissionFirst()
}

// moveAdmissionFirst handles a first admission whose time is coarse, that is, known only as an interval. It moves the
// admission before the transfers and discharges in that interval, because a patient cannot move or leave before the
// admission. A later admission may be a return, so its position does not change.
func (n *builder) moveAdmissionFirst() {
	opens := func(t AppliedEvent) bool { return t.Disposition == Applied && t.Event.admits() }
	first := slices.IndexFunc(n.Events, opens)
	if first < 1 || n.Events[first].Event.AtFrom == 0 {
		return
	}
	came := n.Events[first]
	i := slices.IndexFunc(n.Events[:first], func(t AppliedEvent) bool {
		return t.Disposition == Applied && (t.Event.Type == acuity.A02 || t.Event.Type == acuity.A03) && t.At >= came.Event.AtFrom
	})
	if i < 0 {
		return
	}
	came.At = n.Events[i].At
	copy(n.Events[i+1:first+1], n.Events[i:first])
	n.Events[i] = came
}

// isFolded reports whether t replaces folded events.
func (n *builder) isFolded(t *AppliedEvent) bool {
	return n.how.FoldAt != 0 && strings.HasPrefix(t.Event.ID, foldedID)
}

// apply applies an event that was not canceled.
func (n *builder) apply(t *AppliedEvent) {
	switch t.Event.Type {
	case acuity.A06, acuity.A07:
		if !n.Open && n.ClosedAt != 0 && t.At <= n.ClosedAt {
			t.Disposition, t.Remarks = afterDischarge, t.Remarks|remarkAfterDischarge // the class change is not newer than the discharge
			return
		}
		n.admit(t)
	case acuity.A01:
		if t.Event.isPreadmission() {
			t.Remarks |= remarkPreadmission
			n.update(t)
			return
		}
		n.admit(t)
	case acuity.A04:
		if n.Open && n.Class == 'I' {
			n.update(t) // a registration of an inpatient is an update (docs/decisions.md#repeated-admit)
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

// admit applies an admission, a registration, or a change between inpatient and outpatient.
func (n *builder) admit(t *AppliedEvent) {
	e := t.Event
	repeated := n.lastMove != nil && n.lastMove.Type == e.Type && sameMoment(n.lastMove, e) &&
		(n.sameRoom(n.lastMove.Place, e.Place) || n.lastMove.NamesNoPlace(n.how.IsWard) || e.NamesNoPlace(n.how.IsWard))
	wasOpen, converted := n.Open, n.Open && n.Class != 'I' && !repeated
	n.applyDetails(t)
	if e.Class == 0 && (!wasOpen || converted || e.Type == acuity.A06 || e.Type == acuity.A07) {
		n.Class = 'I'
		if e.Type == acuity.A04 || e.Type == acuity.A07 {
			n.Class = 'O'
		}
	}
	n.applyDiagnoses(t)
	t.begins = !wasOpen || converted
	if !wasOpen {
		n.openVisit(t.At)
	}
	from := n.stay
	if !wasOpen || !e.NamesNoPlace(n.how.IsWard) {
		n.move(t)
	}
	if !repeated {
		n.countMove(t, from)
	}
}

// transfer applies a transfer. The diagnoses of a transfer are ignored (docs/decisions.md#diagnosis-order).
func (n *builder) transfer(t *AppliedEvent) {
	e := t.Event
	switch {
	case !n.Open && n.ClosedAt != 0:
		t.Disposition, t.Remarks = afterDischarge, t.Remarks|remarkAfterDischarge
		return
	case !n.Open: // the admission was never sent (docs/decisions.md#first-message)
		n.applyDetails(t)
		if n.Class == 0 || n.Class == 'P' { // a patient who is transferred has arrived
			n.Class = 'I'
		}
		n.openVisit(t.At)
		t.begins = true
		n.move(t)
		n.countMove(t, -1)
		return
	case e.Place.IsZero() && !e.PlaceNull:
		t.Disposition = LocationMissing
		return
	}
	here := &n.Stays[n.stay]
	if !e.PlaceNull && n.sameRoom(here.Place(), e.Place) {
		here.Last = t.At
		if !n.applyNewDetails(t) && e.Primary == 0 {
			t.Disposition = SameRoom
		}
		return
	}
	if !e.Prior.IsZero() && !here.Place().IsZero() && !n.sameRoom(here.Place(), e.Prior) {
		t.Remarks |= remarkPriorDiffers
	}
	// An Encounter may name its first location from a later time than its own start. The patient then comes to that
	// location as part of the admission, which already counts.
	arrives := e.Resource != "" && here.Place().IsZero() && here.Placing.Resource == e.Resource
	from := n.stay
	n.applyDetails(t)
	n.move(t)
	if !arrives {
		n.countMove(t, from)
	}
}

// discharge closes the visit and clears its diagnoses and its reasons for admission. A discharge without an admission
// creates a closed visit that does not count toward turnover (docs/decisions.md#discharge-alone).
func (n *builder) discharge(t *AppliedEvent) {
	if !n.Open {
		if n.ClosedAt != 0 {
			t.Disposition = AlreadyDischarged
			return
		}
		n.ClosedAt = t.At
		return
	}
	from := n.stay
	n.Stays[from].To = t.At
	n.Open, n.stay, n.ClosedAt = false, -1, t.At
	n.Diagnoses, n.Birth, n.Cesarean, n.reasons = nil, 0, false, 0
	t.closes = true
	n.countMove(t, from)
}

// update applies an update (A08), the registration (A04) of an inpatient, or a pre-admission. Only an A08 can open the
// visit or move the patient, and only if the hospital's setting Options.TrustA08 allows it.
func (n *builder) update(t *AppliedEvent) {
	e := t.Event
	n.applyDetails(t)
	n.applyDiagnoses(t)
	if e.Place.IsZero() { // such an update does not change the location (docs/decisions.md#null-location)
		if e.PlaceNull && n.Open && !n.Stays[n.stay].Place().IsZero() {
			t.Remarks |= remarkPlaceDiffers
		}
		return
	}
	trusted := n.how.TrustA08 && e.Type == acuity.A08
	switch {
	case trusted && !n.Open && n.ClosedAt == 0:
		n.openVisit(t.At)
		t.begins = true
		n.move(t)
	case n.Open && !n.sameRoom(n.Stays[n.stay].Place(), e.Place) && !e.isPreadmission():
		if trusted {
			n.move(t)
			return
		}
		t.Remarks |= remarkPlaceDiffers
	}
}

// openVisit marks the visit as open from the given time.
func (n *builder) openVisit(at acuity.Instant) {
	n.Open, n.OpenedAt, n.ClosedAt = true, at, 0
}

// move begins a new stay at the location that the event names, which may be empty, and ends the current stay, if
// there is one. If the visit is already in the same room, the current stay continues.
func (n *builder) move(t *AppliedEvent) {
	if n.stay >= 0 {
		here := &n.Stays[n.stay]
		if n.sameRoom(here.Place(), t.Event.Place) {
			here.Last = t.At
			return
		}
		here.To = t.At
	}
	if n.Stays == nil {
		n.Stays = make([]Stay, 0, 4)
	}
	n.Stays = append(n.Stays, Stay{From: t.At, Last: t.At, Placing: t.Event})
	n.stay = int16(len(n.Stays) - 1) //nolint:gosec // a visit has at most 200 events
	t.moved = true
}

// countMove adds an event to the moves that count toward turnover, unless the patient was outside the unit before the
// event and still is. The argument from is the index of the stay before the event, or -1 if there was none.
func (n *builder) countMove(t *AppliedEvent, from int16) {
	n.lastMove = t.Event
	if n.isOutside(from) && n.isOutside(n.stay) {
		return
	}
	if n.Moves == nil {
		n.Moves = make([]acuity.Instant, 0, 6)
	}
	n.Moves = append(n.Moves, t.At)
}

// isOutside reports whether a stay, given by its index, is outside the unit. -1 means that the patient is not in the
// hospital.
func (n *builder) isOutside(stay int16) bool {
	return stay < 0 || n.how.IsOutside != nil && n.how.IsOutside(n.Stays[stay].Place())
}

// addSubject records an additional reference to the patient, up to capSubjects.
func (n *builder) addSubject(name string) {
	if name != "" && len(n.Subjects) < capSubjects && !slices.Contains(n.Subjects, name) {
		n.Subjects = append(n.Subjects, name)
	}
}

// applyNewDetails applies the details of an event and reports whether any of them is new.
func (n *builder) applyNewDetails(t *AppliedEvent) bool {
	type details struct {
		class, babies                       byte
		newborn                             bool
		service, patient, mother, motherPID string
		subjects                            int
		reasons                             acuity.Reasons
	}
	now := func() details {
		return details{
			n.Class, n.Babies, n.Newborn, n.Service, n.Patient, n.MotherVisit, n.MotherPatient, len(n.Subjects), n.reasons,
		}
	}
	before := now()
	n.applyDetails(t)
	return now() != before
}

// applyDetails applies the details of the patient and the visit that an event contains, except the location, the
// primary factor and the diagnoses.
func (n *builder) applyDetails(t *AppliedEvent) {
	e := t.Event
	switch {
	case e.Class == 0:
	case e.Type == acuity.A04 && n.Open && n.Class == 'I': // the registration of an inpatient does not make the visit outpatient
	case e.isPreadmission() && n.Open: // the patient is already here
	default:
		n.Class = e.Class
	}
	replace(&n.Service, e.Service)
	if e.Reasons != 0 {
		n.reasons = e.Reasons
	}
	if e.Babies != 0 {
		n.Babies = e.Babies
	}
	switch { // the newest event that identifies the patient decides (docs/decisions.md#newborn-or-mother)
	case e.Newborn:
		n.Newborn = true
	case e.AdmissionType == admittedToDeliver, e.AdmissionType == adult:
		n.Newborn = false
	}
	switch {
	case e.Resource != "":
		n.addSubject(e.Patient)
		n.addSubject(e.Subject)
	case e.Patient != "":
		n.Patient = e.Patient
	}
	switch {
	case e.MotherVisit != "":
		n.MotherVisit, n.byHL7 = e.MotherVisit, e.Feed == acuity.ChannelHL7
	case e.MotherPatient != "" && e.Feed == acuity.ChannelHL7 && n.byHL7: // the feed now names another mother, or none
		n.MotherVisit, n.byHL7 = "", false
	}
	replace(&n.MotherPatient, e.MotherPatient)
}

// admittedToDeliver is the admission type (PV1-4) of a mother, labor and delivery. A birth date in an earlier event may
// have been a placeholder.
const admittedToDeliver = 'L'

// adult replaces the admission type of a patient who is too old to be a newborn according to the birth date, unless the
// type is L or N. The other types have no effect.
const adult = '+'

// deleted is the text of a field whose value no longer applies. An empty text means that the field was not sent.
const deleted = `""`

// replace replaces a known text with the text in an event, or deletes it. If the event has no text, the known text
// remains.
func replace(known *string, text string) {
	switch text {
	case "":
	case deleted:
		*known = ""
	default:
		*known = text
	}
}

// capSubjects is the maximum number of patient references that a timeline collects from a visit's Encounters.
const capSubjects = 8

// fewEvents is the minimum capacity of a new list of events. Most visits have at least this many events.
const fewEvents = 4
