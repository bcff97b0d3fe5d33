// Package adt builds the timeline of a visit from the set of its ADT events.
//
// [Build] sorts the events, applies cancels, and records the disposition of each event. The order of arrival does not
// matter. A [Timeline] contains the patient's stays and current diagnoses; [Timeline.Primary] derives the primary
// factor. places.txt lists two kinds of words: those that identify a kind of location, and those in admission reasons
// that affect the primary factor.
package adt

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
)

// Timeline is the result of applying the ADT events of one visit. It depends only on the set of events, not on their
// order of arrival.
type Timeline struct {
	Events []AppliedEvent   // in the order in which they apply
	Stays  []Stay           // ascending; a stay with a zero location is a time without a location
	Moves  []acuity.Instant // times of the moves that count toward turnover (docs/decisions.md#turnover), ascending
	// Diagnoses are the current diagnoses, in the order of their first mention.
	Diagnoses []CurrentDiagnosis
	// Waiting lists the receipt times, ascending, of cancels whose event has not arrived yet.
	Waiting []acuity.Instant

	Open     bool           // whether the visit has been admitted or registered, and not discharged
	OpenedAt acuity.Instant // event time of the event that opened the visit; 0: never
	ClosedAt acuity.Instant // event time of the discharge; 0: not discharged

	Class    byte           // newest patient class; if none was sent, I or O according to the event type
	Newborn  bool           // whether the visit is a newborn's according to its events; the caller of Build may also set it from other facts
	Babies   uint8          // number of babies in a multiple birth; 0: unknown
	Service  string         // newest hospital service
	Patient  string         // newest patient id from HL7 or JSON
	Subjects []string       // additional references to the patient, from Encounters
	Birth    acuity.Instant // start of the earliest current Z37 diagnosis; 0: none
	Cesarean bool           // whether the patient has diagnosis O82

	MotherVisit, MotherPatient string
}

// Stay is an interval that a visit spends in one room, or without a location.
type Stay struct {
	From, To acuity.Instant // interval [From, To) of the stay; To is 0 while the stay lasts
	Last     acuity.Instant // time of the newest event that places the patient here
	Placing  *Event         // first event that places the patient here
}

// Place returns the location as sent. A zero location means that the visit had no location during the stay.
func (s *Stay) Place() *acuity.Location { return s.Placing.Place }

// AppliedEvent is an event with its disposition and the state directly after it.
type AppliedEvent struct {
	Event       *Event
	At          acuity.Instant // event time, no later than the receipt (docs/decisions.md#future-times)
	Disposition Disposition
	Remarks     Remarks
	begins      bool           // whether the event begins the visit, or admits an outpatient again, which restarts the primary factor
	withdrawnAt acuity.Instant // when the newest cancel of the event was recorded; 0: the event is not canceled
	moved       bool           // whether the event moves the visit to another room, or out of all rooms
	closes      bool           // whether the event discharges the visit

	// The state directly after the event.
	stay     int16 // index of the stay; -1: the visit is not open
	class    byte
	cesarean bool
	reasons  acuity.Reasons
	service  string
	birth    acuity.Instant
}

// EndsNothing reports whether the event is a discharge of a visit that was never opened. The discharge takes effect
// when the admission arrives.
func (t *AppliedEvent) EndsNothing() bool {
	return t.Event.Type == acuity.A03 && t.Disposition == Applied && !t.closes
}

// IsWithdrawn reports whether the event no longer counts: it was canceled, it depended on a canceled admission, or
// its Encounter was canceled or entered in error.
func (t *AppliedEvent) IsWithdrawn() bool {
	return t.Disposition == Cancelled || t.Disposition == admitCancelled || t.Disposition == Void
}

// Disposition is the outcome of an event.
type Disposition uint8

// The dispositions of an event.
const (
	Applied           Disposition = iota
	Duplicate                     // a repeated event
	OtherType                     // an event type without effect
	Void                          // an event whose Encounter was canceled or entered in error (docs/decisions.md#cancelled-encounter)
	Cancelled                     // an event that another event canceled
	admitCancelled                // an event that depended on a canceled admission (docs/decisions.md#cancelled-admit)
	CancelWaiting                 // a cancel whose event has not arrived yet
	cancelTooLate                 // a cancel of a folded event (docs/decisions.md#folded-events)
	SameRoom                      // a transfer to the current room
	afterDischarge                // a transfer after the discharge (docs/decisions.md#first-message)
	AlreadyDischarged             // a second discharge
	LocationMissing               // a transfer without a destination
	TooOld                        // an event older than the folded events (docs/decisions.md#folded-events)
)

// Reason returns a stable code for why the event has no effect. It returns "" if the event has an effect, if it is a
// cancel that waits for its event, or if its Encounter was canceled or entered in error.
func (f Disposition) Reason() string {
	return [...]string{
		Applied: "", Duplicate: "duplicate", OtherType: "event_type", Void: "",
		Cancelled: "cancelled", admitCancelled: "admit_cancelled",
		CancelWaiting: "", cancelTooLate: "cancel_too_late", SameRoom: "same_room",
		afterDischarge: "transfer_after_discharge", AlreadyDischarged: "already_discharged",
		LocationMissing: "location_missing", TooOld: "event_too_old",
	}[f]
}

// Remarks is a set of warnings about an event that was accepted.
type Remarks uint8

const (
	remarkPlaceDiffers   Remarks = 1 << iota // an update names a different location
	remarkPriorDiffers                       // PV1-6 differs from the visit's location (docs/decisions.md#prior-location)
	remarkWaiting                            // a cancel waits for the event that it cancels
	remarkAfterDischarge                     // see afterDischarge
	remarkTooLate                            // see cancelTooLate and TooOld
	remarkFuture                             // event time more than 5 min after the receipt (docs/decisions.md#future-times)
	remarkPreadmission                       // an admission of class P does not place the patient (docs/decisions.md#preadmission)
)

// remarkCodes are the stable codes of the remarks, indexed by bit.
var remarkCodes = [...]string{
	"place_differs", "prior_place_differs", "cancel_waiting",
	"transfer_after_discharge", "event_too_old", "time_in_future", "preadmission",
}

// Codes returns the stable code of each warning.
func (r Remarks) Codes() []string {
	var codes []string
	for bit, code := range remarkCodes {
		if r&(1<<bit) != 0 {
			codes = append(codes, code)
		}
	}
	return codes
}

// Options are the hospital's settings and callbacks on which a timeline depends.
type Options struct {
	// SameRoom reports whether two locations are the same room. If it is nil, only equal locations are the same room.
	SameRoom func(a, b *acuity.Location) bool
	// IsWard reports whether a location names a unit but no room. If it is nil, no location is a ward.
	IsWard func(*acuity.Location) bool
	// IsOutside reports whether a location is outside the unit. If it is nil, no location is outside.
	IsOutside func(*acuity.Location) bool
	// TrustA08 is the hospital's setting that lets an update (A08) move a patient.
	TrustA08 bool
	// FoldAt is the instant at which the newest folded event counts (docs/decisions.md#folded-events), or 0 if no event
	// is folded. Events up to that time can no longer be canceled.
	FoldAt acuity.Instant
	// Filtered reports whether the caller has already removed the events that are too old (see [Event.IsTooOld]), as
	// is necessary if the events come from several visits.
	Filtered bool
}

// sameRoom reports whether two locations are the same room.
func (n *builder) sameRoom(a, b *acuity.Location) bool {
	return a == b || *a == *b || (n.how.SameRoom != nil && !a.IsZero() && !b.IsZero() && n.how.SameRoom(a, b))
}

// CancelsWaiting returns the number of cancels whose target event has not arrived by the instant now. A cancel is
// counted for at most 24 h after its receipt (docs/decisions.md#waiting-cancels).
func (s *Timeline) CancelsWaiting(now acuity.Instant) int {
	count := 0
	for _, received := range s.Waiting {
		if now < received.Add(waitForEvent) {
			count++
		}
	}
	return count
}

// waitForEvent is the maximum time for which a cancel counts as waiting for the event to cancel.
const waitForEvent = 24 * time.Hour

// IsKnown reports whether the visit was ever opened or closed. Before that, an update has no effect.
func (s *Timeline) IsKnown() bool { return s.OpenedAt != 0 || s.ClosedAt != 0 }

// PlacedAt returns the start of the current stay, which may be a stay without a location, or 0 if the visit is not
// open.
func (s *Timeline) PlacedAt() acuity.Instant {
	if n := len(s.Stays); n > 0 && s.Stays[n-1].To == 0 {
		return s.Stays[n-1].From
	}
	return 0
}

// PlacedAbout reports whether an event that svc received after t, the time of a census, may have placed the visit
// after t although the event time is at or before t. That is possible if the event time is imprecise. Such a patient
// does not count as absent from the census.
func (s *Timeline) PlacedAbout(t acuity.Instant) bool {
	return slices.ContainsFunc(s.Events, func(e AppliedEvent) bool {
		if e.stay < 0 || e.Event.ReceivedAt <= t || e.At > t || e.At.Add(e.Event.slack()) <= t {
			return false
		}
		here := &s.Stays[e.stay]
		return e.At == here.From || e.At == here.Last
	})
}

// NewestPatient returns the newest patient id in the events, including events that had no effect, but not those whose
// Encounter was canceled or entered in error. If there is none, NewestPatient returns "".
func (s *Timeline) NewestPatient() string {
	for i := range slices.Backward(s.Events) {
		if e := s.Events[i].Event; e.Patient != "" && !e.Void {
			return e.Patient
		}
	}
	return ""
}

// ClockSlack is how far an event time may be after the receipt without a warning (docs/decisions.md#future-times).
const ClockSlack = 5 * time.Minute

// foldedID is the prefix of the ids of events that replace folded ones (docs/decisions.md#folded-events). Other ids
// are pseudonyms and never have this prefix.
const foldedID = "folded"

// Fold returns one or two events that produce the same final state as the timeline (docs/decisions.md#folded-events),
// or nil if the events neither opened nor closed the visit. The function find returns what the hospital knows about a
// location.
func (s *Timeline) Fold(visit string, find func(*acuity.Location) *CachedPlace) []acuity.Event {
	if len(s.Stays) == 0 && !s.Open && s.ClosedAt == 0 {
		return nil
	}
	e := acuity.Event{
		ID: foldedID, Type: acuity.A01, At: max(s.OpenedAt, 1), Visit: visit,
		Patient: cmp.Or(s.Patient, append(s.Subjects, "")[0]), MotherVisit: s.MotherVisit, MotherPatient: s.MotherPatient,
		Class: s.Class, Service: s.Service, Newborn: s.Newborn, Babies: s.Babies,
	}
	for i := range s.Events {
		if t := &s.Events[i]; t.Disposition == Applied {
			e.ReceivedAt = max(e.ReceivedAt, t.Event.ReceivedAt)
			e.Feed = t.Event.Feed
		}
	}
	if n := len(s.Events); n > 0 {
		e.Primary, e.Reasons = s.foldPrimary(find, 0, false).explicit, s.Events[n-1].reasons
	}
	if n := len(s.Stays); n > 0 {
		e.At, e.Place = s.Stays[n-1].From, *s.Stays[n-1].Place()
	}
	e.PlaceNull = e.Place.IsZero()
	if len(s.Diagnoses) > 0 {
		e.DiagnosisMode = acuity.DiagnosisSnapshot
		for i := range s.Diagnoses {
			d := s.Diagnoses[i].Diagnosis
			d.OnsetAt = s.Diagnoses[i].Start
			e.Diagnoses = append(e.Diagnoses, d)
		}
	}
	if s.Open {
		return []acuity.Event{e}
	}
	end := acuity.Event{ID: foldedID + "-end", Type: acuity.A03, At: s.ClosedAt, ReceivedAt: e.ReceivedAt, Visit: visit}
	if len(s.Stays) == 0 {
		return []acuity.Event{end}
	}
	return []acuity.Event{e, end}
}
