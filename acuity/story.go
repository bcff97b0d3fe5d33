package acuity

import (
	"slices"
	"time"
)

// story is what the ADT events of one visit amount to. It is a function of the
// set of events: any order of arrival gives the same story.
type story struct {
	told  []told    // the events in the order in which they count
	stays []stay    // ascending; one with a zero place is a time without a place
	moves []Instant // of those that count for turnover (R12), ascending
	// diagnoses are those still standing, in the order of their first mention.
	diagnoses []diagnosed
	// waiting are the receipts of the cancels that found nothing, ascending.
	waiting []Instant

	open     bool    // admitted or registered, and not discharged
	openedAt Instant // event time of the placing event that opened it; 0: never
	closedAt Instant // event time of the discharge; 0 while open

	class    byte // newest class; I or O by event type where none was sent
	newborn  bool
	babies   uint8    // of a multiple birth; 0 unknown
	service  string   // newest
	patient  string   // as HL7 and JSON name her, the newest
	referred []string // further names of the patient, of the Encounters
	birth    Instant  // start of the earliest standing Z37 diagnosis; 0: none
	cesarean bool     // O82 stands

	motherVisit, motherPatient string
}

// stay is a time that a visit spends in one room.
type stay struct {
	From, To Instant // To 0: still
	Last     Instant // newest placing event that says so
	Placing  *event  // the first event that says so
}

func (s *stay) place() *Location { return s.Placing.Place }

// told is one event and what became of it.
type told struct {
	event   *event
	at      Instant // its event time, at most its receipt (T2)
	fate    fate
	remarks remark
	begins  bool // it placed the visit anew: its primary restarts, whatever it is
	moved   bool // it brought the visit to another room, or out of any
	closes  bool // it discharged the visit

	// What was known right after the event.
	stay     int16 // index in the stays; -1: not open
	class    byte
	cesarean bool
	reasons  Reasons
	service  string
	birth    Instant
}

// fate is what became of an event.
type fate uint8

const (
	fateApplied        fate = iota
	fateDuplicate           // the same event again
	fateOther               // not a type that has an effect
	fateVoid                // it says that its Encounter never was (F4)
	fateCancelled           // a cancel took it back
	fateVoided              // it hung on an admit that was cancelled (R4)
	fateWaiting             // a cancel that has found nothing yet
	fateRefused             // a cancel of an event that was folded away (R10)
	fateSameRoom            // a transfer to where the visit is
	fateAfterDischarge      // a transfer after the discharge (R5)
	fateClosedAlready       // a second discharge
	fateNoPlace             // a transfer that does not say where to
	fateBeforeFold          // older than what was folded away (R10)
)

// reason returns the stable code of an event that had no effect; "" if it had one.
func (f fate) reason() string {
	return [...]string{
		fateApplied: "", fateDuplicate: "duplicate", fateOther: "event_type", fateVoid: "",
		fateCancelled: "cancelled", fateVoided: "admit_cancelled",
		fateWaiting: "", fateRefused: "cancel_too_late", fateSameRoom: "same_room",
		fateAfterDischarge: "transfer_after_discharge", fateClosedAlready: "already_discharged",
		fateNoPlace: "location_missing", fateBeforeFold: "event_too_old",
	}[f]
}

// remark is a set of warnings about an event that was taken all the same.
type remark uint8

const (
	remarkPlaceDiffers   remark = 1 << iota // an update names another place
	remarkPriorDiffers                      // PV1-6 is not where the visit was (R15)
	remarkWaiting                           // a cancel waits for what it cancels
	remarkAfterDischarge                    // see fateAfterDischarge
	remarkTooLate                           // see fateRefused and fateBeforeFold
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

// telling is how a story is told.
type telling struct {
	// SameRoom reports whether two locations are one room. nil: if they are equal.
	SameRoom func(a, b *Location) bool
	// IsWard reports whether a location is a unit without a room. nil: none is.
	IsWard func(*Location) bool
	// TrustA08 lets an update move a patient (per-hospital switch).
	TrustA08 bool
	// FoldAt is the event time of the newest event that was folded away (R10);
	// cancels of what lies before come too late. 0: none.
	FoldAt Instant
}

// of returns what became of the event with an identity.
func (s *story) of(id string) (told, bool) {
	for i := range s.told {
		if t := &s.told[i]; t.event.ID == id && t.fate != fateDuplicate {
			return *t, true
		}
	}
	return told{}, false
}

// at returns the stay at an instant; false if the visit was not open then.
func (s *story) at(now Instant) (stay, bool) {
	for _, p := range slices.Backward(s.stays) {
		if p.From <= now {
			return p, p.To == 0 || now < p.To
		}
	}
	return stay{}, false
}

// cancelsWaiting returns how many cancels wait at now, and when the next of them
// is given up: 24 h after its receipt (R9). 0: never.
func (s *story) cancelsWaiting(now Instant) (count int, next Instant) {
	for _, received := range s.waiting {
		if end := received.Add(waitForEvent); now < end {
			count++
			next = Soonest(next, end)
		}
	}
	return count, next
}

// waitForEvent is how long a cancel is listed as waiting for its event.
const waitForEvent = 24 * time.Hour
