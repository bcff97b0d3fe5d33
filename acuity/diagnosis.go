package acuity

import "svc/acuity/codes"

// DiagnosisMode is how the diagnoses in an event change the visit's diagnoses.
type DiagnosisMode uint8

// The modes. DiagnosisNone is the mode of a message without diagnoses, which leaves the visit's diagnoses unchanged.
const (
	DiagnosisNone     DiagnosisMode = iota
	DiagnosisSnapshot               // the list replaces the diagnoses from earlier ADT events
	DiagnosisDelta                  // each entry is added, updated or deleted (DG1-21)
	DiagnosisClear                  // DG1-3 = "": all diagnoses are removed
)

// Diagnosis is one coded diagnosis.
type Diagnosis struct {
	System  codes.System
	Code    string // as sent, trimmed; compared by the rules of its code system
	Display string // ≤ 80 characters, long digit runs masked; may be empty
	OnsetAt Instant
	Delete  bool // whether a delta deletes the diagnosis (DG1-21 = D)
	// OnsetFrom is the start of the interval that the sender gave as the onset; see Event.AtFrom.
	OnsetFrom Instant
}
