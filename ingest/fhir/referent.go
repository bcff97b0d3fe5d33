package fhir

import (
	"cmp"

	"svc/acuity"
)

// referent makes the fact of a Medication, a Location or a Patient that other
// messages may name. What only stands for itself in this body, nobody else can name.
func (d *decoder) referent(r *resource) bool {
	id := string(d.idOf(r))
	switch {
	case id == "" || r.deleted:
		return false
	case r.kind == patientKind:
		return d.patient(r)
	}
	name := kindNames[r.kind] + "/" + id
	if r.kind == medicationKind && len(name) > maxCode || len(name) > maxPlace {
		return false
	}
	f := acuity.Referent{Name: name, UpdatedAt: d.time(r, r.updated, "meta.lastUpdated")}
	if r.kind == medicationKind {
		f.Codings = d.product(nil, r, r, true)
	} else {
		f.Place, _ = d.within(r, cmp.Or(d.called(r, r), id), string(d.bytes(r.physical)))
	}
	if len(f.Codings) == 0 && f.Place.IsZero() {
		return false
	}
	d.facts.Referents = append(d.facts.Referents, f)
	if number := d.identifierOf(r, ""); r.kind == medicationKind && number != "" && len(number) <= maxCode {
		f.Name = number // as a logical reference has it
		d.facts.Referents = append(d.facts.Referents, f)
	}
	return true
}

// patient makes the fact that the reference to a Patient and a number are the same.
func (d *decoder) patient(r *resource) bool {
	if d.person(r); r.person == "" {
		return false
	}
	d.facts.Referents = append(d.facts.Referents, acuity.Referent{
		Name: r.person, Patient: r.patient, UpdatedAt: d.time(r, r.updated, "meta.lastUpdated"),
	})
	return true
}
