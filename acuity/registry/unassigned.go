package registry

import (
	"svc/acuity"
	"svc/acuity/evidence"
)

// Unassigned contains the statements that name a patient but no visit. As soon as a feed reports a visit of the
// patient, the statements are assigned to that visit (docs/decisions.md#subject-visit). When they are 24 h old, the
// assignment becomes final, and statements without a visit are removed. A retraction that names only its resource
// waits in a separate Unassigned.
type Unassigned struct {
	SubjectName
	Statements evidence.ResourceStatements // in order of arrival, whether assigned to a visit or waiting
	Marked     bool
}

// SubjectName identifies an Unassigned: by the patient's number (Patient), by a reference to the patient (Subject),
// by both, or, for a retraction that names no patient, by Resource.
type SubjectName struct{ Patient, Subject, Resource string }

// Names returns the names of the patient.
func (r *Unassigned) Names() []string {
	list := make([]string, 0, 2)
	if r.Patient != "" {
		list = append(list, r.Patient)
	}
	if r.Subject != "" && r.Subject != r.Patient {
		list = append(list, r.Subject)
	}
	return list
}

// Newest returns, for each resource, the time of receipt of its last version. This time determines to which visit all
// versions of the resource are assigned, so that they stay together.
func (r *Unassigned) Newest() map[string]acuity.Instant {
	at := make(map[string]acuity.Instant, len(r.Statements))
	for i := range r.Statements {
		if whole := r.Statements[i].WholeResource(); whole != "" {
			at[whole] = max(at[whole], r.Statements[i].ReceivedAt)
		}
	}
	return at
}
