package fhir

import (
	"cmp"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

func (p *parser) administrationField(r *resource, key []byte) bool {
	switch string(key) {
	case "status":
		r.status = p.text()
	case "medicationCodeableConcept":
		r.code = p.concept()
	case "medicationReference":
		r.medication = p.reference()
	case "subject":
		r.subject = p.reference()
	case "context", "encounter":
		r.encounter = p.reference()
	case "effectiveDateTime":
		r.at = p.text()
	case "effectivePeriod":
		r.during = p.period()
	default:
		return false
	}
	return true
}

func (p *parser) medicationField(r *resource, key []byte) bool {
	switch string(key) {
	case "code":
		r.code = p.concept()
	case "ingredient":
		r.firstIngredient, r.lastIngredient = gather(p, &p.ingredients, maxItems, p.ingredient)
	default:
		return false
	}
	return true
}

func (p *parser) ingredient() (in ingredient, ok bool) {
	ok = p.space() == '{'
	for key := range p.fields() {
		switch string(key) {
		case "itemCodeableConcept":
			in.code = p.concept()
		case "itemReference":
			in.item = p.reference()
		case "isActive":
			active, said := p.flag()
			in.inactive = said && !active
		default:
			p.skip()
		}
	}
	return in, ok
}

var administrationStates = map[string]acuity.SignalStatus{
	"in-progress": acuity.SignalActive, "on-hold": acuity.SignalOnHold,
	"completed": acuity.SignalEnded, "stopped": acuity.SignalEnded,
	"not-done": acuity.SignalRetracted, "entered-in-error": acuity.SignalRetracted,
}

// administration creates the signal for a MedicationAdministration.
func (m *mapper) administration(r *resource) bool {
	status, ok := stateIn(m, r, administrationStates)
	if !ok {
		return false
	}
	s, ok := m.signal(r, catalogue.KindMedication, status)
	if !ok || !m.addCodings(r, &s, m.medicine(r), "medication") {
		return false
	}
	at, sent := m.moment(r, r.at, "effective")
	var start acuity.Moment
	if s.StartedAt, start = m.moment(r, r.during.start, "effective.start"); s.StartedAt == 0 {
		s.StartedAt, start = at, sent
	}
	s.StartedFrom = start.Start()
	// A running administration counts as observed at its start. An administration that has ended counts as observed
	// at its end, if the end is known.
	s.ObservedAt, s.ObservedFrom = s.StartedAt, s.StartedFrom
	switch status {
	case acuity.SignalRetracted:
	case acuity.SignalActive, acuity.SignalOnHold:
		m.warnUnusedEnd(r, r.during.end, "effective.end")
	case acuity.SignalEnded:
		end, sent := m.moment(r, r.during.end, "effective.end")
		switch {
		case end != 0:
			s.ObservedAt, s.ObservedFrom = end, sent.Start()
		case at == 0: // an unknown end lies between the start and this version
			s.ObservedAt = max(s.UpdatedAt, s.StartedAt)
			s.ObservedFrom = cmp.Or(s.StartedFrom, s.StartedAt)
			if s.UpdatedAt == 0 {
				s.ObservedAt = 0 // 0 means now
			}
		}
	}
	m.addSignal(r, s)
	return true
}

// medicine returns the codings of the medication that was given.
func (m *mapper) medicine(r *resource) []acuity.Coding {
	codings := m.codes(nil, r, &r.code, "medication")
	if r.medication.empty() && r.medication.display.empty() {
		return codings
	}
	t, found := m.follow(&r.medication, medicationKind, r)
	if found && t.at >= 0 {
		return m.product(codings, r, &m.resources[t.at], true)
	}
	if r.deleted {
		return codings
	}
	// This body does not contain the Medication. Until the Medication arrives, the name in the reference serves as
	// its code; it may be a local code that the hospital has mapped.
	if found && len(codings) == 0 {
		codings = append(codings, m.elsewhere(r, &t, "medication")...)
	}
	if reduced := m.reduced(r.medication.display); reduced != "" {
		codings = add(codings, acuity.Coding{Display: reduced})
	}
	return codings
}

// elsewhere returns the name of a Medication in another message as a coding, or nil if the name is too long. It also
// warns that the reference is unresolved.
func (m *mapper) elsewhere(r *resource, t *target, field string) []acuity.Coding {
	m.warn(r, "reference_unresolved", field)
	code := printable(cmp.Or(t.name, t.logical))
	if len(code) > maxCode {
		return nil
	}
	return add(nil, acuity.Coding{System: codes.SystemLocal, Code: code})
}

// product adds the codings of a Medication and its ingredients. An ingredient's display name includes the names of
// the other ingredients, so that rules do not mistake a part for the whole: the epinephrine in lidocaine is not an
// epinephrine infusion.
func (m *mapper) product(dst []acuity.Coding, r, given *resource, deep bool) []acuity.Coding {
	code, inside := "medication", "medication"
	if r == given {
		code, inside = "code", "ingredient"
	}
	dst = m.codes(dst, r, &given.code, code)
	var parts []acuity.Coding
	var names []string // names of the ingredients, with a placeholder for each one that another message contains
	for i := range m.ingredients[given.firstIngredient:given.lastIngredient] {
		in := &m.ingredients[given.firstIngredient:given.lastIngredient][i]
		if in.inactive {
			continue
		}
		part := m.codes(nil, r, &in.code, inside)
		switch t, ok := m.follow(&in.item, medicationKind, given); {
		case ok && t.at >= 0 && deep:
			part = m.product(part, r, &m.resources[t.at], false)
		case ok && t.at < 0 && len(part) == 0:
			part = m.elsewhere(r, &t, inside)
			names = append(names, "unknown")
		case !ok && !in.item.empty() && len(part) == 0:
			m.warn(r, "reference_unusable", inside)
			names = append(names, "unknown")
		}
		for _, c := range part {
			if c.Display != "" {
				names = append(names, c.Display)
				break
			}
		}
		parts = append(parts, part...)
	}
	together := ""
	if len(names) > 1 {
		together = codes.MaskDisplay(strings.Join(names, " / "))
	}
	for _, c := range parts {
		if together != "" {
			c.Display = together
		}
		if c.Code != "" || c.Display != "" {
			dst = add(dst, c)
		}
	}
	return dst
}
