package fhir

import (
	"bytes"
	"cmp"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// describe returns a text that identifies the fetuses that a resource names, or "" if it names none. It contains
// references as sent. A subject without a label is omitted: it is usually the mother, and senders refer to the same
// patient in many forms or only by the Encounter.
func (m fetusReader) describe(r *resource) string {
	if r.kind != observationKind && r.kind != conditionKind {
		return ""
	}
	var names []string
	add := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	if label, named := m.resourceLabel(r); named {
		add(label)
	} else {
		for i := range r.focus[:r.focused] {
			add(cmp.Or(m.sent(&r.focus[i], patientKind, r), string(m.bytes(r.focus[i].literal))))
		}
	}
	for i := range m.components[r.firstComponent:r.lastComponent] {
		c := &m.components[int(r.firstComponent)+i]
		if m.namesFetus(&c.code) {
			add(m.labelOf(&c.value))
		}
		add(cmp.Or(m.fetusOfConcept(&c.code), m.fetusOfValue(&c.value)))
	}
	return strings.Join(names, "\x00")
}

// fetusID is the LOINC code for the label of a fetus.
const fetusID = "11951-1"

// namesFetus reports whether c is the code of a component whose value is the label of a fetus.
func (m fetusReader) namesFetus(c *concept) bool {
	for _, sent := range m.codings[c.first:c.last] {
		if system, _ := m.system(sent.system, ""); system == codes.LOINC && string(m.bytes(sent.code)) == fetusID {
			return true
		}
	}
	switch strings.ToLower(string(bytes.TrimSpace(m.bytes(c.text)))) {
	case "fetus", "fetus id", "fetus identifier", "fetal identifier", "fetus label", "fetus number":
		return true
	}
	return false
}

// labelOf returns the fetus label in v, which must be the value of a component for which namesFetus is true.
func (m fetusReader) labelOf(v *value) string {
	switch v.kind {
	case aText:
		return m.labelIn(v.text, terminology.FetusNamed)
	case aConcept:
		return m.fetusOfSite(&v.concept)
	case noValue, aQuantity, aRange, aValue:
	}
	return ""
}

// labelWhole sets the fetus label of a whole Observation from its only component that names a fetus. If several
// components name a fetus, labelWhole changes nothing, because each label then applies only to the components that
// follow it.
func (m fetusReader) labelWhole(s *acuity.Signal, components []component) {
	label := ""
	for i := range components {
		if c := &components[i]; m.namesFetus(&c.code) {
			if label != "" {
				return
			}
			label = m.labelOf(&c.value)
		}
	}
	if label != "" {
		s.Fetus = label
	}
}
