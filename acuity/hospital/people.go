package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
)

// people has the names of patients, and what FHIR resources say of those names.
type people struct {
	work *work
	keys *stateKeys

	references map[string]*ReferenceState // by name
	persons    map[string][]string        // further names of a patient, by name, as FHIR Patients give them
	patients   map[string][]*visit        // by pseudonym
	changed    []string                   // references that must be written, by name
}

// visitOf returns the newest open visit of a patient, else her newest; nil: there is
// none.
func (p *people) visitOf(patient string, not *visit) *visit {
	var best *visit
	better := func(v *visit) bool {
		if best == nil || v.timeline.Open != best.timeline.Open {
			return best == nil || v.timeline.Open
		}
		return cmp.Or(cmp.Compare(v.timeline.OpenedAt, best.timeline.OpenedAt), cmp.Compare(v.ID, best.ID)) > 0
	}
	look := func(name string) {
		for _, v := range p.patients[name] {
			if v != not && !v.timeline.Newborn && better(v) {
				best = v
			}
		}
	}
	look(patient)
	for _, name := range p.persons[patient] {
		look(name)
	}
	return best
}

// visitFor returns the visit that a statement about a patient belongs to: of the visits
// open at its receipt the one admitted last, else the first admitted within 24 h after
// it; nil: none yet. A newborn counts only if no mother does.
func (p *people) visitFor(r *unassigned, at acuity.Instant) *visit {
	var best *visit
	rank := func(v *visit) int {
		s := &v.timeline
		switch {
		case s.OpenedAt == 0:
			return 0
		case s.OpenedAt <= at && (s.ClosedAt == 0 || s.ClosedAt > at):
			return 2
		case s.OpenedAt > at && s.OpenedAt <= at.Add(settleAfter):
			return 1
		}
		return 0
	}
	better := func(v *visit) bool {
		x := rank(v)
		if x == 0 || best == nil {
			return x > 0
		}
		if v.timeline.Newborn != best.timeline.Newborn {
			return best.timeline.Newborn
		}
		if y := rank(best); x != y {
			return x > y
		}
		later := cmp.Or(cmp.Compare(v.timeline.OpenedAt, best.timeline.OpenedAt), cmp.Compare(v.ID, best.ID))
		if x == 1 {
			return later < 0
		}
		return later > 0
	}
	for _, name := range p.namesOf(r.names()) {
		for _, v := range p.patients[name] {
			if better(v) {
				best = v
			}
		}
	}
	return best
}

// namesOf adds to names all others that visits or FHIR Patients give to the same
// patient: her numbers and references. If she has too many, only the given names remain.
func (p *people) namesOf(names []string) []string {
	given := len(names)
	add := func(more []string) bool {
		for _, n := range more {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
			if len(names) > capNames {
				return false
			}
		}
		return true
	}
	for i := 0; i < len(names); i++ {
		for _, v := range p.patients[names[i]] {
			if !add(v.names) {
				return names[:given]
			}
		}
		if !add(p.persons[names[i]]) {
			return names[:given]
		}
	}
	return names
}

// joinPersons records that a number and a reference name the same patient.
func (p *people) joinPersons(r *acuity.Reference) {
	if r.Patient == "" || r.Patient == r.Name {
		return
	}
	if p.persons == nil {
		p.persons = map[string][]string{}
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		if !slices.Contains(p.persons[pair[0]], pair[1]) {
			p.persons[pair[0]] = append(p.persons[pair[0]], pair[1])
		}
	}
}

// separatePersons undoes joinPersons.
func (p *people) separatePersons(r *acuity.Reference) {
	if r.Patient == "" {
		return
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		left := slices.DeleteFunc(p.persons[pair[0]], func(n string) bool { return n == pair[1] })
		if p.persons[pair[0]] = left; len(left) == 0 {
			delete(p.persons, pair[0])
		}
	}
}

// delist takes a visit out of the index by patient.
func (p *people) delist(v *visit) {
	for _, name := range v.names {
		left := slices.DeleteFunc(p.patients[name], func(o *visit) bool { return o == v })
		if len(left) == 0 {
			delete(p.patients, name)
		} else {
			p.patients[name] = left
		}
	}
	v.names = nil
}

// markOthers marks the other visits of a visit's patient: her names may connect them to
// FHIR Patients that came on their own.
func (p *people) markOthers(v *visit) {
	if len(p.references) == 0 {
		return
	}
	for _, n := range p.namesOf(slices.Clone(v.names)) {
		for _, o := range p.patients[n] {
			if o != v {
				p.work.markVisit(o, dirtyTimeline)
			}
		}
	}
}

// isNeonate reports whether a FHIR Patient says that the patient is a newborn.
func (p *people) isNeonate(v *visit) bool {
	if len(p.references) == 0 || v.timeline.OpenedAt == 0 {
		return false
	}
	return slices.ContainsFunc(p.namesOf(slices.Clone(v.names)), func(name string) bool {
		r := p.references[name]
		return r != nil && r.IsNeonate() && v.timeline.OpenedAt <= r.UpdatedAt.Add(neonateFor)
	})
}

// orderOf returns the order of birth of a newborn by a FHIR Patient; 0: none.
func (p *people) orderOf(v *visit) (order uint8) {
	if len(p.references) == 0 || !v.timeline.Newborn {
		return 0
	}
	for _, name := range p.namesOf(slices.Clone(v.names)) {
		if r := p.references[name]; r != nil {
			order = max(order, r.BirthOrder())
		}
	}
	return order
}

// medication returns the codings of the Medication with a name; nil: there is none.
func (p *people) medication(name string) []acuity.Coding {
	if r := p.references[name]; r != nil {
		return r.Codings
	}
	return nil
}

// writeDirty writes the references that changed.
func (p *people) writeDirty(write func(key []byte, s Record)) {
	for _, name := range p.changed {
		if s := p.references[name]; s != nil {
			write(p.keys.key(kindReference, digest(name)), s)
		}
	}
	p.changed = emptied(p.changed)
}

// placeOf returns the place of a FHIR Location by its name, as one set of references has it;
// a zero place: it is unknown, or has none.
func placeOf(references map[string]*ReferenceState) func(name string) acuity.Location {
	return func(name string) acuity.Location {
		if s := references[name]; s != nil {
			return s.Place
		}
		return acuity.Location{}
	}
}
