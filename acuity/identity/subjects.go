package identity

import (
	"slices"

	"svc/acuity"
	"svc/acuity/evidence"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// AnswerWaiting adds warnings about the statements that still have no visit at the end of the request.
func (ns *Names) AnswerWaiting(in *registry.Intake) {
	for _, n := range in.WaitingFor {
		if n.V != nil && n.V.Whole().IsName() || n.V == nil && ns.VisitFor(n.Unassigned, n.At) == nil {
			in.Warn("reference_waiting", registry.ItemPath("signals", n.Signal))
		}
	}
}

// isFetal reports whether a rule maps one of a signal's codes to a factor that concerns a single fetus.
func isFetal(s *acuity.Signal) bool {
	return terminology.IsFetal(s.System, s.Code) ||
		slices.ContainsFunc(s.Also, func(c acuity.Coding) bool { return terminology.IsFetal(c.System, c.Code) })
}

// Sameness is the result of comparing the names of two patients.
type Sameness uint8

// The results of comparing two patients.
const (
	Unknown   Sameness = iota // not known yet: one name may be a number, the other a reference
	Same                      // the same patient
	Different                 // two different patients
)

// CompareSubject compares the patient in a signal with the patient of a visit. Two different names show that the
// patients differ only if both are numbers or both are references, as in bornOf. For a statement about one fetus,
// CompareSubject always returns Same, because the statement may name the fetus or the child instead of the mother.
func (ns *Names) CompareSubject(s *acuity.Signal, v *registry.Visit) Sameness {
	if s.Fetus != "" && isFetal(s) {
		return Same
	}
	hers := v.AllNames()
	if slices.Contains(hers, s.Patient) {
		return Same
	}
	if len(hers) == 0 {
		return Unknown
	}
	named := []string{s.Patient}
	if s.Subject != "" {
		named = append(named, s.Subject)
	}
	named, hers = ns.NamesOf(named), ns.NamesOf(hers)
	switch {
	case slices.ContainsFunc(named, func(n string) bool { return slices.Contains(hers, n) }):
		return Same
	case len(v.Timeline.Subjects) == 0 && len(named) == 1 && len(hers) == 1:
		return Unknown
	}
	return Different
}

// AddUndecided adds a visit to the index of visits with statements whose patient may differ from the visit's.
func (ns *Names) AddUndecided(v *registry.Visit, s *evidence.Subject) {
	for _, name := range [...]string{s.Patient, s.Subject} {
		if name != "" && !slices.Contains(ns.Undecided[name], v) {
			ns.Undecided[name] = append(ns.Undecided[name], v)
		}
	}
}

// EachConcerned calls f for each visit that new names of a patient may affect, either because of the visit's patient
// or because of its undecided statements.
func (ns *Names) EachConcerned(names []string, f func(v *registry.Visit)) {
	for _, name := range ns.NamesOf(names) {
		for _, list := range [...][]*registry.Visit{ns.Patients[name], ns.Undecided[name]} {
			for _, v := range list {
				if !v.Forgotten {
					f(v.Whole())
				}
			}
		}
	}
}
