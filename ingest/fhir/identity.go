package fhir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
)

// describe returns a text that identifies an unnamed resource: its content and its references to the patient and the
// Encounter.
func describe(m *mapper, r *resource) string {
	var b strings.Builder
	describeThing(m, &b, r)
	for _, about := range [...]string{m.sent(&r.subject, patientKind, r), m.sent(&r.encounter, encounterKind, r)} {
		b.WriteByte(0)
		b.WriteString(about)
	}
	return b.String()
}

// describeThing writes the content of an unnamed resource, without its references to the patient and the Encounter.
func describeThing(m *mapper, b *strings.Builder, r *resource) {
	b.WriteString(kindNames[r.kind])
	part := func(text []byte) {
		b.WriteByte(0)
		b.Write(text)
	}
	for _, c := range m.codings[r.code.first:r.code.last] {
		part(m.bytes(c.system))
		part(m.bytes(c.code))
	}
	b.WriteByte(1) // end of the codings
	for _, p := range []span{r.code.text, r.class.code, r.at, r.during.start} {
		part(m.bytes(p))
	}
	part([]byte(m.sent(&r.medication, medicationKind, r)))
	if r.kind == observationKind && r.at.empty() && r.during.start.empty() { // the times that count instead (see effective)
		part(m.bytes(r.during.end))
		part(m.bytes(r.issued))
	}
	if fetuses := (fetusReader{m}).describe(r); fetuses != "" {
		part([]byte(fetuses))
	}
}

// sent returns the name of a reference's target as the sender wrote it. It uses other parts of the body only for a
// placeholder or a contained resource, because the next message may contain the same reference without those parts.
func (x *index) sent(ref *reference, want kind, from *resource) string {
	literal := x.bytes(ref.literal)
	if len(literal) == 0 {
		return x.logical(ref, want)
	}
	urn := placeholder(literal)
	if literal[0] == '#' || urn != nil {
		if t, found := x.follow(ref, want, from); found && t.at >= 0 {
			if name := x.ownName(&x.resources[t.at]); name != "" {
				return name
			}
		}
		switch name := x.logical(ref, want); {
		case name != "" || urn == nil:
			return name
		case isUnique(urn):
			return string(urn)
		}
		return string(x.localName(urn))
	}
	if address, query, ok := bytes.Cut(literal, []byte("?")); ok {
		value, _ := identifierIn(query)
		if name := address[bytes.LastIndexByte(address, '/')+1:]; kindOf(name) == want {
			return kindNames[want] + "=" + value
		}
	}
	_, id := cutReference(literal)
	return kindNames[want] + "/" + string(id)
}

// logical returns the target that the identifier in a reference names, or "" if the reference contains no identifier.
func (x *index) logical(ref *reference, want kind) string {
	if value := x.bytes(ref.identifier); len(value) > 0 {
		return kindNames[want] + "=" + string(value)
	}
	return ""
}

// ownName returns a name of a resource that is valid outside its body: the first available of its id (unless it is
// contained), its identifier and its codes.
func (x *index) ownName(r *resource) string {
	if id := x.idOf(r); len(id) > 0 && !r.contained {
		return kindNames[r.kind] + "/" + string(id)
	}
	kind := map[kind]string{encounterKind: "VN", patientKind: "MR"}[r.kind]
	if value := x.identifierOf(r, kind); value != "" {
		return kindNames[r.kind] + "=" + value
	}
	var b strings.Builder
	for _, c := range x.codings[r.code.first:r.code.last] {
		b.Write(x.bytes(c.system))
		b.WriteByte('|')
		b.Write(x.bytes(c.code))
		b.WriteByte(' ')
	}
	b.Write(x.bytes(r.code.text))
	return b.String()
}

// resourceOf returns the pseudonym of a resource in the namespace of its sender. If a resource other than an
// Encounter is identified by its content, the pseudonym does not depend on the patient, because senders refer to the
// same patient in many forms.
func resourceOf(m *mapper, r *resource) string {
	if r.described && r.kind != encounterKind {
		var b strings.Builder
		describeThing(m, &b, r)
		return "~" + m.Pseudonym(KindResource, m.Source+"\x00"+b.String())
	}
	return m.Pseudonym(KindResource, m.Source+"\x00"+r.key)
}

// placeholder returns the UUID or OID of a URN, or nil for any other text.
func placeholder(url []byte) []byte {
	for _, scheme := range []string{"urn:uuid:", "urn:oid:"} {
		if bytes.HasPrefix(url, []byte(scheme)) {
			return url[len(scheme):]
		}
	}
	return nil
}

// isUnique reports whether a placeholder is as unique as its scheme requires: a valid UUID or an OID with several
// arcs. Many senders write urn:uuid:patient or urn:uuid:1 in every body, each time for a different patient.
func isUnique(urn []byte) bool {
	if bytes.Count(urn, []byte{'.'}) >= 3 {
		return len(bytes.Trim(urn, ".0123456789")) == 0
	}
	if len(urn) != len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	for i, c := range urn {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
	}
	return true
}

// localName returns the name for a placeholder that may mean a different resource in the next body. The name includes
// the digest of this body, so that a repeated body yields the same name.
func (d *document) localName(urn []byte) []byte {
	if d.digest == nil {
		sum := sha256.Sum256(d.source)
		d.digest = hex.AppendEncode(nil, sum[:16])
	}
	return append(append(bytes.Clone(urn), 0), d.digest...)
}

// identify assigns each resource its key. If several resources have the same key, they are versions of one resource,
// and identify chooses the one to use (docs/decisions.md#resource-versions): the most recently updated version. If
// the update times do not decide, the higher version number and then the later position in the body do. A conditional
// create is used only if the body contains no unconditional request for the resource.
func identify(m *mapper) {
	m.keys = make(map[string]int32, len(m.resources))
	m.urls = map[string]int32{}
	m.visits, m.patients = map[string]string{}, map[[2]string][2]string{}
	for n := range m.resources {
		r := &m.resources[n]
		if r.contained || r.rejected {
			continue
		}
		if r.key = m.keyOf(r); r.key != "" {
			m.chooseVersion(r, int32(n))
		}
		if r.kind == encounterKind || !r.kind.isApplied() {
			if url := m.bytes(r.fullURL); len(url) > 0 {
				m.urls[string(url)] = int32(n)
			}
		}
	}
	// A resource without an id, identifier or address is identified by its content and its subject. The loop above
	// has already indexed the resources that may be the subject.
	for n := range m.resources {
		if r := &m.resources[n]; r.key == "" && !r.contained && !r.rejected {
			r.key, r.described = describe(m, r), true
			m.chooseVersion(r, int32(n))
		}
	}
}

// chooseVersion adds a resource to the index. If the index already contains a resource with the same key,
// chooseVersion decides which of the two is used.
func (x *index) chooseVersion(r *resource, n int32) {
	other, twice := x.keys[r.key]
	if !twice {
		x.keys[r.key] = n
		return
	}
	before := &x.resources[other]
	if r.onlyNew != before.onlyNew { // an unconditional create or update supersedes a conditional create
		r.superseded, before.superseded = r.onlyNew, before.superseded || before.onlyNew
		if before.onlyNew {
			x.keys[r.key] = n
		}
		return
	}
	if x.isOlder(r, before) {
		r.superseded = true
		return
	}
	before.superseded = true
	x.keys[r.key] = n
}

// isOlder reports whether a is the older version: by time or, if the times are equal or both missing, by version
// number.
func (x *index) isOlder(a, b *resource) bool {
	atA, okA := x.instant(a.updated)
	atB, okB := x.instant(b.updated)
	if okA && okB && atA.From != atB.From {
		return atA.From < atB.From
	}
	numberA, numberB := x.versionOf(a), x.versionOf(b)
	return okA == okB && numberA != 0 && numberB != 0 && numberA < numberB
}

// versionOf returns the number of a version, or 0 if it has none.
func (d *document) versionOf(r *resource) int64 {
	text := strings.Trim(strings.TrimPrefix(string(bytes.TrimSpace(d.bytes(r.versionID))), "W/"), `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// keyOf returns the key that identifies a resource for its sender (docs/decisions.md#resource-identity): the first
// available of its id, the id in its request URL or fullUrl, its first identifier, and its fullUrl unless that is a
// placeholder. It returns "" if there is none.
func (x *index) keyOf(r *resource) string {
	if id := x.idOf(r); len(id) > 0 {
		return kindNames[r.kind] + "/" + string(id)
	}
	if r.firstIdentifier < r.lastIdentifier {
		return kindNames[r.kind] + "?identifier=" + string(x.bytes(x.identifiers[r.firstIdentifier].value))
	}
	if url := x.bytes(r.fullURL); len(url) > 0 && placeholder(url) == nil {
		return string(url)
	}
	return ""
}

// nameOf returns the name by which references refer to a resource, or "" if it has no such name. Without an id, the
// name is the placeholder in the fullUrl. If that placeholder is not unique, the name of an Encounter is "", and the
// name of any other resource includes the digest of the body. A contained resource has no name: many senders give every
// contained Patient the same id, and it would then mean the patient of another resource.
func (x *index) nameOf(r *resource) string {
	if r.contained {
		return ""
	}
	id := x.idOf(r)
	if len(id) == 0 {
		if id = placeholder(x.bytes(r.fullURL)); len(id) > 0 && !isUnique(id) {
			if r.kind == encounterKind {
				return "" // the visit is then named by r.key, which is the same in the next body
			}
			id = x.localName(id)
		}
	}
	if len(id) == 0 {
		return ""
	}
	return kindNames[r.kind] + "/" + string(id)
}

// idOf returns the id of a resource or, if it has none, the id at the end of its request URL or fullUrl. It returns
// nil if none of them contains an id.
func (d *document) idOf(r *resource) []byte {
	if !r.id.empty() {
		return d.bytes(r.id)
	}
	if r.address != "" {
		_, id := cutReference([]byte(r.address))
		return id
	}
	url := d.bytes(r.fullURL)
	if placeholder(url) != nil {
		return nil // a placeholder names the resource only in this body
	}
	if name, id := cutReference(url); kindOf(name) == r.kind {
		return id
	}
	return nil
}

// identifierNames are the codes and texts that mean a type of identifier, the standard code first.
var identifierNames = map[string][]string{
	"": {""}, "VN": {"VN"}, "MR": {"MR", "MRN", "medical record number"}, "AN": {"AN", "account number"},
}

// identifierOf returns the current identifier of the given type ("": without a type) or, if there is none, the first
// current identifier.
// It returns "" if the resource has no current identifier.
func (d *document) identifierOf(r *resource, kind string) string {
	list := d.identifiers[r.firstIdentifier:r.lastIdentifier]
	for _, name := range identifierNames[kind] {
		for _, id := range list {
			if !id.old && strings.EqualFold(string(d.bytes(id.kind)), name) {
				return d.string(id.value, maxID)
			}
		}
	}
	for _, id := range list {
		if !id.old {
			return d.string(id.value, maxID)
		}
	}
	return ""
}

// accountOf returns the account number of an Encounter that has no other current identifier, or "". Mother and newborn
// may share an account, so it does not identify the visit by itself.
func (d *document) accountOf(r *resource) (account string) {
	for _, id := range d.identifiers[r.firstIdentifier:r.lastIdentifier] {
		kind := string(d.bytes(id.kind))
		switch isAccount := func(name string) bool { return strings.EqualFold(kind, name) }; {
		case id.old:
		case !slices.ContainsFunc(identifierNames["AN"], isAccount):
			return ""
		case account == "":
			account = d.string(id.value, maxID)
		}
	}
	return account
}

// isOtherPatient reports whether two Encounters have different patients. It compares only identities of the same
// kind: two numbers, or two references.
func (x *index) isOtherPatient(a, b *resource) bool {
	p, q := x.identityOf(a), x.identityOf(b)
	differ := false
	for kind := range p {
		if p[kind] != "" && q[kind] != "" {
			if p[kind] == q[kind] {
				return false
			}
			differ = true
		}
	}
	return differ
}

// identityOf returns the number and the reference of an Encounter's patient; each is "" if there is none.
func (x *index) identityOf(r *resource) [2]string {
	t, ok := x.follow(&r.subject, patientKind, r)
	switch {
	case !ok:
		return [2]string{}
	case t.at < 0:
		return [2]string{t.logical, t.name}
	}
	p := &x.resources[t.at]
	return [2]string{x.identifierOf(p, "MR"), x.nameOf(p)}
}

// hasAge reports whether the birth date of a Patient is precise enough to decide whether the patient is a newborn.
func (x *index) hasAge(r *resource) bool {
	born, dated := x.instant(r.birth)
	return dated && born.Precision <= acuity.Day
}
