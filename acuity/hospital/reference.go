package hospital

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/terminology"
)

// says reports whether the state equals a reference. For a newborn the time is a part of
// it.
func (s *ReferenceState) says(r *acuity.Reference) bool {
	return s.Place == r.Place && s.Patient == r.Patient && slices.Equal(s.Codings, r.Codings) && (!r.IsNeonate() || s.UpdatedAt == r.UpdatedAt)
}

// takeReferences takes Medications, Locations and Patients that others name.
func (ns *names) takeReferences(in *intake) {
	codes, persons := map[string]bool{}, map[string]bool{} // changed Medications and changed Patients
	placesChanged := false
	noteChange := func(s *ReferenceState) {
		if len(s.Codings) > 0 {
			codes[s.Name] = true
		}
		if s.IsOfPerson() || s.Patient != "" {
			persons[s.Name] = true
		}
		placesChanged = placesChanged || !s.Place.IsZero()
	}
	for i := range in.o.References {
		r := &in.o.References[i]
		old := ns.references[r.Name]
		if in.referenceExists(i) {
			continue
		}
		if old != nil && (r.UpdatedAt < old.UpdatedAt || old.says(r)) {
			continue
		}
		s := &ReferenceState{Reference: *r, Version: ns.facts.Version + 1}
		s.own()
		ns.references[s.Name] = s
		ns.changed = append(ns.changed, s.Name)
		ns.worklist.drop(s.Name)
		if old != nil {
			noteChange(old)
			ns.touchPerson(&old.Reference)
			ns.separatePersons(&old.Reference)
		}
		noteChange(s)
		ns.joinPersons(&s.Reference)
	}
	for _, old := range ns.forgetOldest() {
		noteChange(old)
	}
	if len(persons) > 0 {
		for _, v := range ns.parts {
			ns.work.markVisit(v, touched)
		}
		for i := range in.o.References {
			if r := &in.o.References[i]; persons[r.Name] {
				ns.touchPerson(r)
			}
		}
	}
	reread := len(codes) > 0 && ns.speaksOf(codes)
	if reread {
		ns.rereadStatements()
	}
	if placesChanged {
		ns.work.rebuildTable = true
	}
	if reread || placesChanged {
		for _, r := range ns.rooms {
			if ns.work.markRoom(r, named); reread {
				ns.work.markRoom(r, touched)
			}
		}
	}
}

// rereadStatements makes all statements be read anew, with the present references.
func (ns *names) rereadStatements() {
	mappings := *ns.matcher.maps
	mappings.Medication = ns.medication
	ns.matcher.maps = &mappings
	ns.matcher.reader = terminology.Reader{Catalogue: ns.matcher.cat, Mappings: ns.matcher.maps}
}

// own copies the texts of the state: those of an observation share one allocation.
func (s *ReferenceState) own() {
	s.Name, s.Patient = strings.Clone(s.Name), strings.Clone(s.Patient)
	cloneLocation(&s.Place)
	s.Codings = slices.Clone(s.Codings)
	for i := range s.Codings {
		c := &s.Codings[i]
		c.System, c.Code, c.Display = codes.System(strings.Clone(string(c.System))), strings.Clone(c.Code), strings.Clone(c.Display)
	}
}

// forgetOldest keeps the caps, of Patients and of all others, and returns what it
// forgets: the oldest versions.
func (ns *names) forgetOldest() (forgotten []*ReferenceState) {
	if len(ns.references) <= capReferences {
		return nil
	}
	var kinds [2][]*ReferenceState
	for _, s := range ns.references {
		kind := 0
		if s.Patient != "" || s.IsOfPerson() {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], s)
	}
	for _, list := range kinds {
		slices.SortFunc(list, func(a, b *ReferenceState) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), strings.Compare(a.Name, b.Name))
		})
		for _, s := range list[:max(len(list)-capReferences, 0)] {
			ns.touchPerson(&s.Reference)
			ns.separatePersons(&s.Reference)
			delete(ns.references, s.Name)
			ns.keys.drop(ns.keys.key(kindReference, digest(s.Name)))
			forgotten = append(forgotten, s)
		}
	}
	return forgotten
}

// touchPerson touches the unassigned statements and the visits of a patient; a reference
// that is no Patient touches nothing.
func (ns *names) touchPerson(r *acuity.Reference) {
	if r.Patient == "" && !r.IsOfPerson() {
		return
	}
	for _, n := range ns.namesOf([]string{r.Name}) {
		for _, r := range ns.byPatient[n] {
			ns.work.touchUnassigned(r)
		}
		for _, v := range ns.patients[n] {
			ns.work.markVisit(v, touched)
			if len(v.resourceStatements) > 0 {
				ns.touchRoomOf(v) // her names tell which of them are about her
			}
		}
	}
}

// speaksOf reports whether a statement names one of these references, or one that
// contains it: then statements must be read anew.
func (ns *names) speaksOf(names map[string]bool) bool {
	for range terminology.MaxInside - 1 {
		inside := maps.Clone(names)
		for whole, s := range ns.references {
			if slices.ContainsFunc(s.Codings, func(c acuity.Coding) bool { return inside[c.Code] }) {
				names[whole] = true
			}
		}
	}
	says := func(w *terminology.SignalText) bool { return names[w.Code] || w.Also != "" && w.Also.Has(names) }
	for _, r := range ns.matcher.signals {
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
	for _, r := range ns.rooms {
		if in(&r.statements) {
			return true
		}
	}
	for _, v := range ns.visits {
		if in(&v.statements) || among(v.resourceStatements) {
			return true
		}
	}
	for _, r := range ns.bySubject {
		if among(r.statements) {
			return true
		}
	}
	return false
}
