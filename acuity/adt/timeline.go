// Package adt builds the timeline of a visit from the set of its ADT events.
//
// [Build] puts the events into their order, takes back what is cancelled, and says of each
// what became of it. The order of arrival means nothing. A [Timeline] has the stays, the
// diagnoses that stand, and the primary factor of the patient. The kinds of places and
// the reasons of admissions that decide on a primary are in places.txt.
package adt

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
)

// Timeline is the result of applying the ADT events of one visit. It depends only on the
// set of events: any order of arrival gives the same timeline.
type Timeline struct {
	Events []AppliedEvent   // in the order in which they count
	Stays  []Stay           // ascending; a zero place is a time without a place
	Moves  []acuity.Instant // that count for turnover (docs/decisions.md#turnover), ascending
	// Diagnoses are those still standing, in the order of their first mention.
	Diagnoses []StandingDiagnosis
	// Waiting are the receipts of the cancels that found no event, ascending.
	Waiting []acuity.Instant

	Open     bool           // admitted or registered, and not discharged
	OpenedAt acuity.Instant // event time of the placing event that opened it; 0: never
	ClosedAt acuity.Instant // event time of the discharge; 0 while open

	Class    byte           // newest class; by event type, I or O, if none was sent
	Newborn  bool           // by the events; who knows it from elsewhere sets it before Primary
	Babies   uint8          // of a multiple birth; 0 unknown
	Service  string         // newest
	Patient  string         // newest name by HL7 or JSON
	Subjects []string       // further names of the patient, by Encounters
	Birth    acuity.Instant // start of the earliest standing Z37 diagnosis; 0: none
	Cesarean bool           // O82 stands

	MotherVisit, MotherPatient string
}

// Stay is a time that a visit spends in one room.
type Stay struct {
	From, To acuity.Instant // To 0: still
	Last     acuity.Instant // newest placing event for it
	Placing  *Event         // first event for it
}

// Place returns the location as sent; a zero location is a time without a place.
func (s *Stay) Place() *acuity.Location { return s.Placing.Place }

// AppliedEvent is an event with its disposition and the state right after it.
type AppliedEvent struct {
	Event       *Event
	At          acuity.Instant // its event time, at most its receipt (docs/decisions.md#future-times)
	Disposition Disposition
	Remarks     Remarks
	begins      bool // it placed the visit anew: the primary restarts
	moved       bool // it moved the visit to another room, or out of all rooms
	closes      bool // it discharged the visit

	// What was known right after the event.
	stay     int16 // index in the stays; -1: not open
	class    byte
	cesarean bool
	reasons  acuity.Reasons
	service  string
	birth    acuity.Instant
}

// EndsNothing reports whether the event is a discharge of a visit that was never opened. It
// counts once the admission comes.
func (t *AppliedEvent) EndsNothing() bool {
	return t.Event.Type == acuity.A03 && t.Disposition == Applied && !t.closes
}

// Withdrawn reports whether the event was taken back: it was cancelled, it depended on a
// cancelled admit, or its Encounter never was.
func (t *AppliedEvent) Withdrawn() bool {
	return t.Disposition == Cancelled || t.Disposition == AdmitCancelled || t.Disposition == Void
}

// Disposition is what became of an event.
type Disposition uint8

// The dispositions of an event.
const (
	Applied           Disposition = iota
	Duplicate                     // the same event again
	OtherType                     // a type without effect
	Void                          // its Encounter never was (docs/decisions.md#cancelled-encounter)
	Cancelled                     // a cancel took it back
	AdmitCancelled                // it depended on an admit that was cancelled (docs/decisions.md#cancelled-admit)
	CancelWaiting                 // a cancel that has found no event yet
	CancelTooLate                 // a cancel of a folded event (docs/decisions.md#folded-events)
	SameRoom                      // a transfer to where the visit is
	AfterDischarge                // a transfer after the discharge (docs/decisions.md#first-message)
	AlreadyDischarged             // a second discharge
	LocationMissing               // a transfer without a destination
	TooOld                        // older than the folded events (docs/decisions.md#folded-events)
)

// Reason returns the stable code of an event without effect; "": it had one.
func (f Disposition) Reason() string {
	return [...]string{
		Applied: "", Duplicate: "duplicate", OtherType: "event_type", Void: "",
		Cancelled: "cancelled", AdmitCancelled: "admit_cancelled",
		CancelWaiting: "", CancelTooLate: "cancel_too_late", SameRoom: "same_room",
		AfterDischarge: "transfer_after_discharge", AlreadyDischarged: "already_discharged",
		LocationMissing: "location_missing", TooOld: "event_too_old",
	}[f]
}

// Remarks is a set of warnings about an event that was taken all the same.
type Remarks uint8

const (
	remarkPlaceDiffers   Remarks = 1 << iota // an update names another place
	remarkPriorDiffers                       // PV1-6 is not where the visit was (docs/decisions.md#prior-location)
	remarkWaiting                            // a cancel waits for what it cancels
	remarkAfterDischarge                     // see AfterDischarge
	remarkTooLate                            // see CancelTooLate and TooOld
	remarkFuture                             // the event time lies more than 5 min ahead (docs/decisions.md#future-times)
)

// remarkCodes are the stable codes of the remarks, by bit.
var remarkCodes = [...]string{
	"place_differs", "prior_place_differs", "cancel_waiting",
	"transfer_after_discharge", "event_too_old", "time_in_future",
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

// Options are the settings and look-ups of the hospital that a timeline depends on.
type Options struct {
	// SameRoom reports whether two locations are one room. nil: if they are equal.
	SameRoom func(a, b *acuity.Location) bool
	// IsWard reports whether a location is a unit without a room. nil: none is.
	IsWard func(*acuity.Location) bool
	// TrustA08 lets an update move a patient (per-hospital switch).
	TrustA08 bool
	// FoldAt is the event time of the newest folded event (docs/decisions.md#folded-events). Cancels of earlier
	// events come too late. 0: none.
	FoldAt acuity.Instant
	// Filtered says that the caller left out what is too old, as [Event.IsTooOld] says: the
	// events are those of several visits.
	Filtered bool
}

// CancelsWaiting returns how many cancels wait at now. Each is given up 24 h after its
// receipt (docs/decisions.md#waiting-cancels).
func (s *Timeline) CancelsWaiting(now acuity.Instant) int {
	count := 0
	for _, received := range s.Waiting {
		if now < received.Add(waitForEvent) {
			count++
		}
	}
	return count
}

// waitForEvent is how long a cancel is listed as waiting for its event.
const waitForEvent = 24 * time.Hour

// PlacedAt returns when ADT brought the visit to where it is; 0: never.
func (s *Timeline) PlacedAt() acuity.Instant {
	if n := len(s.Stays); n > 0 && s.Stays[n-1].To == 0 {
		return s.Stays[n-1].From
	}
	return 0
}

// PlacedAbout reports whether an event that arrived after a census at t may have placed
// the visit after t. The event's time lies before t, but is only exact to the second or
// minute in which the census was taken. Such a patient does not count as absent from the
// census.
func (s *Timeline) PlacedAbout(t acuity.Instant) bool {
	return slices.ContainsFunc(s.Events, func(e AppliedEvent) bool {
		if e.stay < 0 || e.Event.ReceivedAt <= t || e.At > t || e.At.Add(e.Event.slack()) <= t {
			return false
		}
		here := &s.Stays[e.stay]
		return e.At == here.From || e.At == here.Last
	})
}

// PatientSaid returns the patient by the newest event that names one, also if it had no
// effect; "": none does.
func (s *Timeline) PatientSaid() string {
	for i := range slices.Backward(s.Events) {
		if e := s.Events[i].Event; e.Patient != "" && !e.Void {
			return e.Patient
		}
	}
	return ""
}

// ClockSlack is how far a time may lie ahead of the receipt without a warning
// (docs/decisions.md#future-times).
const ClockSlack = 5 * time.Minute

// foldedID begins the identities of the events that replace folded ones (docs/decisions.md#folded-events). No other
// identity begins so, because they are pseudonyms.
const foldedID = "folded"

// Fold returns the fewest events of a visit that give the end state of its timeline (docs/decisions.md#folded-events);
// nil: the events changed nothing.
func (s *Timeline) Fold(visit string) []acuity.Event {
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
			if t.Event.Primary != 0 {
				e.Primary = t.Event.Primary
			}
			if t.Event.Reasons != 0 {
				e.Reasons = t.Event.Reasons
			}
		}
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
