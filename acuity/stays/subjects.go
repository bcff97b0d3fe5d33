package stays

import (
	"slices"

	"svc/acuity/evidence"
	"svc/acuity/registry"
)

// WarnOfSubjects warns of statements that came before the visit that they name, if their subject is not the patient
// of the visit. They count for the visit, as they do if they come after it. The warning names the event that made the
// patient known.
func (k *Statements) WarnOfSubjects(in *registry.Intake) {
	for i := range in.Events {
		v := in.Events[i].V.Whole()
		if v == nil || len(v.AllNames()) == 0 {
			continue
		}
		for _, o := range append([]*registry.Visit{v}, v.Joined.Rest()...) {
			for n := range o.ResourceStatements {
				if k.isOfAnother(&o.ResourceStatements[n], o, v) {
					in.Warn("subject_differs", in.EventPath(i))
				}
			}
		}
	}
}

// isOfAnother reports whether a statement that came before the visit names another patient than the visit has. Once
// that is decided, it forgets the name.
func (k *Statements) isOfAnother(h *evidence.ResourceStatement, kept, v *registry.Visit) bool {
	if h.Version == nil || h.Version.Subject == nil {
		return false
	}
	s := h.Signal()
	s.Patient, s.Subject = h.Version.Subject.Patient, h.Version.Subject.Subject
	differs := k.Names.IsOfAnother(&s, v)
	if differs || slices.Contains(v.AllNames(), s.Patient) {
		version := *h.Version
		version.Subject, h.Version = nil, &version
		k.changed = append(k.changed, StatementRecord{Statement: h.Statement, version: h.Version, holder: HolderName{Visit: kept.ID}})
	}
	return differs
}
