package registry

import (
	"svc/acuity"
	"svc/acuity/evidence"
)

// Unassigned are the statements about one patient that name no visit, until they are 24
// h old. They are assigned to a visit of hers when one is known, by any feed
// (docs/decisions.md#subject-visit). A retraction that names only its resource waits in one of its
// own.
type Unassigned struct {
	SubjectName
	Statements evidence.ResourceStatements // in order of arrival; assigned to a visit, or waiting
	Marked     bool
}

// SubjectName is how a patient was named: by number, by reference, or only by a
// resource.
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

// Newest returns the receipt of the newest version by resource: the versions of one
// resource stay together.
func (r *Unassigned) Newest() map[string]acuity.Instant {
	at := make(map[string]acuity.Instant, len(r.Statements))
	for i := range r.Statements {
		if whole := r.Statements[i].WholeResource(); whole != "" {
			at[whole] = max(at[whole], r.Statements[i].ReceivedAt)
		}
	}
	return at
}
