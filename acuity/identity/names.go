// Package identity decides whom a name in a message means.
//
// [Names] knows the patients, visits and FHIR resources by their names. [Joins] decides which visits
// are one. [Locations] says which room a location is, [Matcher] what a code stands for. [Timelines]
// builds the timeline of each visit from the events that are its own.
package identity

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// Names says which patient, visit or resource a name in a message means.
type Names struct {
	*registry.Registry
	Matcher  *Matcher
	Worklist *Worklist
	Joins    *Joins

	References facts.Table[string, *facts.ReferenceState] // by name
	Persons    map[string][]string                        // further names of a patient, by name, as FHIR Patients give them
	Patients   map[string][]*registry.Visit               // by pseudonym
	Parts      []*registry.Visit                          // visits that are part of another, perhaps of the mother's; ascending by id

	ByEncounter map[string]*registry.Visit // by the names of the visit's Encounters
	Versions    map[string]*registry.Visit // the visit that has the events of a version of an Encounter, by resource

	// The statements that are about a patient, but about no visit.
	BySubject map[registry.SubjectName]*registry.Unassigned
	ByPatient map[string][]*registry.Unassigned // by the names of their patients
	Resources map[string]Holder                 // the holder of the statements of a resource
}

// VisitOf returns the newest open visit of a patient, else her newest; nil: there is
// none.
func (ns *Names) VisitOf(patient string, not *registry.Visit) *registry.Visit {
	var best *registry.Visit
	better := func(v *registry.Visit) bool {
		if best == nil || v.Timeline.Open != best.Timeline.Open {
			return best == nil || v.Timeline.Open
		}
		return cmp.Or(cmp.Compare(v.Timeline.OpenedAt, best.Timeline.OpenedAt), cmp.Compare(v.ID, best.ID)) > 0
	}
	consider := func(name string) {
		for _, v := range ns.Patients[name] {
			if v = v.Whole(); v != not && !v.Timeline.Newborn && better(v) {
				best = v
			}
		}
	}
	consider(patient)
	for _, name := range ns.Persons[patient] {
		consider(name)
	}
	return best
}

// VisitFor returns the visit that a statement about a patient belongs to: of the visits
// open at its receipt the one admitted last, else the first admitted within 24 h after
// it; nil: none yet. A newborn counts only if no mother does.
func (ns *Names) VisitFor(r *registry.Unassigned, at acuity.Instant) *registry.Visit {
	var best *registry.Visit
	rank := func(v *registry.Visit) int {
		s := &v.Timeline
		switch {
		case s.OpenedAt == 0:
			return 0
		case s.OpenedAt <= at && (s.ClosedAt == 0 || s.ClosedAt > at):
			return 2
		case s.OpenedAt > at && s.OpenedAt <= at.Add(registry.SettleAfter):
			return 1
		}
		return 0
	}
	better := func(v *registry.Visit) bool {
		x := rank(v)
		if x == 0 || best == nil {
			return x > 0
		}
		if v.Timeline.Newborn != best.Timeline.Newborn {
			return best.Timeline.Newborn
		}
		if y := rank(best); x != y {
			return x > y
		}
		later := cmp.Or(cmp.Compare(v.Timeline.OpenedAt, best.Timeline.OpenedAt), cmp.Compare(v.ID, best.ID))
		if x == 1 {
			return later < 0
		}
		return later > 0
	}
	for _, name := range ns.NamesOf(r.Names()) {
		for _, v := range ns.Patients[name] {
			if v = v.Whole(); v != best && better(v) {
				best = v
			}
		}
	}
	return best
}

// NamesOf adds to names all others that visits or FHIR Patients give to the same
// patient: her numbers and references. If she has too many, only the given names remain.
func (ns *Names) NamesOf(names []string) []string {
	given := len(names)
	add := func(more []string) bool {
		for _, n := range more {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
			if len(names) > CapNames {
				return false
			}
		}
		return true
	}
	for i := 0; i < len(names); i++ {
		for _, v := range ns.Patients[names[i]] {
			if !add(v.Names) {
				return names[:given]
			}
		}
		if !add(ns.Persons[names[i]]) {
			return names[:given]
		}
	}
	return names
}

// JoinPersons records that a number and a reference name the same patient.
func (ns *Names) JoinPersons(r *acuity.Reference) {
	if r.Patient == "" || r.Patient == r.Name {
		return
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		if !slices.Contains(ns.Persons[pair[0]], pair[1]) {
			ns.Persons[pair[0]] = append(ns.Persons[pair[0]], pair[1])
		}
	}
}

// separatePersons undoes JoinPersons.
func (ns *Names) separatePersons(r *acuity.Reference) {
	if r.Patient == "" {
		return
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		removeFrom(ns.Persons, pair[0], pair[1])
	}
}

// Delist takes a visit out of the index by patient.
func (ns *Names) Delist(v *registry.Visit) {
	for _, name := range v.Names {
		removeFrom(ns.Patients, name, v)
	}
	v.Names = nil
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
func (ns *Names) touchOthersOf(v *registry.Visit) {
	if len(ns.References.Rows)+len(ns.Joins.Accounts)+len(ns.Joins.Wholes)+ns.Joins.Holders == 0 {
		return
	}
	for _, n := range ns.NamesOf(slices.Clone(v.Names)) {
		for _, o := range ns.Patients[n] {
			if o != v {
				ns.Work.MarkVisit(o, registry.Touched)
			}
		}
	}
}

// isNeonate reports whether a FHIR Patient says that the patient is a newborn.
func (ns *Names) isNeonate(v *registry.Visit) bool {
	if len(ns.References.Rows) == 0 || v.Timeline.OpenedAt == 0 {
		return false
	}
	return slices.ContainsFunc(ns.NamesOf(v.AllNames()), func(name string) bool {
		r := ns.References.Rows[name]
		return r != nil && r.IsNeonate() && v.Timeline.OpenedAt <= r.UpdatedAt.Add(neonateFor)
	})
}

// birthOrderOf returns the order of birth of a newborn by a FHIR Patient; 0: none.
func (ns *Names) birthOrderOf(v *registry.Visit) (order uint8) {
	if len(ns.References.Rows) == 0 || !v.Timeline.Newborn {
		return 0
	}
	for _, name := range ns.NamesOf(v.AllNames()) {
		if r := ns.References.Rows[name]; r != nil {
			order = max(order, r.BirthOrder())
		}
	}
	return order
}

// Medication returns the codings of the Medication with a name; nil: there is none.
func (ns *Names) Medication(name string) []acuity.Coding {
	if r := ns.References.Rows[name]; r != nil {
		return r.Codings
	}
	return nil
}

// PlaceOf returns the place of a FHIR Location by its name; a zero place: it is unknown, or
// has none.
func (ns *Names) PlaceOf(name string) acuity.Location {
	if s := ns.References.Rows[name]; s != nil {
		return s.Place
	}
	return acuity.Location{}
}

// VisitOfVersion returns the visit of a version of an Encounter: by its identifier, else
// by another version that named one; nil: it is not known yet.
func (ns *Names) VisitOfVersion(e *acuity.Event, holder *registry.Visit) *registry.Visit {
	if holder != nil && (e.Void || e.Visit == "" || e.Encounter == "" || e.Visit == e.Encounter) {
		return holder // the version has no identifier
	}
	if e.Visit != "" {
		return ns.VisitCalled(e.Visit)
	}
	return ns.Visits[e.Encounter]
}

// VisitCalled returns the visit with an identity, or with an Encounter of that name;
// nil: there is none.
func (ns *Names) VisitCalled(name string) *registry.Visit {
	if v := ns.ByEncounter[name]; v != nil {
		return v
	}
	return ns.Visits[name]
}

// Index fills the indexes of resources and their names from the facts.
func (ns *Names) Index() {
	ns.Work.RecountWaiting = true
	ns.Versions, ns.ByEncounter, ns.Resources = map[string]*registry.Visit{}, map[string]*registry.Visit{}, map[string]Holder{}
	for _, v := range ns.Visits {
		for i := range v.Events {
			e := &v.Events[i]
			if e.Resource == "" {
				continue
			}
			ns.Versions[e.Resource] = v
			if e.Encounter != "" {
				ns.ByEncounter[e.Encounter] = v
			}
		}
		ns.indexResources(Holder{V: v})
	}
	for _, r := range ns.BySubject {
		ns.indexResources(Holder{Unassigned: r})
	}
}

// indexResources indexes the resources of a holder.
func (ns *Names) indexResources(by Holder) {
	list := by.ResourceStatements()
	for i := range list {
		if whole := list[i].WholeResource(); whole != "" && !list[i].Version.IsDescribed() {
			ns.Resources[whole] = by
		}
	}
}

// bornOf reports whether a visit is a part of a visit of another patient. Names
// distinguish patients only if they are of one kind: the mother by number and by
// reference are not two. So both kinds must be known of one of them, or both have names
// by Encounters.
func (ns *Names) bornOf(v *registry.Visit) bool {
	whole := ns.VisitCalled(v.Timeline.MotherVisit).Whole()
	if v.Timeline.MotherVisit == "" || whole == nil || whole == v {
		return false
	}
	names, others := ns.NamesOf(v.AllNames()), ns.NamesOf(whole.AllNames())
	if len(names) == 0 || len(others) == 0 {
		return false
	}
	alike := len(v.Timeline.Subjects) > 0 && len(whole.Timeline.Subjects) > 0
	if !alike && len(names) == 1 && len(others) == 1 {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(others, n) })
}
