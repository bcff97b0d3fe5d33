package fhir

import (
	"bytes"
	"strings"
)

// describe returns the content and the patient of a resource without a name, as text.
func (d *decoder) describe(r *resource) string {
	var b strings.Builder
	describeThing(d, &b, r)
	for _, about := range [...]string{d.sent(&r.subject, patientKind, r), d.sent(&r.encounter, encounterKind, r)} {
		b.WriteByte(0)
		b.WriteString(about)
	}
	return b.String()
}

// describeThing writes the content of a resource without a name, but not its patient.
func describeThing(d *decoder, b *strings.Builder, r *resource) {
	b.WriteString(kindNames[r.kind])
	part := func(text []byte) {
		b.WriteByte(0)
		b.Write(text)
	}
	for _, c := range d.codings[r.code.first:r.code.last] {
		part(d.bytes(c.system))
		part(d.bytes(c.code))
	}
	b.WriteByte(1) // the end of the codings
	for _, p := range []span{r.code.text, r.class.code, r.at, r.during.start} {
		part(d.bytes(p))
	}
	part([]byte(d.sent(&r.medication, medicationKind, r)))
}

// sent returns the target of a reference as the sender wrote it. Only a placeholder or a
// contained resource needs more of the body. Other parts of the body must not count: the
// next statement about the same thing may come without them.
func (d *decoder) sent(ref *reference, want kind, from *resource) string {
	literal := d.bytes(ref.literal)
	if len(literal) == 0 {
		return d.logical(ref, want)
	}
	urn := placeholder(literal)
	if literal[0] == '#' || urn != nil {
		if t, found := d.follow(ref, want, from); found && t.at >= 0 {
			if name := d.ownName(&d.resources[t.at]); name != "" {
				return name
			}
		}
		switch name := d.logical(ref, want); {
		case name != "" || urn == nil:
			return name
		case isUnique(urn):
			return string(urn)
		}
		return string(d.hereOnly(urn))
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
func (d *decoder) logical(ref *reference, want kind) string {
	if value := d.bytes(ref.identifier); len(value) > 0 {
		return kindNames[want] + "=" + string(value)
	}
	return ""
}

// ownName returns the name of a resource outside of its body: its id unless it is
// contained, else its identifier, else its codes.
func (d *decoder) ownName(r *resource) string {
	if id := d.idOf(r); len(id) > 0 && !r.contained {
		return kindNames[r.kind] + "/" + string(id)
	}
	kind := map[kind]string{encounterKind: "VN", patientKind: "MR"}[r.kind]
	if value := d.identifierOf(r, kind); value != "" {
		return kindNames[r.kind] + "=" + value
	}
	var b strings.Builder
	for _, c := range d.codings[r.code.first:r.code.last] {
		b.Write(d.bytes(c.system))
		b.WriteByte('|')
		b.Write(d.bytes(c.code))
		b.WriteByte(' ')
	}
	b.Write(d.bytes(r.code.text))
	return b.String()
}

// resourceOf returns the pseudonym of a resource within its sender's ids. Senders can
// refer to the patient in many ways, so the name of a statement without an id leaves the
// patient out.
func (d *decoder) resourceOf(r *resource) string {
	if r.described && r.kind != encounterKind {
		var b strings.Builder
		describeThing(d, &b, r)
		return "~" + d.Pseudonym(KindResource, d.Source+"\x00"+b.String())
	}
	return d.Pseudonym(KindResource, d.Source+"\x00"+r.key)
}
