// Package identity resolves the names in messages.
//
// [Names] finds patients, visits and FHIR resources by name. [Joins] decides which visits are the same stay.
// [Locations] maps locations to rooms. [Matcher] matches codes. [Timelines] builds the timeline of each visit from its
// events.
package identity

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// Names resolves the names of patients, visits and resources in messages.
type Names struct {
	*registry.Registry
	Matcher  *Matcher
	Worklist *Worklist
	Joins    *Joins

	References facts.Table[string, *facts.ReferenceState] // references by name
	Persons    map[string][]string                        // additional names of a patient from FHIR Patients, by name
	Patients   map[string][]*registry.Visit               // visits by their patient's pseudonym
	Parts      []*registry.Visit                          // visits that are part of another visit, possibly the mother's; ascending by id

	ByEncounter map[string]*registry.Visit // keyed by the names of the visit's Encounters
	Versions    map[string]*registry.Visit // visit that stores the events of each Encounter, by resource

	// BySubject contains the statements that name a patient but no visit, and the retractions that name only a
	// resource.
	BySubject map[registry.SubjectName]*registry.Unassigned
	ByPatient map[string][]*registry.Unassigned // keyed by the names of the patients
	Resources map[string]Holder                 // holder of the statements of a resource
	// Undecided lists the visits with a statement whose patient may differ from the visit's. Its keys are the names
	// of the patient in the statement. Outdated entries remain until the next Index.
	Undecided map[string][]*registry.Visit
}

// VisitOf returns the newest open visit of a patient or, if none is open, the newest visit. It ignores newborns'
// visits and the visit given as the second argument. It returns nil if no other visit exists.
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

// VisitFor returns the visit that a statement about a patient belongs to: among the visits that were open when the
// statement was received, the one admitted last; if none was open, the first one admitted within the next 24 h. It
// returns nil if there is no such visit yet. A newborn's visit is used only if no mother's visit matches.
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

// NamesOf returns the given names and all other names (numbers and references) that visits or FHIR Patients give to
// the same patient. If there are too many, it returns only the given names.
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

// JoinPersons records that the number and the reference in a FHIR Patient identify the same patient.
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

// Delist removes a visit from the Patients index.
func (ns *Names) Delist(v *registry.Visit) {
	for _, name := range v.Names {
		removeFrom(ns.Patients, name, v)
	}
	v.Names = nil
}

// removeFrom removes a value from a list in an index. If the list is then empty, removeFrom removes the list from the
// index.
func removeFrom[K, V comparable](index map[K][]V, key K, value V) {
	left := slices.DeleteFunc(index[key], func(v V) bool { return v == value })
	if index[key] = left; len(left) == 0 {
		delete(index, key)
	}
}

// touchOthersOf touches the other visits of a visit's patient, because the patient's names may link those visits to
// FHIR Patients that were received separately.
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

// isNeonate reports whether a version of a FHIR Patient says that the visit's patient is a newborn, and the visit
// opened at most neonateFor after that version.
func (ns *Names) isNeonate(v *registry.Visit) bool {
	if len(ns.References.Rows) == 0 || v.Timeline.OpenedAt == 0 {
		return false
	}
	return slices.ContainsFunc(ns.NamesOf(v.AllNames()), func(name string) bool {
		r := ns.References.Rows[name]
		return r != nil && r.IsNeonate() && v.Timeline.OpenedAt <= r.UpdatedAt.Add(neonateFor)
	})
}

// birthOrderOf returns a newborn's birth order from a FHIR Patient, or 0 if none gives it.
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

// Medication returns the codings of the Medication with the given name, or nil if there is none.
func (ns *Names) Medication(name string) []acuity.Coding {
	if r := ns.References.Rows[name]; r != nil {
		return r.Codings
	}
	return nil
}

// PlaceOf returns the place of a FHIR Location by its name. A zero place means that the Location is unknown or has no
// place.
func (ns *Names) PlaceOf(name string) acuity.Location {
	if s := ns.References.Rows[name]; s != nil {
		return s.Place
	}
	return acuity.Location{}
}

// VisitOfVersion returns the visit to which a version of an Encounter belongs, or nil if that visit is not known yet.
// A version with a visit number belongs to the visit with that number. A void version and a version without a number
// belong to holder, which is the visit that stores the resource's events; if holder is nil, they belong to the visit
// named after the Encounter.
func (ns *Names) VisitOfVersion(e *acuity.Event, holder *registry.Visit) *registry.Visit {
	if holder != nil && (e.Void || e.Visit == "" || e.Encounter == "" || e.Visit == e.Encounter) {
		return holder // the version is void or has no visit number
	}
	if e.Visit != "" {
		return ns.VisitCalled(e.Visit)
	}
	return ns.Visits[e.Encounter]
}

// VisitCalled returns the visit that stores the Encounter with the given name or, if there is none, the visit whose
// id is the name. It returns nil if neither exists.
func (ns *Names) VisitCalled(name string) *registry.Visit {
	if v := ns.ByEncounter[name]; v != nil {
		return v
	}
	return ns.Visits[name]
}

// Index builds the indexes of resources and their names from the facts.
func (ns *Names) Index() {
	ns.Work.RecountWaiting = true
	ns.Versions, ns.ByEncounter, ns.Resources = map[string]*registry.Visit{}, map[string]*registry.Visit{}, map[string]Holder{}
	ns.Undecided = map[string][]*registry.Visit{}
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

// indexResources adds a holder's resources to the index.
func (ns *Names) indexResources(by Holder) {
	list := by.ResourceStatements()
	for i := range list {
		if v := list[i].Version; by.V != nil && v != nil && v.Subject != nil {
			ns.AddUndecided(by.V, v.Subject)
		}
		if whole := list[i].WholeResource(); whole != "" && !list[i].Version.IsDescribed() {
			ns.Resources[whole] = by
		}
	}
}

// bornOf reports whether a visit is part of another patient's visit. Two names distinguish patients only if both names
// are of the same kind, because one mother may have a number and a reference. So one of the two visits must have names
// of both kinds, or both visits must have names from Encounters.
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
