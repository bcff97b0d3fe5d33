package fhir

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/terminology"
	"svc/ingest/hl7"
)

// maxFocus is the maximum number of focus references that are read for one Observation. Two are enough for the mother
// and one fetus.
const maxFocus = 2

// maxSites is the maximum number of body sites that are read.
const maxSites = 4

// readSite reads a field that may name the fetus that a resource is about. It returns false for any other field.
func readSite(p *parser, r *resource, key []byte) bool {
	switch string(key) {
	case "focus":
		for l := p.list(); p.next(&l); {
			if ref := p.reference(); r.focused < maxFocus {
				r.focus[r.focused] = ref
				r.focused++
			}
		}
	case "bodySite":
		first, last := p.conceptList(maxSites)
		r.addSites(first, last)
	case "device":
		r.device = firstReference(p)
	case "specimen":
		r.specimen = firstReference(p)
	case "extension":
		for l := p.list(); p.next(&l); {
			readFocusCode(p, r)
		}
	default:
		return false
	}
	return true
}

// firstReference reads a reference or, from a list of references, the first one that is not empty.
func firstReference(p *parser) (first reference) {
	for l := p.list(); p.next(&l); {
		if ref := p.reference(); first == (reference{}) {
			first = ref
		}
	}
	return first
}

// addSites adds the concepts [first, last) to the body-site concepts of a resource, which must form one range. If
// concepts of contained resources lie between the earlier range and the new one, only the new range is kept.
func (r *resource) addSites(first, last int32) {
	if first == last {
		return
	}
	if r.firstSite == r.lastSite || r.lastSite != first {
		r.firstSite = first
	}
	r.lastSite = last
}

// readFocusCode parses an extension. It uses only the standard extension focusCode, which holds a code for what an
// Observation is about, such as a fetus.
func readFocusCode(p *parser, r *resource) {
	var url span
	first := int32(len(p.concepts)) //nolint:gosec // at most maxStored
	for key := range p.fields() {
		switch string(key) {
		case "url":
			url = p.text()
		case "valueCodeableConcept":
			if !p.isFull() {
				p.concepts = append(p.concepts, p.concept())
			}
		default:
			p.skip()
		}
	}
	if !bytes.HasSuffix(p.bytes(url), []byte("/observation-focusCode")) {
		p.concepts = p.concepts[:min(int(first), len(p.concepts))]
		return
	}
	r.addSites(first, int32(len(p.concepts))) //nolint:gosec // at most maxStored
}

// labelIn passes the string at p to the given function and returns the fetus label that the function finds, or "".
func (t *terms) labelIn(p span, read func(string) string) string {
	if p.empty() {
		return ""
	}
	text := t.bytes(p)
	return read(string(text[:min(len(text), maxText)]))
}

// fetusText returns the label of the fetus that a string of the body names. It caches the labels, because the same
// strings recur.
func (t *terms) fetusText(p span) string {
	if p.empty() {
		return ""
	}
	return cached(&t.fetuses, t.bytes(p), func(text string) string { return terminology.FetusIn(text[:min(len(text), maxText)]) })
}

// fetusOfConcept returns the label of the fetus that a concept names, by its text or the
// displays of its codes.
func (t *terms) fetusOfConcept(c *concept) string {
	if label := t.fetusText(c.text); label != "" {
		return label
	}
	for i := range t.codings[c.first:c.last] {
		if label := t.fetusText(t.codings[int(c.first)+i].display); label != "" {
			return label
		}
	}
	return ""
}

// fetusOfSite returns the label of the fetus that a body site names. It considers only texts, displays and codes that
// contain nothing but the name of a fetus.
func (t *terms) fetusOfSite(c *concept) string {
	texts := []span{c.text}
	for _, coding := range t.codings[c.first:c.last] {
		texts = append(texts, coding.display, coding.code)
	}
	for _, p := range texts {
		if label := t.labelIn(p, terminology.FetusNamed); label != "" {
			return label
		}
	}
	return ""
}

// fetusOfReference passes the display, the identifier and the id of a reference to the given function, and returns
// the first fetus label that the function finds.
func (t *terms) fetusOfReference(r *reference, read func(string) string) string {
	if label := t.labelIn(r.display, read); label != "" {
		return label
	}
	if label := t.labelIn(r.identifier, read); label != "" {
		return label
	}
	literal := t.bytes(r.literal)
	id, contained := bytes.CutPrefix(literal, []byte("#"))
	if !contained {
		_, id = cutReference(literal)
	}
	return read(string(id[:min(len(id), maxID)]))
}

// fetusReader determines the fetus that a resource is about.
type fetusReader struct{ *mapper }

// fetusOf returns the fetus that a resource is about: its label or, if the resource contains no label, a pseudonym.
// It returns "" if the resource identifies no fetus, or if its focuses name different fetuses. A label has
// precedence, because other feeds can identify a fetus only by its label.
func (m fetusReader) fetusOf(r *resource) string {
	if label, named := m.resourceLabel(r); named {
		return label
	}
	return m.fetusByReference(r)
}

// resourceLabel returns the label of the fetus that a resource is about. named is false if the resource contains no label;
// the name is "" if its focuses name different fetuses.
func (m fetusReader) resourceLabel(r *resource) (name string, named bool) {
	for i := range r.focus[:r.focused] {
		if label := m.fetusOfReference(&r.focus[i], terminology.FetusIn); label != "" {
			return m.oneFocus(r, label), true
		}
	}
	if label := m.fetusOfReference(&r.subject, terminology.FetusIn); label != "" {
		return label, true
	}
	for i := range m.concepts[r.firstSite:r.lastSite] {
		if label := m.fetusOfSite(&m.concepts[int(r.firstSite)+i]); label != "" {
			return label, true
		}
	}
	if label := m.fetusOfConcept(&r.code); label != "" {
		return label, true
	}
	for _, ref := range [...]*reference{&r.specimen, &r.device} {
		if label := m.fetusOfReference(ref, terminology.FetusOfDevice); label != "" {
			return label, true
		}
	}
	name = m.fetusOfValue(&r.value)
	return name, name != ""
}

// oneFocus returns the given label, or "" if a focus of the resource names a different fetus.
func (m fetusReader) oneFocus(r *resource, label string) string {
	for i := range r.focus[:r.focused] {
		if other := m.fetusOfReference(&r.focus[i], terminology.FetusIn); other != "" && other != label {
			return ""
		}
	}
	return label
}

// fetusOfValue returns the label of the fetus that a value names, such as B for "Category III, fetus B".
func (t *terms) fetusOfValue(v *value) string {
	switch v.kind {
	case aText:
		return t.fetusText(v.text)
	case aConcept:
		return t.fetusOfConcept(&v.concept)
	case noValue, aQuantity, aRange, aValue:
	}
	return ""
}

// fetusByReference returns the fetus that an Observation identifies by a reference: the pseudonym of its only focus
// other than the subject or, if there is no such focus, the pseudonym or birth-order label of a subject who is not
// the mother. It returns "" if there is no such reference or if several focuses differ.
func (m fetusReader) fetusByReference(r *resource) string {
	if r.kind != observationKind {
		return ""
	}
	patient, subject, at := m.patientOf(&r.subject, r)
	found := ""
	for i := range r.focus[:r.focused] {
		name := m.focusOf(&r.focus[i], r)
		if name == "" || name == patient || name == subject {
			continue
		}
		if found != "" && found != name {
			return ""
		}
		found = name
	}
	if found != "" {
		return found
	}
	child := m.childOf(r)
	if at >= 0 && !r.encounter.empty() && m.isNewborn(&m.resources[at], m.ReceivedAt) {
		child = cmp.Or(subject, patient, m.containedName(&r.subject))
	}
	if at < 0 || child == "" || strings.HasPrefix(child, acuity.PerhapsFetus) {
		return child
	}
	return cmp.Or(terminology.FetusNamed(m.birthOrder(&m.resources[at])), child)
}

// focusOf returns a patient pseudonym for the target of a focus, which may be a Patient, a contained resource or a
// resource of one of the fetusTypes. For any other target, it returns "".
func (m fetusReader) focusOf(ref *reference, from *resource) string {
	if patient, subject, _ := m.patientOf(ref, from); patient != "" {
		if subject != "" {
			return subject
		}
		return patient
	}
	if name := m.containedName(ref); name != "" {
		return name
	}
	name, id := cutReference(m.bytes(ref.literal))
	if len(id) == 0 || !slices.Contains(fetusTypes, string(name)) {
		return ""
	}
	return m.Pseudonym(hl7.KindPatient, string(name)+"/"+string(id))
}

// containedName returns a pseudonym for the target of a reference to a contained resource, or "" for any other
// reference. The pseudonym is unique only among the fetuses of one mother.
func (m fetusReader) containedName(ref *reference) string {
	literal := m.bytes(ref.literal)
	if len(literal) < 2 || literal[0] != '#' {
		return ""
	}
	return m.Pseudonym(hl7.KindPatient, string(literal))
}

// fetusTypes are the resource types, besides Patient, that may represent a fetus.
var fetusTypes = []string{"RelatedPerson", "BodyStructure"}

// childOf returns the pseudonym of the subject if the Encounter belongs to a different patient, who is then the
// mother. If the body does not contain the Encounter and the codes are fetal, the pseudonym has the prefix
// [acuity.PerhapsFetus], and the visit later decides whether the subject is the mother. In all other cases, childOf
// returns "".
func (m fetusReader) childOf(r *resource) string {
	t, ok := m.find(&r.encounter, encounterKind, r)
	if !ok {
		return ""
	}
	child := m.namesOf(&r.subject, r)
	if t.at < 0 {
		if child.reference != "" && m.isFetal(r) {
			return acuity.PerhapsFetus + child.reference
		}
		return ""
	}
	if visit := &m.resources[t.at]; child.differs(m.namesOf(&visit.subject, visit)) {
		return cmp.Or(child.reference, child.number)
	}
	return ""
}

// personNames are two pseudonyms of a patient: one derived from the patient number and one derived from the
// reference. Each is "" if unknown.
type personNames struct{ number, reference string }

// namesOf returns the pseudonyms of the patient to whom a reference points.
func (m fetusReader) namesOf(ref *reference, from *resource) personNames {
	patient, subject, at := m.patientOf(ref, from)
	t, _ := m.find(ref, patientKind, from)
	switch {
	case subject != "":
		return personNames{patient, subject}
	case at < 0 && t.logical != "", at >= 0 && m.identifierOf(&m.resources[at], "MR") != "":
		return personNames{number: patient}
	}
	return personNames{reference: cmp.Or(patient, m.containedName(ref))}
}

// differs reports whether the pseudonyms belong to different patients: at least one kind of pseudonym differs, and no
// kind is equal.
func (n personNames) differs(o personNames) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	equal := func(a, b string) bool { return a != "" && a == b }
	return (differ(n.number, o.number) || differ(n.reference, o.reference)) && !equal(n.number, o.number) && !equal(n.reference, o.reference)
}

// isFetal reports whether a rule maps one of the resource's codes to a fetal factor. Only for such codes does it
// matter whether the subject is a fetus.
func (m fetusReader) isFetal(r *resource) bool {
	is := func(c *concept) bool {
		return slices.ContainsFunc(m.codings[c.first:c.last], func(sent coding) bool {
			code := m.string(sent.code, maxCode)
			system, _ := m.system(sent.system, code)
			return terminology.IsFetal(system, code)
		})
	}
	return is(&r.code) || slices.ContainsFunc(m.components[r.firstComponent:r.lastComponent], func(c component) bool { return is(&c.code) })
}
