package fhir

import (
	"bytes"
	"cmp"

	"svc/acuity"
	"svc/ingest/hl7"
)

// KindResource is the kind of resource pseudonyms. Pseudonyms of visits and patients have the kinds that all feeds
// share.
const KindResource = "resource"

// index finds resources in the body.
type index struct {
	*document
	keys map[string]int32 // indexes of resources, by key
	urls map[string]int32 // indexes of the resources to which others refer, by fullUrl

	numbered map[string][]int32 // indexes of the resources to which others refer, by identifier; nil until first needed

	visits   map[string]string                 // pseudonyms of visits, by reference as sent
	patients map[[2]string][2]string           // both pseudonyms of a patient, by number and reference as sent
	targets  [len(kindNames)]map[string]target // targets of each kind, by reference as sent
}

// target is the target of a reference: a resource in the body, or the name or number of a resource elsewhere.
type target struct {
	at      int32  // index of the resource in the body; -1 if the body does not contain it
	name    string // type and id, such as "Encounter/55", from a literal reference; or ""
	logical string // value of the target's identifier, if the reference contains one
}

// follow is like find, and also records that a fact uses the target.
func (x *index) follow(ref *reference, want kind, from *resource) (target, bool) {
	t, ok := x.find(ref, want, from)
	if ok && t.at >= 0 {
		x.resources[t.at].used = true
	} else if ok && t.logical != "" {
		x.useNumbered(t.logical, want)
	}
	return t, ok
}

// useNumbered records that a fact uses the resources of the given kind with the given identifier.
func (x *index) useNumbered(number string, want kind) {
	if x.numbered == nil {
		x.numbered = map[string][]int32{}
		for n := range x.resources {
			r := &x.resources[n]
			if !r.kind.isNamed() || r.contained {
				continue
			}
			for _, id := range x.identifiers[r.firstIdentifier:r.lastIdentifier] {
				x.numbered[string(x.bytes(id.value))] = append(x.numbered[string(x.bytes(id.value))], int32(n))
			}
		}
	}
	for _, n := range x.numbered[number] {
		if r := &x.resources[n]; r.kind == want {
			r.used = true
		}
	}
}

// find returns the target of a reference to a resource of the given kind. It returns false if the reference is empty,
// cannot be resolved, or names a resource of a different kind.
func (x *index) find(ref *reference, want kind, from *resource) (target, bool) {
	literal := x.bytes(ref.literal)
	if len(literal) > 0 && literal[0] == '#' {
		if at := x.findContained(literal[1:], want, from); at >= 0 {
			return target{at: at}, true
		}
		literal = nil
	}
	if len(literal) > 0 {
		t := cached(&x.targets[want], literal, func(string) target { return x.resolveLiteral(literal, want) })
		if t.at >= 0 || t.name != "" || t.logical != "" {
			if t.at < 0 && t.logical == "" {
				t.logical = x.string(ref.identifier, maxID)
			}
			return t, true
		}
		return target{at: -1}, false
	}
	t := target{at: -1, logical: x.string(ref.identifier, maxID)}
	return t, t.logical != ""
}

// findContained returns the index of the contained resource with the given id, or -1 if there is none.
func (x *index) findContained(id []byte, want kind, from *resource) int32 {
	if from.contained {
		from = &x.resources[from.parent]
	}
	for n := from.firstContained; n < from.lastContained; n++ {
		r := &x.resources[n]
		if r.kind == want && !r.rejected && bytes.Equal(bytes.TrimPrefix(x.bytes(r.id), []byte("#")), id) {
			return n
		}
	}
	return -1
}

// resolveLiteral returns the target of a literal reference: a resource in the body or, if the body does not contain
// the target, the name or the identifier of the target.
func (x *index) resolveLiteral(literal []byte, want kind) target {
	if at, ok := x.urls[string(literal)]; ok && x.resources[at].kind == want {
		if newest, known := x.keys[x.resources[at].key]; known {
			at = newest // the version that is used
		}
		return target{at: at}
	}
	if address, query, ok := bytes.Cut(literal, []byte("?")); ok { // a conditional reference
		name := address[bytes.LastIndexByte(address, '/')+1:]
		if value, _ := identifierIn(query); value != "" && kindOf(name) == want {
			return target{at: x.byIdentifier([]byte(value), want), logical: value}
		}
		return target{at: -1}
	}
	name, id := cutReference(literal)
	urn := placeholder(literal)
	if urn != nil {
		name, id = nil, urn
	}
	if len(id) == 0 || name != nil && kindOf(name) != want {
		return target{at: -1}
	}
	key := kindNames[want] + "/" + string(id)
	if at, ok := x.keys[key]; ok {
		return target{at: at, name: key}
	}
	if urn != nil && !isUnique(urn) {
		key = kindNames[want] + "/" + string(x.localName(urn))
	}
	return target{at: -1, name: key}
}

// byIdentifier returns the index of the resource with the given identifier, or -1 if there is none.
func (x *index) byIdentifier(value []byte, want kind) int32 {
	for n := range x.resources {
		r := &x.resources[n]
		if r.kind != want || r.contained || r.rejected || r.superseded {
			continue
		}
		for _, id := range x.identifiers[r.firstIdentifier:r.lastIdentifier] {
			if bytes.Equal(x.bytes(id.value), value) {
				return int32(n)
			}
		}
	}
	return -1
}

// visitOf returns the visit pseudonym for a reference to an Encounter, or "" if the reference is empty or unusable.
func (x *index) visitOf(ref *reference, from *resource) string {
	literal := x.bytes(ref.literal)
	if visit, ok := x.visits[string(literal)]; ok && ref.identifier.empty() {
		return visit
	}
	t, ok := x.follow(ref, encounterKind, from)
	var visit string
	switch {
	case !ok:
		return ""
	case t.at >= 0:
		visit = x.visit(&x.resources[t.at])
	case t.logical != "":
		return x.Pseudonym(hl7.KindVisit, t.logical) // the identifier identifies the visit, because the literal reference may vary
	default:
		visit = x.Pseudonym(hl7.KindVisit, t.name)
	}
	if literal[0] != '#' { // a fragment refers to a resource within the same resource
		x.visits[string(literal)] = visit
	}
	return visit
}

// visit returns the pseudonym of the visit of an Encounter (docs/decisions.md#visit-identity).
func (x *index) visit(r *resource) string {
	if r.visit != "" {
		return r.visit
	}
	number, name := x.identifierOf(r, "VN"), cmp.Or(x.nameOf(r), r.key)
	if x.accountOf(r) == "" || name == "" {
		name = cmp.Or(number, name)
	}
	if name != "" {
		r.visit = x.Pseudonym(hl7.KindVisit, name)
	}
	return r.visit
}

// patientOf returns two pseudonyms of a patient, and the index of the Patient in the body or -1 if the body does not
// contain it. The first pseudonym is derived from the patient number or, if that is unknown, from the reference. The
// second is derived from the reference; it is empty unless the first is derived from the number.
func (x *index) patientOf(ref *reference, from *resource) (patient, subject string, at int32) {
	t, ok := x.follow(ref, patientKind, from)
	if !ok {
		return "", "", -1
	}
	if t.at < 0 {
		names := [2]string{t.logical, t.name}
		both, known := x.patients[names]
		if !known {
			both[0] = x.Pseudonym(hl7.KindPatient, cmp.Or(t.logical, t.name))
			if t.logical != "" && t.name != "" {
				both[1] = x.Pseudonym(hl7.KindPatient, t.name)
			}
			x.patients[names] = both
		}
		return both[0], both[1], -1
	}
	x.setPseudonyms(&x.resources[t.at])
	return x.resources[t.at].patient, x.resources[t.at].person, t.at
}

// setPseudonyms sets the pseudonyms of a Patient in the same way as [index.patientOf].
func (x *index) setPseudonyms(r *resource) {
	if r.patient == "" {
		number := x.identifierOf(r, "MR")
		if name := x.nameOf(r); name != "" {
			r.person = x.Pseudonym(hl7.KindPatient, name)
		}
		if r.patient = r.person; number != "" {
			r.patient = x.Pseudonym(hl7.KindPatient, number)
		}
		if r.person == r.patient {
			r.person = ""
		}
	}
}

// addReferable creates the fact for a Medication, a Location or a Patient to which other messages may refer by id or
// number. A resource with only a placeholder gets no such fact, because other messages cannot refer to it.
//
// It reports whether the resource counts as applied: either another resource in the body uses it, or the fact was
// created and the body has no resource that could use it.
func (m *mapper) addReferable(r *resource) bool {
	if r.deleted {
		return false
	}
	if _, ok := m.instant(r.birth); !ok && !r.birth.empty() {
		m.warn(r, "time_unreadable", "birthDate")
	}
	before := len(m.facts.References)
	m.addReference(r)
	kept := len(m.facts.References) > before
	if kept && !r.used && m.stated {
		m.issue(r, severityInformation, "not_used", "")
	}
	return r.used || kept && !m.stated
}

// useParts marks the parts of a Medication or a Location as used.
func useParts(m *mapper, r *resource) {
	switch r.kind { //nolint:exhaustive // a Patient has no parts
	case locationKind:
		m.follow(&r.partOf, locationKind, r)
	case medicationKind:
		for i := range m.ingredients[r.firstIngredient:r.lastIngredient] {
			m.follow(&m.ingredients[int(r.firstIngredient)+i].item, medicationKind, r)
		}
	}
}

// addReference creates the fact for a Medication, a Location or a Patient.
func (m *mapper) addReference(r *resource) {
	id := printable(string(m.idOf(r)))
	if r.kind == patientKind {
		if id != "" {
			m.addPatient(r)
		}
		return
	}
	f := acuity.Reference{UpdatedAt: m.time(r, r.updated, "meta.lastUpdated")}
	number, most := m.identifierOf(r, ""), maxCode // the number in the form in which a logical reference contains it
	if r.kind == medicationKind {
		f.Codings = m.product(nil, r, r, true)
	} else {
		f.Place = m.within(r, cmp.Or(m.called(r, r), id), r.physical)
		most = maxPlace
		if number != "" {
			number = acuity.LocationName + number
		}
	}
	if len(f.Codings) == 0 && f.Place.IsZero() {
		return
	}
	if id != "" {
		id = kindNames[r.kind] + "/" + id
	}
	named := false
	for _, f.Name = range [...]string{id, number} {
		if f.Name != "" && len(f.Name) <= most && (f.Name != id || !named) {
			m.facts.References = append(m.facts.References, f)
			named = true
		}
	}
}

// addPatient creates the fact that the reference and the number of a Patient identify the same patient. The fact also
// says whether the patient is currently a newborn, and it contains the birth order in a multiple birth unless the
// birth date shows that the patient is not a newborn.
func (m *mapper) addPatient(r *resource) {
	m.setPseudonyms(r)
	at := cmp.Or(m.time(r, r.updated, "meta.lastUpdated"), m.ReceivedAt)
	f := acuity.Reference{Name: r.person, Patient: r.patient, UpdatedAt: at}
	if r.person == "" {
		f.Name, f.Patient = r.patient, ""
	}
	born, dated := m.instant(r.birth)
	newborn := m.isNewborn(r, at)
	if newborn {
		f.Codings = append(f.Codings, acuity.Neonate)
	}
	older := dated && born.Precision <= acuity.Day && !newborn
	if order := m.birthOrder(r); order != "" && !older {
		f.Codings = append(f.Codings, acuity.Coding{System: acuity.MultipleBirth, Code: order})
	}
	if len(f.Codings) > 0 || f.Patient != "" {
		m.facts.References = append(m.facts.References, f)
	}
}
