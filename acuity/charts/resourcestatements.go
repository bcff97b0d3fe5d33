package charts

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/registry"
)

// gatherResourceStatements adds the statements that are stored with a visit, and those stored with the visit's patient
// and assigned to the visit.
func (m *Builder) gatherResourceStatements(e *evidence.Input, v *registry.Visit) {
	add := func(h *evidence.ResourceStatement) {
		m.Matcher.Reread(&h.Statement)
		if name, perhaps := strings.CutPrefix(h.Fetus, acuity.PerhapsFetus); perhaps {
			h = m.aboutFetus(v, h, name)
		}
		e.Resources = append(e.Resources, h)
	}
	for _, o := range append([]*registry.Visit{v}, v.Joined.Rest()...) {
		for i := range o.ResourceStatements {
			add(&o.ResourceStatements[i])
		}
	}
	for _, r := range m.Names.OfVisit(v) {
		for i := range r.Statements {
			if h := &r.Statements[i]; h.Owner.ID == v.Slot {
				add(h)
			}
		}
	}
}

// hasReference reports whether an Encounter of the visit refers to the patient.
func hasReference(v *registry.Visit) bool {
	return slices.ContainsFunc(v.Events, func(e adt.Event) bool { return e.Resource != "" && (e.Patient != "" || e.Subject != "") })
}

// aboutFetus returns a copy of a statement whose patient may be a fetus. The patient is a fetus if the patient's name
// differs from the mother's names and an Encounter of her visit gives her a name of the same kind. In the copy, the
// statement is about that fetus or, if these conditions are not met, about the mother.
func (m *Builder) aboutFetus(v *registry.Visit, h *evidence.ResourceStatement, patient string) *evidence.ResourceStatement {
	about := *h
	text := h.SignalText
	text.Fetus = ""
	var hers []string
	for _, o := range append([]*registry.Visit{v}, v.Joined.Rest()...) {
		if hers = append(hers, o.Names...); hasReference(o) {
			text.Fetus = patient
		}
	}
	if slices.Contains(m.Names.NamesOf(hers), patient) {
		text.Fetus = ""
	}
	about.MatchedSignal = m.Matcher.Share(text)
	return &about
}
