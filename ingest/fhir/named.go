package fhir

import (
	"cmp"

	"svc/acuity"
)

// referable makes the fact of a Medication, a Location or a Patient that other messages
// may refer to, by id or by number. A resource known only by a placeholder of this body
// makes no such fact, since nobody else can refer to it.
func (m *mapper) referable(r *resource) bool {
	id := printable(string(m.idOf(r)))
	switch {
	case r.deleted:
		return false
	case r.kind == patientKind:
		return id != "" && m.patient(r)
	}
	f := acuity.Reference{UpdatedAt: m.time(r, r.updated, "meta.lastUpdated")}
	number, most := m.identifierOf(r, ""), maxCode // in the form of a logical reference
	if r.kind == medicationKind {
		f.Codings = m.product(nil, r, r, true)
	} else {
		f.Place = m.within(r, cmp.Or(m.called(r, r), id), string(m.bytes(r.physical)))
		most = maxPlace
		if number != "" {
			number = acuity.LocationName + number
		}
	}
	if len(f.Codings) == 0 && f.Place.IsZero() {
		return false
	}
	if id != "" {
		id = kindNames[r.kind] + "/" + id
	}
	named := false
	for _, f.Name = range [...]string{id, number} {
		if f.Name != "" && len(f.Name) <= most && (f.Name != id || !named) {
			m.facts.References = append(m.facts.References, f)
			named = true
		}
	}
	return named
}

// patient makes the fact of a Patient: the reference and the number mean the same
// patient. It also says whether the patient is a newborn now, and its order in a multiple
// birth. The birth order of an older patient says nothing about a birth here.
func (m *mapper) patient(r *resource) bool {
	m.person(r)
	at := cmp.Or(m.time(r, r.updated, "meta.lastUpdated"), m.ReceivedAt)
	f := acuity.Reference{Name: r.person, Patient: r.patient, UpdatedAt: at}
	if r.person == "" {
		f.Name, f.Patient = r.patient, ""
	}
	_, precision, dated := m.instant(r.birth)
	newborn := m.newborn(r, at)
	if newborn {
		f.Codings = append(f.Codings, acuity.Neonate)
	}
	older := dated && precision <= acuity.Day && !newborn
	if order := m.birthOrder(r); order != "" && !older {
		f.Codings = append(f.Codings, acuity.Coding{System: acuity.MultipleBirth, Code: order})
	}
	if len(f.Codings) == 0 && f.Patient == "" {
		return false
	}
	m.facts.References = append(m.facts.References, f)
	return true
}
