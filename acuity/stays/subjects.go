package stays

import (
	"strings"

	"svc/acuity/evidence"
	"svc/acuity/identity"
	"svc/acuity/registry"
)

// WarnOfSubjects warns about statements whose subject is not the patient of the visit that they name. Such statements
// still count for the visit. If the visit's patient is known when the statement arrives, the warning points to the
// statement. If not, it points to the later event or FHIR Patient that reveals the difference.
func (k *Statements) WarnOfSubjects(in *registry.Intake) {
	if len(k.Names.Undecided) > 0 {
		k.decideSubjects(in)
	}
	for i := range in.Subjects {
		of := &in.Subjects[i]
		s := &in.Observation.Signals[of.Signal]
		switch k.Names.CompareSubject(s, of.V.Whole()) {
		case identity.Different:
			in.Warn("subject_differs", registry.ItemPath("signals", of.Signal))
		case identity.Unknown:
			of.Version.Subject = &evidence.Subject{Patient: strings.Clone(s.Patient), Subject: strings.Clone(s.Subject)}
			k.Names.AddUndecided(of.V, of.Version.Subject)
		case identity.Same:
		}
	}
}

// decideSubjects compares the subjects of earlier statements with the patients who become known through this request.
func (k *Statements) decideSubjects(in *registry.Intake) {
	for i := range in.Events {
		v := in.Events[i].V.Whole()
		if v == nil {
			continue
		}
		k.Names.EachConcerned(v.AllNames(), func(o *registry.Visit) { k.warnOfVisit(in, o, in.EventPath(i)) })
	}
	for i := range in.Observation.References {
		if r := &in.Observation.References[i]; r.Patient != "" {
			k.Names.EachConcerned([]string{r.Name}, func(o *registry.Visit) {
				k.warnOfVisit(in, o, registry.ItemPath("references", i))
			})
		}
	}
}

// warnOfVisit warns once about each statement that names a patient other than the visit's. It considers the
// statements on the visit and on the visits joined with it.
func (k *Statements) warnOfVisit(in *registry.Intake, v *registry.Visit, path string) {
	for _, o := range append([]*registry.Visit{v}, v.Joined.Rest()...) {
		for n := range o.ResourceStatements {
			if k.isOfAnother(&o.ResourceStatements[n], o, v) {
				in.Warn("subject_differs", path)
			}
		}
	}
}

// isOfAnother reports whether an earlier statement names a patient other than the visit's. Once it is known whether
// the two patients are the same, isOfAnother removes the subject from the statement, because the subject is no longer
// needed.
func (k *Statements) isOfAnother(h *evidence.ResourceStatement, kept, v *registry.Visit) bool {
	if h.Version == nil || h.Version.Subject == nil {
		return false
	}
	s := h.Signal()
	s.Patient, s.Subject = h.Version.Subject.Patient, h.Version.Subject.Subject
	compared := k.Names.CompareSubject(&s, v)
	if compared != identity.Unknown {
		version := *h.Version
		version.Subject, h.Version = nil, &version
		k.queueRecord(statementRecord{Statement: h.Statement, version: h.Version, holder: HolderName{Visit: kept.ID}})
	}
	return compared == identity.Different
}
