package fhir

import (
	"svc/acuity"
	"svc/acuity/catalogue"
)

func (d *decoder) conditionField(r *resource, key []byte) bool {
	switch string(key) {
	case "clinicalStatus":
		r.status = d.firstCode()
	case "verificationStatus":
		r.verification = d.firstCode()
	case "code":
		r.code = d.concept()
	case "subject":
		r.subject = d.reference()
	case "encounter", "context":
		r.encounter = d.reference()
	case "onsetDateTime":
		r.at = d.text()
	case "onsetPeriod":
		r.during = d.period()
	case "abatementDateTime":
		r.abatedAt = d.text()
		r.abated = r.abated || !r.abatedAt.empty()
	case "abatementPeriod":
		r.abatedIn = d.period()
		r.abated = true
	case "abatementAge", "abatementRange", "abatementString", "abatementBoolean":
		c := d.space()
		d.skip()
		r.abated = r.abated || c != 'f' && c != 'n' // neither false nor null
	case "recordedDate":
		r.issued = d.text()
	default:
		return false
	}
	return true
}

// These maps hold the states of a Condition. Another code makes it unusable.
var (
	clinicalStates = map[string]acuity.SignalStatus{
		"active": acuity.SignalActive, "recurrence": acuity.SignalActive, "relapse": acuity.SignalActive,
		"inactive": acuity.SignalEnded, "remission": acuity.SignalEnded, "resolved": acuity.SignalEnded,
	}
	verificationStates = map[string]acuity.SignalStatus{
		"": acuity.SignalActive, "confirmed": acuity.SignalActive,
		"provisional": acuity.SignalActive, "unconfirmed": acuity.SignalActive,
		// A differential diagnosis does not count, even if it was provisional before.
		"differential": acuity.SignalRetracted,
		"refuted":      acuity.SignalRetracted, "entered-in-error": acuity.SignalRetracted,
	}
)

// condition makes the signal of a Condition.
func (d *decoder) condition(r *resource) bool {
	verification := d.bytes(r.verification)
	if r.deleted {
		verification = []byte("entered-in-error")
	}
	status, known := verificationStates[string(verification)]
	if !known {
		d.reject(r, "status_unknown", "verificationStatus")
		return false
	}
	if clinical := d.bytes(r.status); status == acuity.SignalActive {
		switch {
		case len(clinical) == 0 && r.abated: // F5
			status = acuity.SignalEnded
		case len(clinical) > 0:
			if status, known = clinicalStates[string(clinical)]; !known {
				d.reject(r, "status_unknown", "clinicalStatus")
				return false
			}
		}
	}
	s, ok := d.signal(r, catalogue.KindCondition, status)
	if !ok || !d.coded(r, &s, d.codes(nil, r, &r.code, "code"), "code") {
		return false
	}
	s.StartedAt = d.time(r, r.at, "onset")
	if s.StartedAt == 0 {
		s.StartedAt = d.time(r, r.during.start, "onset")
	}
	s.ObservedAt = s.UpdatedAt
	switch {
	case status == acuity.SignalEnded:
		end := d.time(r, r.abatedAt, "abatement")
		if end == 0 {
			end = d.time(r, r.abatedIn.end, "abatement")
		}
		if end != 0 {
			s.ObservedAt = end
		}
	case s.ObservedAt == 0:
		s.ObservedAt = d.time(r, r.issued, "recordedDate")
	}
	d.say(r, s)
	return string(verification) != "differential"
}
