package hospital

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/codes"
)

// timeline is the result of applying the ADT events of one visit. It depends only on the
// set of events: any order of arrival gives the same timeline.
type timeline struct {
	events []appliedEvent   // in the order in which they count
	stays  []adtStay        // ascending; a zero place is a time without a place
	moves  []acuity.Instant // that count for turnover (R12), ascending
	// diagnoses are those still standing, in the order of their first mention.
	diagnoses []diagnosed
	// waiting are the receipts of the cancels that found no event, ascending.
	waiting []acuity.Instant

	open     bool           // admitted or registered, and not discharged
	openedAt acuity.Instant // event time of the placing event that opened it; 0: never
	closedAt acuity.Instant // event time of the discharge; 0 while open

	class    byte // newest class; by event type, I or O, if none was sent
	newborn  bool
	babies   uint8          // of a multiple birth; 0 unknown
	service  string         // newest
	patient  string         // newest name by HL7 or JSON
	subjects []string       // further names of the patient, by Encounters
	birth    acuity.Instant // start of the earliest standing Z37 diagnosis; 0: none
	cesarean bool           // O82 stands

	motherVisit, motherPatient string
}

// adtStay is a time that a visit spends in one room.
type adtStay struct {
	From, To acuity.Instant // To 0: still
	Last     acuity.Instant // newest placing event for it
	Placing  *event         // first event for it
}

func (s *adtStay) place() *acuity.Location { return s.Placing.Place }

// appliedEvent is an event with its disposition and the state right after it.
type appliedEvent struct {
	event       *event
	at          acuity.Instant // its event time, at most its receipt (T2)
	disposition disposition
	remarks     remark
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

// disposition is what became of an event.
type disposition uint8

const (
	eventApplied        disposition = iota
	eventDuplicate                  // the same event again
	eventOther                      // a type without effect
	eventVoid                       // its Encounter never was (F4)
	eventCancelled                  // a cancel took it back
	eventVoided                     // it depended on an admit that was cancelled (R4)
	eventWaiting                    // a cancel that has found no event yet
	eventRefused                    // a cancel of a folded event (R10)
	eventSameRoom                   // a transfer to where the visit is
	eventAfterDischarge             // a transfer after the discharge (R5)
	eventClosedAlready              // a second discharge
	eventNoPlace                    // a transfer without a destination
	eventBeforeFold                 // older than the folded events (R10)
)

// reason returns the stable code of an event without effect; "": it had one.
func (f disposition) reason() string {
	return [...]string{
		eventApplied: "", eventDuplicate: "duplicate", eventOther: "event_type", eventVoid: "",
		eventCancelled: "cancelled", eventVoided: "admit_cancelled",
		eventWaiting: "", eventRefused: "cancel_too_late", eventSameRoom: "same_room",
		eventAfterDischarge: "transfer_after_discharge", eventClosedAlready: "already_discharged",
		eventNoPlace: "location_missing", eventBeforeFold: "event_too_old",
	}[f]
}

// remark is a set of warnings about an event that was taken all the same.
type remark uint8

const (
	remarkPlaceDiffers   remark = 1 << iota // an update names another place
	remarkPriorDiffers                      // PV1-6 is not where the visit was (R15)
	remarkWaiting                           // a cancel waits for what it cancels
	remarkAfterDischarge                    // see eventAfterDischarge
	remarkTooLate                           // see eventRefused and eventBeforeFold
	remarkFuture                            // the event time lies more than 5 min ahead (T2)
)

// remarkCodes are the stable codes of the remarks, by bit.
var remarkCodes = [...]string{
	"place_differs", "prior_place_differs", "cancel_waiting",
	"transfer_after_discharge", "event_too_old", "time_in_future",
}

// codes returns the stable code of each warning.
func (r remark) codes() []string {
	var codes []string
	for bit, code := range remarkCodes {
		if r&(1<<bit) != 0 {
			codes = append(codes, code)
		}
	}
	return codes
}

// timelineOptions are the settings and look-ups of the hospital that a timeline depends on.
type timelineOptions struct {
	// SameRoom reports whether two locations are one room. nil: if they are equal.
	SameRoom func(a, b *acuity.Location) bool
	// IsWard reports whether a location is a unit without a room. nil: none is.
	IsWard func(*acuity.Location) bool
	// TrustA08 lets an update move a patient (per-hospital switch).
	TrustA08 bool
	// FoldAt is the event time of the newest folded event (R10). Cancels of earlier
	// events come too late. 0: none.
	FoldAt acuity.Instant
}

// eventOf returns the event with an identity and its disposition.
func (s *timeline) eventOf(id string) (appliedEvent, bool) {
	for i := range s.events {
		if t := &s.events[i]; t.event.ID == id && t.disposition != eventDuplicate {
			return *t, true
		}
	}
	return appliedEvent{}, false
}

// at returns the stay at an instant; false if the visit was not open then.
func (s *timeline) at(now acuity.Instant) (adtStay, bool) {
	for _, p := range slices.Backward(s.stays) {
		if p.From <= now {
			return p, p.To == 0 || now < p.To
		}
	}
	return adtStay{}, false
}

// cancelsWaiting returns how many cancels wait at now, and when the next one is given
// up: 24 h after its receipt (R9). 0: never.
func (s *timeline) cancelsWaiting(now acuity.Instant) (count int, next acuity.Instant) {
	for _, received := range s.waiting {
		if end := received.Add(waitForEvent); now < end {
			count++
			next = codes.Soonest(next, end)
		}
	}
	return count, next
}

// waitForEvent is how long a cancel is listed as waiting for its event.
const waitForEvent = 24 * time.Hour
