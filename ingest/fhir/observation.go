package fhir

import (
	"strconv"

	"svc/acuity"
	"svc/acuity/catalogue"
)

func (p *parser) observationField(r *resource, key []byte) bool {
	switch string(key) {
	case "status":
		r.status = p.text()
	case "category":
		for l := p.list(); p.next(&l); {
			code := p.firstCode()
			r.laboratory = r.laboratory || string(p.bytes(code)) == "laboratory"
		}
	case "code":
		r.code = p.concept()
	case "subject":
		r.subject = p.reference()
	case "encounter", "context":
		r.encounter = p.reference()
	case "effectiveDateTime", "effectiveInstant":
		r.at = p.text()
	case "effectivePeriod":
		r.during = p.period()
	case "issued":
		r.issued = p.text()
	case "component":
		r.firstComponent, r.lastComponent = gather(p, &p.components, maxComponents, p.component)
	default:
		return r.value.read(p, key)
	}
	return true
}

func (p *parser) component() (c component, ok bool) {
	ok = p.space() == '{'
	for key := range p.fields() {
		if string(key) == "code" {
			c.code = p.concept()
		} else if !c.value.read(p, key) {
			p.skip()
		}
	}
	return c, ok
}

var observationStates = map[string]acuity.SignalStatus{
	"preliminary": acuity.SignalActive, "final": acuity.SignalActive,
	"amended": acuity.SignalActive, "corrected": acuity.SignalActive,
	"cancelled": acuity.SignalRetracted, "entered-in-error": acuity.SignalRetracted,
}

// observation makes the signals of an Observation: one for each component, and one for
// itself unless it only groups its components.
func (m *mapper) observation(r *resource) bool {
	status, ok := stateIn(m, r, observationStates, "registered")
	if !ok {
		return false
	}
	k := catalogue.KindObservation
	if r.laboratory {
		k = catalogue.KindLab
	}
	s, ok := m.signal(r, k, status)
	if !ok {
		return false
	}
	s.ObservedAt = m.effective(r)
	components := m.components[r.firstComponent:r.lastComponent]
	said := false
	if len(components) == 0 || r.value.kind != noValue || status == acuity.SignalRetracted {
		own := s
		if !m.coded(r, &own, m.codes(nil, r, &r.code, "code"), "code") {
			return false
		}
		m.measure(r, &own, &r.value, "")
		said = true
	}
	for i := range components {
		c, part := &components[i], s
		field := "component[" + strconv.Itoa(i) + "]"
		codings := m.codes(nil, r, &c.code, field+".code")
		if len(codings) == 0 {
			m.warn(r, "code_missing", field+".code")
			continue
		}
		part.Resource += "." + strconv.Itoa(i)
		m.coded(r, &part, codings, field)
		m.measure(r, &part, &c.value, field+".")
		said = true
	}
	if !said {
		m.reject(r, "code_missing", "component")
	}
	return said
}

// measure gives a signal its value and adds it to the facts. A value that is absent for a
// reason was not measured, so the signal retracts an earlier one.
func (m *mapper) measure(r *resource, s *acuity.Signal, v *value, field string) {
	if s.Status == acuity.SignalActive {
		if v.kind == noValue && v.absent {
			s.Status = acuity.SignalRetracted
		}
		s.Value = m.valueOf(r, s, v, field)
	}
	m.say(r, *s)
}

// effective returns when the observation was made. For a period it is the end, unless
// that is in the future.
func (m *mapper) effective(r *resource) acuity.Instant {
	if at := m.time(r, r.at, "effective"); at != 0 {
		return at
	}
	if end, _, ok := m.instant(r.during.end); ok && end <= m.ReceivedAt {
		return end
	}
	if start := m.time(r, r.during.start, "effective.start"); start != 0 {
		return start
	}
	return m.time(r, r.issued, "issued")
}
