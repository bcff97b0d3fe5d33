package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
)

// names says which patient, visit or resource a name in a message means.
type names struct {
	*registry
	matcher  *matcher
	worklist *worklist
	joins    *joins

	references map[string]*ReferenceState // by name
	persons    map[string][]string        // further names of a patient, by name, as FHIR Patients give them
	patients   map[string][]*visit        // by pseudonym
	changed    []string                   // references that must be written, by name
	parts      []*visit                   // visits that are part of another, perhaps of the mother's; ascending by id

	byEncounter map[string]*visit // by the names of the visit's Encounters
	versions    map[string]*visit // the visit that has the events of a version of an Encounter, by resource

	// The statements that are about a patient, but about no visit.
	bySubject map[subjectName]*unassigned
	byPatient map[string][]*unassigned // by the names of their patients
	resources map[string]holder        // the holder of the statements of a resource
}

// visitOf returns the newest open visit of a patient, else her newest; nil: there is
// none.
func (ns *names) visitOf(patient string, not *visit) *visit {
	var best *visit
	better := func(v *visit) bool {
		if best == nil || v.timeline.Open != best.timeline.Open {
			return best == nil || v.timeline.Open
		}
		return cmp.Or(cmp.Compare(v.timeline.OpenedAt, best.timeline.OpenedAt), cmp.Compare(v.ID, best.ID)) > 0
	}
	consider := func(name string) {
		for _, v := range ns.patients[name] {
			if v = v.whole(); v != not && !v.timeline.Newborn && better(v) {
				best = v
			}
		}
	}
	consider(patient)
	for _, name := range ns.persons[patient] {
		consider(name)
	}
	return best
}

// visitFor returns the visit that a statement about a patient belongs to: of the visits
// open at its receipt the one admitted last, else the first admitted within 24 h after
// it; nil: none yet. A newborn counts only if no mother does.
func (ns *names) visitFor(r *unassigned, at acuity.Instant) *visit {
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
	for _, name := range ns.namesOf(r.names()) {
		for _, v := range ns.patients[name] {
			if v = v.whole(); v != best && better(v) {
				best = v
			}
		}
	}
	return best
}

// namesOf adds to names all others that visits or FHIR Patients give to the same
// patient: her numbers and references. If she has too many, only the given names remain.
func (ns *names) namesOf(names []string) []string {
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
		for _, v := range ns.patients[names[i]] {
			if !add(v.names) {
				return names[:given]
			}
		}
		if !add(ns.persons[names[i]]) {
			return names[:given]
		}
	}
	return names
}

// joinPersons records that a number and a reference name the same patient.
func (ns *names) joinPersons(r *acuity.Reference) {
	if r.Patient == "" || r.Patient == r.Name {
		return
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		if !slices.Contains(ns.persons[pair[0]], pair[1]) {
			ns.persons[pair[0]] = append(ns.persons[pair[0]], pair[1])
		}
	}
}

// separatePersons undoes joinPersons.
func (ns *names) separatePersons(r *acuity.Reference) {
	if r.Patient == "" {
		return
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		removeFrom(ns.persons, pair[0], pair[1])
	}
}

// delist takes a visit out of the index by patient.
func (ns *names) delist(v *visit) {
	for _, name := range v.names {
		removeFrom(ns.patients, name, v)
	}
	v.names = nil
}

// removeFrom removes a value from a list of an index, and an empty list from the index.
func removeFrom[K, V comparable](index map[K][]V, key K, value V) {
	left := slices.DeleteFunc(index[key], func(v V) bool { return v == value })
	if index[key] = left; len(left) == 0 {
		delete(index, key)
	}
}

// touchOthersOf touches the other visits of a visit's patient: her names may connect them to
// FHIR Patients that came on their own.
func (ns *names) touchOthersOf(v *visit) {
	if len(ns.references)+len(ns.joins.accounts)+len(ns.joins.wholes)+ns.joins.holders == 0 {
		return
	}
	for _, n := range ns.namesOf(slices.Clone(v.names)) {
		for _, o := range ns.patients[n] {
			if o != v {
				ns.work.markVisit(o, touched)
			}
		}
	}
}

// isNeonate reports whether a FHIR Patient says that the patient is a newborn.
func (ns *names) isNeonate(v *visit) bool {
	if len(ns.references) == 0 || v.timeline.OpenedAt == 0 {
		return false
	}
	return slices.ContainsFunc(ns.namesOf(v.allNames()), func(name string) bool {
		r := ns.references[name]
		return r != nil && r.IsNeonate() && v.timeline.OpenedAt <= r.UpdatedAt.Add(neonateFor)
	})
}

// birthOrderOf returns the order of birth of a newborn by a FHIR Patient; 0: none.
func (ns *names) birthOrderOf(v *visit) (order uint8) {
	if len(ns.references) == 0 || !v.timeline.Newborn {
		return 0
	}
	for _, name := range ns.namesOf(v.allNames()) {
		if r := ns.references[name]; r != nil {
			order = max(order, r.BirthOrder())
		}
	}
	return order
}

// medication returns the codings of the Medication with a name; nil: there is none.
func (ns *names) medication(name string) []acuity.Coding {
	if r := ns.references[name]; r != nil {
		return r.Codings
	}
	return nil
}

// writeDirty writes the references that changed.
func (ns *names) writeDirty(write func(key []byte, s Record)) {
	for _, name := range ns.changed {
		if s := ns.references[name]; s != nil {
			write(ns.keys.key(kindReference, digest(name)), s)
		}
	}
	ns.changed = emptied(ns.changed)
}

// placeOf returns the place of a FHIR Location by its name; a zero place: it is unknown, or
// has none.
func (ns *names) placeOf(name string) acuity.Location {
	if s := ns.references[name]; s != nil {
		return s.Place
	}
	return acuity.Location{}
}

// visitOfVersion returns the visit of a version of an Encounter: by its identifier, else
// by another version that named one; nil: it is not known yet.
func (ns *names) visitOfVersion(e *acuity.Event, holder *visit) *visit {
	if holder != nil && (e.Void || e.Visit == "" || e.Encounter == "" || e.Visit == e.Encounter) {
		return holder // the version has no identifier
	}
	if e.Visit != "" {
		return ns.visitCalled(e.Visit)
	}
	return ns.visits[e.Encounter]
}

// visitCalled returns the visit with an identity, or with an Encounter of that name;
// nil: there is none.
func (ns *names) visitCalled(name string) *visit {
	if v := ns.byEncounter[name]; v != nil {
		return v
	}
	return ns.visits[name]
}

// index fills the indexes of resources and their names from the facts.
func (ns *names) index() {
	ns.work.recountWaiting = true
	ns.versions, ns.byEncounter, ns.resources = map[string]*visit{}, map[string]*visit{}, map[string]holder{}
	for _, v := range ns.visits {
		for i := range v.events {
			e := &v.events[i]
			if e.Resource == "" {
				continue
			}
			ns.versions[e.Resource] = v
			if e.Encounter != "" {
				ns.byEncounter[e.Encounter] = v
			}
		}
		ns.indexResources(holder{v: v})
	}
	for _, r := range ns.bySubject {
		ns.indexResources(holder{unassigned: r})
	}
}

// indexResources indexes the resources of a holder.
func (ns *names) indexResources(by holder) {
	list := by.resourceStatements()
	for i := range list {
		if whole := list[i].WholeResource(); whole != "" && !list[i].Version.IsDescribed() {
			ns.resources[whole] = by
		}
	}
}

// bornOf reports whether a visit is a part of a visit of another patient. Names
// distinguish patients only if they are of one kind: the mother by number and by
// reference are not two. So both kinds must be known of one of them, or both have names
// by Encounters.
func (ns *names) bornOf(v *visit) bool {
	whole := ns.visitCalled(v.timeline.MotherVisit).whole()
	if v.timeline.MotherVisit == "" || whole == nil || whole == v {
		return false
	}
	names, others := ns.namesOf(v.allNames()), ns.namesOf(whole.allNames())
	if len(names) == 0 || len(others) == 0 {
		return false
	}
	alike := len(v.timeline.Subjects) > 0 && len(whole.timeline.Subjects) > 0
	if !alike && len(names) == 1 && len(others) == 1 {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(others, n) })
}
