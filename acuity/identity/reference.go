package identity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// StoreReferences stores the Medications, Locations and Patients to which other resources refer.
func (ns *Names) StoreReferences(in *registry.Intake) {
	codes, persons := map[string]bool{}, map[string]bool{} // changed Medications and changed Patients
	placesChanged := false
	noteChange := func(s *facts.ReferenceState) {
		if len(s.Codings) > 0 {
			codes[s.Name] = true
		}
		if s.IsOfPerson() || s.Patient != "" {
			persons[s.Name] = true
		}
		placesChanged = placesChanged || !s.Place.IsZero()
	}
	for i := range in.Observation.References {
		r := &in.Observation.References[i]
		old := ns.References.Rows[r.Name]
		if in.ReferenceExists(i) {
			continue
		}
		if old != nil && (r.UpdatedAt < old.UpdatedAt || old.Matches(r)) {
			continue
		}
		s := &facts.ReferenceState{Reference: *r, Version: ns.Facts.Version + 1}
		cloneTexts(s)
		ns.References.Set(s.Name, s)
		ns.Worklist.drop(s.Name)
		if old != nil {
			noteChange(old)
			ns.touchPerson(&old.Reference)
			ns.separatePersons(&old.Reference)
		}
		noteChange(s)
		ns.JoinPersons(&s.Reference)
	}
	for _, old := range ns.dropOldest() {
		noteChange(old)
	}
	if len(persons) > 0 {
		for _, v := range ns.Parts {
			ns.Work.MarkVisit(v, registry.Touched)
		}
		for i := range in.Observation.References {
			if r := &in.Observation.References[i]; persons[r.Name] {
				ns.touchPerson(r)
			}
		}
	}
	reread := len(codes) > 0 && ns.refersTo(codes)
	if reread {
		ns.rereadStatements()
	}
	if placesChanged {
		ns.Work.RebuildTable = true
	}
	if reread || placesChanged {
		for _, r := range ns.Rooms {
			if ns.Work.MarkRoom(r, registry.Named); reread {
				ns.Work.MarkRoom(r, registry.Touched)
			}
		}
	}
}

// rereadStatements replaces the mappings, so that each statement is matched again with the current references when it
// is next read.
func (ns *Names) rereadStatements() {
	mappings := *ns.Matcher.Maps
	mappings.Medication = ns.Medication
	ns.Matcher.Maps = &mappings
	ns.Matcher.Reader = terminology.Reader{Catalogue: ns.Matcher.Cat, Mappings: ns.Matcher.Maps}
}

// cloneTexts replaces the strings of the state with copies, because the strings of an observation share one allocation.
func cloneTexts(s *facts.ReferenceState) {
	s.Name, s.Patient = strings.Clone(s.Name), strings.Clone(s.Patient)
	registry.CloneLocation(&s.Place)
	s.Codings = slices.Clone(s.Codings)
	for i := range s.Codings {
		c := &s.Codings[i]
		c.System, c.Code, c.Display = codes.System(strings.Clone(string(c.System))), strings.Clone(c.Code), strings.Clone(c.Display)
	}
}

// dropOldest enforces the caps on Patients and on all other references. It drops the references that were changed
// least recently, and returns them.
func (ns *Names) dropOldest() (forgotten []*facts.ReferenceState) {
	if len(ns.References.Rows) <= CapReferences {
		return nil
	}
	var kinds [2][]*facts.ReferenceState
	for _, s := range ns.References.Rows {
		kind := 0
		if s.Patient != "" || s.IsOfPerson() {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], s)
	}
	for _, list := range kinds {
		slices.SortFunc(list, func(a, b *facts.ReferenceState) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), strings.Compare(a.Name, b.Name))
		})
		for _, s := range list[:max(len(list)-CapReferences, 0)] {
			ns.touchPerson(&s.Reference)
			ns.separatePersons(&s.Reference)
			ns.References.Delete(s.Name)
			forgotten = append(forgotten, s)
		}
	}
	return forgotten
}

// touchPerson touches the unassigned statements and the visits of a patient. For a reference that is not a Patient, it
// does nothing.
func (ns *Names) touchPerson(r *acuity.Reference) {
	if r.Patient == "" && !r.IsOfPerson() {
		return
	}
	for _, n := range ns.NamesOf([]string{r.Name}) {
		for _, r := range ns.ByPatient[n] {
			ns.Work.TouchUnassigned(r)
		}
		for _, v := range ns.Patients[n] {
			ns.Work.MarkVisit(v, registry.Touched)
			if len(v.ResourceStatements) > 0 {
				ns.TouchRoomOf(v) // the patient's names determine which statements are about the patient
			}
		}
	}
}

// refersTo reports whether any statement refers to one of the named references, directly or through other references.
// If so, statements must be matched again. It adds the names of those other references to names.
func (ns *Names) refersTo(names map[string]bool) bool {
	for range terminology.MaxInside - 1 {
		inside := maps.Clone(names)
		for whole, s := range ns.References.Rows {
			if slices.ContainsFunc(s.Codings, func(c acuity.Coding) bool { return inside[c.Code] }) {
				names[whole] = true
			}
		}
	}
	says := func(w *terminology.SignalText) bool { return names[w.Code] || w.Also != "" && w.Also.Has(names) }
	for _, r := range ns.Matcher.Signals {
		if says(&r.SignalText) {
			return true
		}
	}
	in := func(l *evidence.Statements) bool {
		for h := range l.All {
			if says(&h.SignalText) {
				return true
			}
		}
		return false
	}
	among := func(list evidence.ResourceStatements) bool {
		return slices.ContainsFunc(list, func(f evidence.ResourceStatement) bool { return says(&f.SignalText) })
	}
	for _, r := range ns.Rooms {
		if in(&r.Statements) {
			return true
		}
	}
	for _, v := range ns.Visits {
		if in(&v.Statements) || among(v.ResourceStatements) {
			return true
		}
	}
	for _, r := range ns.BySubject {
		if among(r.Statements) {
			return true
		}
	}
	return false
}
