package hospital

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
)

// gatherResourceStatements adds the statements that are kept with a visit, or with its
// patient for it.
func (m *chartBuilder) gatherResourceStatements(e *evidence.Input, v *visit) {
	add := func(h *evidence.ResourceStatement) {
		m.matcher.reread(&h.Statement)
		if name, perhaps := strings.CutPrefix(h.Fetus, acuity.PerhapsFetus); perhaps {
			h = m.aboutFetus(v, h, name)
		}
		e.Resources = append(e.Resources, h)
	}
	for _, o := range append([]*visit{v}, v.joined.rest()...) {
		for i := range o.resourceStatements {
			add(&o.resourceStatements[i])
		}
	}
	for _, r := range m.names.ofVisit(v) {
		for i := range r.statements {
			if h := &r.statements[i]; h.Owner.ID == v.slot {
				add(h)
			}
		}
	}
}

// hasReference reports whether an Encounter of the visit refers to the patient.
func (v *visit) hasReference() bool {
	return slices.ContainsFunc(v.events, func(e adt.Event) bool { return e.Resource != "" && (e.Patient != "" || e.Subject != "") })
}

// aboutFetus returns a statement whose patient may be a fetus, as one about that fetus, or
// about none if the patient is the mother whose visit it is. As in bornOf, a name differs from
// hers only if it is of a kind that is known of her.
func (m *chartBuilder) aboutFetus(v *visit, h *evidence.ResourceStatement, patient string) *evidence.ResourceStatement {
	about := *h
	text := h.SignalText
	text.Fetus = ""
	var hers []string
	for _, o := range append([]*visit{v}, v.joined.rest()...) {
		if hers = append(hers, o.names...); o.hasReference() {
			text.Fetus = patient
		}
	}
	if slices.Contains(m.names.namesOf(hers), patient) {
		text.Fetus = ""
	}
	about.MatchedSignal = m.matcher.share(text)
	return &about
}
