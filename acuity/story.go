package acuity

// story is what the ADT events of one visit amount to. It is a function of the
// set of events: any order of arrival gives the same story.
type story struct {
	told  []told // the events in the order in which they count
	stays []stay // ascending; one with a zero Place is a time without a place
	moves []Instant
	// diagnoses are those still standing, in the order of their first mention.
	diagnoses []diagnosed
	// waiting are the receipts of the cancels that found nothing, ascending.
	waiting []Instant

	open     bool    // admitted or registered, and not discharged
	openedAt Instant // event time of the placing event that opened it; 0: never
	closedAt Instant // event time of the discharge; 0 while open
	lastAt   Instant // newest event time of a live event

	class    byte // newest class; I or O by event type where none was sent
	newborn  bool
	babies   uint8  // of a multiple birth; 0 unknown
	service  string // newest
	patient  string
	birth    Instant // start of the earliest standing Z37 diagnosis; 0: none
	cesarean bool    // O82 stands

	motherVisit, motherPatient string
}

// stay is a time that a visit spends in one room.
type stay struct {
	From, To Instant // To 0: still
	Last     Instant // newest placing event that says so
	Place    Location
	Placing  *Event // the first event that says so
}

// told is one event and what became of it.
type told struct {
	event   *Event
	fate    fate
	remarks remark
	// begins: the event placed the visit anew, so that its primary restarts
	// whatever it is; moved: it brought the visit to another room.
	begins, moved, closes bool

	// What was known right after the event.
	class    byte
	service  string
	reasons  Reasons
	place    Location
	placedAt Instant
	birth    Instant
	cesarean bool
}

// fate is what became of an event.
type fate uint8

const (
	fateApplied   fate = iota
	fateDuplicate      // the same event again
	fateOther          // not a type that has an effect
	fateCancelled      // a cancel took it back
	fateVoided         // it hung on an admit that was cancelled (R4)
	fateWaiting        // a cancel that has found nothing yet
	fateRefused        // a cancel of an event that was folded away (R10)
	fateSameRoom       // a transfer to where the visit is
	fateAfterDischarge // a transfer after the discharge (R5)
	fateClosedAlready  // a second discharge
	fateNoPlace        // a transfer that does not say where to
)

// reason returns the stable code of an event that had no effect; "" if it had one.
func (f fate) reason() string {
	return [...]string{
		fateApplied: "", fateDuplicate: "duplicate", fateOther: "event_type",
		fateCancelled: "cancelled", fateVoided: "admit_cancelled",
		fateWaiting: "", fateRefused: "cancel_too_late", fateSameRoom: "same_room",
		fateAfterDischarge: "transfer_after_discharge", fateClosedAlready: "already_discharged",
		fateNoPlace: "location_missing",
	}[f]
}

// remark is a set of warnings about an event that was taken all the same.
type remark uint8

const (
	remarkPlaceDiffers   remark = 1 << iota // an update names another place
	remarkPriorDiffers                      // PV1-6 is not where the visit was
	remarkWaiting                           // a cancel waits for what it cancels
	remarkAfterDischarge                    // see fateAfterDischarge
	remarkTooLate                           // see fateRefused
)

// telling is how a story is told.
type telling struct {
	// SameRoom reports whether two locations are one room. nil: if they are equal.
	SameRoom func(a, b Location) bool
	// TrustA08 lets an update move a patient (per-hospital switch).
	TrustA08 bool
	// FoldAt is the event time of the newest event that was folded away (R10);
	// cancels of what lies before come too late. 0: none.
	FoldAt Instant
}
