package hl7

import "strconv"

// The stable codes of warnings: the message was taken, but not all of it as it
// was meant, or not for certain. docs/hl7.md says what each means to a sender.
const (
	warnExtension      = "adt_extension"      // an event beyond those that the interface promises
	warnAction         = "action_unknown"     // DG1-21 is none of A, U, D; taken as A
	warnBatchCount     = "batch_count"        // BTS-1 or FTS-1 is not what was there
	warnCharsetAssumed = "charset_assumed"    // nothing declared, no UTF-8: read as Windows-1252
	warnCharsetInvalid = "charset_invalid"    // declared as UTF-8, which it is not
	warnCharsetUnknown = "charset_unknown"    // declared as something that we do not know
	warnCode           = "code_unreadable"    // too long, or not of the table: not used
	warnEscape         = "escape_unknown"     // kept as it stands
	warnEventTime      = "event_time_missing" // the next best time was taken
	warnLocationCut    = "location_cut"       // longer than is kept
	warnMerge          = "merge_ignored"      // an event that renumbers a patient or a visit: nothing follows from it
	warnNotProduction  = "not_production"     // MSH-11 is not P; applied like P
	warnSwap           = "swap_ignored"       // A17: two patients change beds, and stay where they were
	warnSystem         = "system_assumed"     // the code system was told by the shape of the code
	warnFuture         = "time_in_future"     // more than 5 minutes ahead; applied at receipt
	warnTime           = "time_unreadable"    // not a time of HL7; taken as absent
	warnVisit          = "visit_by_patient"   // no visit number: one visit per patient is assumed
)

// position is where a warning was raised. The zero repeat is a segment that
// comes once.
type position struct {
	segment string
	repeat  int
	field   int
}

// String is the form in answers: PV1-3, DG1[2]-5, EVN.
func (p position) String() string {
	s := p.segment
	if p.repeat > 0 {
		s += "[" + strconv.Itoa(p.repeat) + "]"
	}
	if p.field > 0 {
		s += "-" + strconv.Itoa(p.field)
	}
	return s
}
