package hl7

import "bytes"

// Raw returns a field as it was sent, escapes and all; nil if it is not there.
// Segments are named as in "PV1"; only MSH, EVN, PID, PV1 and PV2 can be asked.
func (m *Message) Raw(name string, field int) []byte {
	switch name {
	case "MSH":
		return m.header(field)
	case "EVN":
		return m.field(m.evn, field)
	case "PID":
		return m.field(m.pid, field)
	case "PV1":
		return m.field(m.pv1, field)
	case "PV2":
		return m.field(m.pv2, field)
	default:
		return nil
	}
}

// header returns field n of MSH, which is counted from the separator itself.
func (m *Message) header(n int) []byte {
	if n == 1 {
		return m.raw[3:4]
	}
	return m.field(m.msh, n-1)
}

// field returns field n of a segment, nil if it is not there.
func (m *Message) field(s segment, n int) []byte {
	at := int(s.first) + n - 1
	if n < 1 || at >= int(s.last) {
		return nil
	}
	end := s.end
	if at+1 < int(s.last) {
		end = m.marks[at+1]
	}
	b := m.raw[m.marks[at]+1 : end]
	for len(b) > 0 && isTerminator(b[len(b)-1]) { // between the lines of a segment
		b = b[:len(b)-1]
	}
	return b
}

// part returns the n-th piece of b between separators, from 1; nil if there are
// fewer. A separator of 0 is one that the message does not have.
func part(b []byte, separator byte, n int) []byte {
	if separator == 0 {
		if n == 1 {
			return b
		}
		return nil
	}
	for ; n > 1; n-- {
		i := bytes.IndexByte(b, separator)
		if i < 0 {
			return nil
		}
		b = b[i+1:]
	}
	if i := bytes.IndexByte(b, separator); i >= 0 {
		b = b[:i]
	}
	return b
}

// first returns the first repetition of a field.
func (m *Message) first(field []byte) []byte { return part(field, m.repetition, 1) }

// at returns component n of a field's first repetition.
func (m *Message) at(field []byte, n int) []byte {
	return part(m.first(field), m.component, n)
}

// isNull reports whether a field says "delete what you know": "".
func isNull(field []byte) bool { return string(field) == `""` }

// blank reports whether a field or component says nothing that could be kept.
func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 || isNull(b) }

// oneLine cuts at the first line break: no identifier has one.
func oneLine(b []byte) []byte {
	if i := bytes.IndexAny(b, terminators); i >= 0 {
		return b[:i]
	}
	return b
}
