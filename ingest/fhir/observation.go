package fhir

import (
	"strconv"

	"svc/acuity"
	"svc/acuity/catalogue"
)

func (d *decoder) observationField(r *resource, key []byte) bool {
	switch string(key) {
	case "status":
		r.status = d.text()
	case "category":
		for l := d.list(); d.next(&l); {
			code := d.firstCode()
			r.laboratory = r.laboratory || string(d.bytes(code)) == "laboratory"
		}
	case "code":
		r.code = d.concept()
	case "subject":
		r.subject = d.reference()
	case "encounter", "context":
		r.encounter = d.reference()
	case "effectiveDateTime", "effectiveInstant":
		r.at = d.text()
	case "effectivePeriod":
		r.during = d.period()
	case "issued":
		r.issued = d.text()
	case "component":
		r.firstComponent, r.lastComponent = gather(d, &d.components, maxComponents, d.component)
	default:
		return r.value.read(d, key)
	}
	return true
}

func (d *decoder) component() (c component, ok bool) {
	ok = d.space() == '{'
	for key := range d.fields() {
		if string(key) == "code" {
			c.code = d.concept()
		} else if !c.value.read(d, key) {
			d.skip()
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
func (d *decoder) observation(r *resource) bool {
	status, ok := stateIn(d, r, observationStates, "registered")
	if !ok {
		return false
	}
	k := catalogue.KindObservation
	if r.laboratory {
		k = catalogue.KindLab
	}
	s, ok := d.signal(r, k, status)
	if !ok {
		return false
	}
	s.ObservedAt = d.effective(r)
	components := d.components[r.firstComponent:r.lastComponent]
	said := false
	if len(components) == 0 || r.value.kind != noValue || status == acuity.SignalRetracted {
		own := s
		if !d.coded(r, &own, d.codes(nil, r, &r.code, "code"), "code") {
			return false
		}
		d.measure(r, &own, &r.value, "")
		said = true
	}
	for i := range components {
		c, part := &components[i], s
		field := "component[" + strconv.Itoa(i) + "]"
		codings := d.codes(nil, r, &c.code, field+".code")
		if len(codings) == 0 {
			d.warn(r, "code_missing", field+".code")
			continue
		}
		part.Resource += "." + strconv.Itoa(i)
		d.coded(r, &part, codings, field)
		d.measure(r, &part, &c.value, field+".")
		said = true
	}
	if !said {
		d.reject(r, "code_missing", "component")
	}
	return said
}

// measure gives a signal its value and adds it to the facts. A value that is absent for a
// reason was not measured, so the signal retracts an earlier one.
func (d *decoder) measure(r *resource, s *acuity.Signal, v *value, field string) {
	if s.Status == acuity.SignalActive {
		if v.kind == noValue && v.absent {
			s.Status = acuity.SignalRetracted
		}
		s.Value = d.valueOf(r, s, v, field)
	}
	d.say(r, *s)
}

// effective returns when the observation was made. For a period it is the end, unless
// that is in the future.
func (d *decoder) effective(r *resource) acuity.Instant {
	if at := d.time(r, r.at, "effective"); at != 0 {
		return at
	}
	if end, _, ok := d.instant(r.during.end); ok && end <= d.ReceivedAt {
		return end
	}
	if start := d.time(r, r.during.start, "effective.start"); start != 0 {
		return start
	}
	return d.time(r, r.issued, "issued")
}
