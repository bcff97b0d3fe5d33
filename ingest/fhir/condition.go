package fhir

import (
	"svc/acuity"
	"svc/acuity/catalogue"
)

func (p *parser) conditionField(r *resource, key []byte) bool {
	switch string(key) {
	case "clinicalStatus":
		r.status = p.firstCode()
	case "verificationStatus":
		r.verification = p.firstCode()
	case "code":
		r.code = p.concept()
	case "subject":
		r.subject = p.reference()
	case "encounter", "context":
		r.encounter = p.reference()
	case "onsetDateTime":
		r.at = p.text()
	case "onsetPeriod":
		r.during = p.period()
	case "abatementDateTime":
		r.abatedAt = p.text()
		r.abated = r.abated || !r.abatedAt.empty()
	case "abatementPeriod":
		r.abatedIn = p.period()
		r.abated = true
	case "abatementAge", "abatementRange", "abatementString", "abatementBoolean":
		c := p.space()
		p.skip()
		r.abated = r.abated || c != 'f' && c != 'n' // neither false nor null
	case "recordedDate":
		r.issued = p.text()
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
func (m *mapper) condition(r *resource) bool {
	verification := m.bytes(r.verification)
	if r.deleted {
		verification = []byte("entered-in-error")
	}
	status, known := verificationStates[string(verification)]
	if !known {
		m.reject(r, "status_unknown", "verificationStatus")
		return false
	}
	if clinical := m.bytes(r.status); status == acuity.SignalActive {
		switch {
		case len(clinical) == 0 && r.abated: // F5
			status = acuity.SignalEnded
		case len(clinical) > 0:
			if status, known = clinicalStates[string(clinical)]; !known {
				m.reject(r, "status_unknown", "clinicalStatus")
				return false
			}
		}
	}
	s, ok := m.signal(r, catalogue.KindCondition, status)
	if !ok || !m.coded(r, &s, m.codes(nil, r, &r.code, "code"), "code") {
		return false
	}
	s.StartedAt = m.time(r, r.at, "onset")
	if s.StartedAt == 0 {
		s.StartedAt = m.time(r, r.during.start, "onset")
	}
	s.ObservedAt = s.UpdatedAt
	switch {
	case status == acuity.SignalEnded:
		end := m.time(r, r.abatedAt, "abatement")
		if end == 0 {
			end = m.time(r, r.abatedIn.end, "abatement")
		}
		if end != 0 {
			s.ObservedAt = end
		}
	case s.ObservedAt == 0:
		s.ObservedAt = m.time(r, r.issued, "recordedDate")
	}
	m.say(r, s)
	return string(verification) != "differential"
}
