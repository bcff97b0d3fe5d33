package fhir

import (
	"bytes"
	"strings"
)

// describe returns the content and the patient of a resource without a name, as text.
func (x *index) describe(r *resource) string {
	var b strings.Builder
	x.describeThing(&b, r)
	for _, about := range [...]string{x.sent(&r.subject, patientKind, r), x.sent(&r.encounter, encounterKind, r)} {
		b.WriteByte(0)
		b.WriteString(about)
	}
	return b.String()
}

// describeThing writes the content of a resource without a name, but not its patient.
func (x *index) describeThing(b *strings.Builder, r *resource) {
	b.WriteString(kindNames[r.kind])
	part := func(text []byte) {
		b.WriteByte(0)
		b.Write(text)
	}
	for _, c := range x.codings[r.code.first:r.code.last] {
		part(x.bytes(c.system))
		part(x.bytes(c.code))
	}
	b.WriteByte(1) // the end of the codings
	for _, p := range []span{r.code.text, r.class.code, r.at, r.during.start} {
		part(x.bytes(p))
	}
	part([]byte(x.sent(&r.medication, medicationKind, r)))
}

// sent returns the target of a reference as the sender wrote it. Only a placeholder or a
// contained resource needs more of the body. Other parts of the body must not count: the
// next statement about the same thing may come without them.
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
		return string(x.hereOnly(urn))
	}
	if address, query, ok := bytes.Cut(literal, []byte("?")); ok {
		value, _, _ := bytes.Cut(bytes.TrimPrefix(query, []byte("identifier=")), []byte("&"))
		if name := address[bytes.LastIndexByte(address, '/')+1:]; kindOf(name) == want {
			return kindNames[want] + "=" + string(value[bytes.LastIndexByte(value, '|')+1:])
		}
	}
	_, id := cutReference(literal)
	return kindNames[want] + "/" + string(id)
}

// logical returns the target of a reference by its identifier; "" if it has none.
func (x *index) logical(ref *reference, want kind) string {
	if value := x.bytes(ref.identifier); len(value) > 0 {
		return kindNames[want] + "=" + string(value)
	}
	return ""
}

// ownName returns the name of a resource outside of its body: its id unless it is
// contained, else its identifier, else its codes.
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

// resourceOf returns the pseudonym of a resource within its sender's ids. Senders can
// refer to the patient in many ways, so the name of a statement without an id leaves the
// patient out.
func (x *index) resourceOf(r *resource) string {
	if r.described && r.kind != encounterKind {
		var b strings.Builder
		x.describeThing(&b, r)
		return "~" + x.Pseudonym(KindResource, x.Source+"\x00"+b.String())
	}
	return x.Pseudonym(KindResource, x.Source+"\x00"+r.key)
}
