package fhir

import (
	"cmp"

	"svc/acuity"
)

// referent makes the fact of a Medication or a Location that other messages may
// name. What only stands for itself in this body, nobody else can name.
func (d *decoder) referent(r *resource) bool {
	id := string(d.idOf(r))
	name := kindNames[r.kind] + "/" + id
	if id == "" || r.deleted || r.kind == medicationKind && len(name) > maxCode || len(name) > maxPlace {
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
