package hl7

import "strconv"

// These are the stable codes of warnings. The message was accepted, but a part of it was
// not used as sent, or had to be guessed. docs/hl7.md explains each to senders.
const (
	warnExtension      = "adt_extension"      // an event beyond those in the interface
	warnAction         = "action_unknown"     // DG1-21 is none of A, U, D; read as A
	warnBatchCount     = "batch_count"        // BTS-1 or FTS-1 differs from the real count
	warnCharsetAssumed = "charset_assumed"    // nothing declared and no UTF-8: read as Windows-1252
	warnCharsetInvalid = "charset_invalid"    // declared as UTF-8, but is not
	warnCharsetUnknown = "charset_unknown"    // an unknown character set is declared
	warnCode           = "code_unreadable"    // too long, or not in the table: not used
	warnEscape         = "escape_unknown"     // the escape stays in the text
	warnEventTime      = "event_time_missing" // the next best time is used
	warnLocationCut    = "location_cut"       // longer than the limit
	warnMerge          = "merge_ignored"      // the event renumbers a patient or a visit, which has no effect here
	warnNotProduction  = "not_production"     // MSH-11 is not P; applied like P
	warnSwap           = "swap_ignored"       // A17: two patients swap beds, but stay where they were here
	warnSystem         = "system_assumed"     // the code system was guessed from the form of the code
	warnFuture         = "time_in_future"     // more than 5 minutes ahead; the time of receipt is used
	warnTime           = "time_unreadable"    // no HL7 time; treated as absent
	warnVisit          = "visit_by_patient"   // no visit number: one visit per patient is assumed
)

// position is where a warning was raised. A repeat of 0 is a segment that occurs once.
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
