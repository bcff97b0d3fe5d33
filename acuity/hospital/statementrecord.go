package hospital

import "svc/acuity/evidence"

// statementRecord is a statement with what only its record needs.
type statementRecord struct {
	evidence.Statement
	version *evidence.Version // nil: of no resource
	holder  holderName
}

// holderName names whom a statement is kept with: a visit, for good; the patient whom it
// names; or its room.
type holderName struct {
	visit string
	named *subjectName // the patient; nil: the statement names none
}

// patient returns the name of the patient; the zero value: the statement names none.
func (o *holderName) patient() subjectName {
	if o.named == nil {
		return subjectName{}
	}
	return *o.named
}

// record returns the record as it is written.
func (r *statementRecord) record() StatementState {
	s := StatementState{Number: r.Number, Signal: r.Signal(), ReceivedAt: r.ReceivedAt, Feed: r.Feed, Settled: r.Settled}
	s.Room, s.ObservedAt, s.StartedAt = r.Room, r.ObservedAt, r.StartedAt
	name := r.holder.patient()
	s.Visit, s.Patient, s.Subject = r.holder.visit, name.patient, name.subject
	if v := r.version; v != nil {
		s.Resource, s.UpdatedAt = v.Resource, v.UpdatedAt
	}
	return s
}
