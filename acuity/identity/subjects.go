package identity

import (
	"slices"

	"svc/acuity"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// AnswerWaiting warns of the statements that still have no visit at the end of the request.
func (ns *Names) AnswerWaiting(in *registry.Intake) {
	for _, n := range in.WaitingFor {
		if n.V != nil && n.V.Whole().IsName() || n.V == nil && ns.VisitFor(n.Unassigned, n.At) == nil {
			in.Warn("reference_waiting", "")
		}
	}
}

// WarnOfSubjects warns of statements whose subject is not the patient of the visit that they name. Such statements
// count for the visit.
func (ns *Names) WarnOfSubjects(in *registry.Intake) {
	for i := range in.Observation.Signals {
		s := &in.Observation.Signals[i]
		if s.Visit == "" || s.Patient == "" || in.SignalExists(i) {
			continue
		}
		if v := ns.VisitCalled(s.Visit).Whole(); v != nil && ns.IsOfAnother(s, v) {
			in.Warn("subject_differs", registry.ItemPath("signals", i))
		}
	}
}

// isFetal reports whether a rule maps one of the codes of a signal to a factor of one fetus.
func isFetal(s *acuity.Signal) bool {
	return terminology.IsFetal(s.System, s.Code) ||
		slices.ContainsFunc(s.Also, func(c acuity.Coding) bool { return terminology.IsFetal(c.System, c.Code) })
}

// IsOfAnother reports whether a signal names another patient than a visit has. As in bornOf, names
// distinguish patients only if they are of one kind. A fetus or child may be the subject of a statement
// about one fetus.
func (ns *Names) IsOfAnother(s *acuity.Signal, v *registry.Visit) bool {
	if s.Fetus != "" && isFetal(s) {
		return false
	}
	hers := v.AllNames()
	if slices.Contains(hers, s.Patient) || len(hers) == 0 {
		return false
	}
	named := []string{s.Patient}
	if s.Subject != "" {
		named = append(named, s.Subject)
	}
	named, hers = ns.NamesOf(named), ns.NamesOf(hers)
	if len(v.Timeline.Subjects) == 0 && len(named) == 1 && len(hers) == 1 {
		return false // one may be a number, the other a reference
	}
	return !slices.ContainsFunc(named, func(n string) bool { return slices.Contains(hers, n) })
}
