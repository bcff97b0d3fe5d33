package fhir

import (
	"cmp"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

func (d *decoder) administrationField(r *resource, key []byte) bool {
	switch string(key) {
	case "status":
		r.status = d.text()
	case "medicationCodeableConcept":
		r.code = d.concept()
	case "medicationReference":
		r.medication = d.reference()
	case "subject":
		r.subject = d.reference()
	case "context", "encounter":
		r.encounter = d.reference()
	case "effectiveDateTime":
		r.at = d.text()
	case "effectivePeriod":
		r.during = d.period()
	default:
		return false
	}
	return true
}

func (d *decoder) medicationField(r *resource, key []byte) bool {
	switch string(key) {
	case "code":
		r.code = d.concept()
	case "ingredient":
		r.firstIngredient, r.lastIngredient = gather(d, &d.ingredients, maxItems, d.ingredient)
	default:
		return false
	}
	return true
}

func (d *decoder) ingredient() (in ingredient, ok bool) {
	ok = d.space() == '{'
	for key := range d.fields() {
		switch string(key) {
		case "itemCodeableConcept":
			in.code = d.concept()
		case "itemReference":
			in.item = d.reference()
		case "isActive":
			active, said := d.flag()
			in.inactive = said && !active
		default:
			d.skip()
		}
	}
	return in, ok
}

var administrationStates = map[string]acuity.SignalStatus{
	"in-progress": acuity.SignalActive, "on-hold": acuity.SignalOnHold,
	"completed": acuity.SignalEnded, "stopped": acuity.SignalEnded,
	"not-done": acuity.SignalRetracted, "entered-in-error": acuity.SignalRetracted,
}

// administration makes the signal of a MedicationAdministration.
func (d *decoder) administration(r *resource) bool {
	status, ok := stateIn(d, r, administrationStates)
	if !ok {
		return false
	}
	s, ok := d.signal(r, catalogue.KindMedication, status)
	if !ok || !d.coded(r, &s, d.medicine(r), "medication") {
		return false
	}
	at := d.time(r, r.at, "effective")
	s.StartedAt = d.time(r, r.during.start, "effective.start")
	if s.StartedAt == 0 {
		s.StartedAt = at
	}
	// The effective time of a running administration is its start. For an ended one it is
	// the end, if that is known.
	s.ObservedAt = s.StartedAt
	if status == acuity.SignalEnded {
		end := d.time(r, r.during.end, "effective.end")
		switch {
		case end != 0:
			s.ObservedAt = end
		case at == 0:
			s.ObservedAt = max(s.UpdatedAt, s.StartedAt)
			if s.UpdatedAt == 0 {
				s.ObservedAt = 0 // now
			}
		}
	}
	d.say(r, s)
	return true
}

// medicine returns the codings of the given medication.
func (d *decoder) medicine(r *resource) []acuity.Coding {
	codings := d.codes(nil, r, &r.code, "medication")
	if r.medication.empty() && r.medication.display.empty() {
		return codings
	}
	t, found := d.follow(&r.medication, medicationKind, r)
	if found && t.at >= 0 {
		return d.product(codings, r, &d.resources[t.at], true)
	}
	if r.deleted {
		return codings
	}
	// This body does not have the Medication. Its name stands for it until it comes. The
	// name may also be a code of the hospital, which can be mapped.
	if found && len(codings) == 0 {
		codings = append(codings, d.elsewhere(r, &t, "medication")...)
	}
	if reduced := d.reduced(r.medication.display); reduced != "" {
		codings = d.add(codings, acuity.Coding{Display: reduced})
	}
	return codings
}

// elsewhere returns the name of a Medication that comes in another message.
func (d *decoder) elsewhere(r *resource, t *target, field string) []acuity.Coding {
	d.warn(r, "reference_unresolved", field)
	code := printable(cmp.Or(t.name, t.logical))
	if len(code) > maxCode {
		return nil
	}
	return d.add(nil, acuity.Coding{System: codes.SystemLocal, Code: code})
}

// product adds the codings of a Medication and of its ingredients. An ingredient of a
// mixture is named with all the others, so that no rule takes a part for the whole:
// epinephrine in lidocaine is no drip.
func (d *decoder) product(dst []acuity.Coding, r, m *resource, deep bool) []acuity.Coding {
	code, inside := "medication", "medication"
	if r == m {
		code, inside = "code", "ingredient"
	}
	dst = d.codes(dst, r, &m.code, code)
	var parts []acuity.Coding
	var names []string // names of the ingredients; a placeholder for one that comes in another message
	for i := range d.ingredients[m.firstIngredient:m.lastIngredient] {
		in := &d.ingredients[m.firstIngredient:m.lastIngredient][i]
		if in.inactive {
			continue
		}
		part := d.codes(nil, r, &in.code, inside)
		if t, ok := d.follow(&in.item, medicationKind, m); ok && t.at >= 0 && deep {
			part = d.product(part, r, &d.resources[t.at], false)
		} else if ok && t.at < 0 && len(part) == 0 {
			part = d.elsewhere(r, &t, inside)
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
			dst = d.add(dst, c)
		}
	}
	return dst
}
