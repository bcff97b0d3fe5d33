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
	b := m.raw[m.marks[at]+1 : m.marks[at+1]]
	for m.continued && len(b) > 0 && isTerminator(b[len(b)-1]) { // between the lines of a segment
		b = b[:len(b)-1]
	}
	return b
}

// part returns the n-th piece of b between separators, from 1; nil if there are
// fewer. A separator of 0 is one that the message does not have. (Pieces are
// short: a search for each would take longer than looking at every byte.)
func part(b []byte, separator byte, n int) []byte {
	if separator == 0 {
		if n == 1 {
			return b
		}
		return nil
	}
	start := 0
	for i, c := range b {
		if c != separator {
			continue
		}
		if n--; n == 0 {
			return b[start:i]
		}
		start = i + 1
	}
	if n > 1 {
		return nil
	}
	return b[start:]
}

// first returns the first repetition of a field.
func (m *Message) first(field []byte) []byte { return part(field, m.repetition, 1) }

// at returns component n of a field's first repetition, nil if it is not there.
func (m *Message) at(field []byte, n int) []byte {
	for {
		end := m.componentEnd(field)
		if n--; n == 0 {
			return field[:end]
		}
		if end == len(field) || field[end] == m.repetition {
			return nil
		}
		field = field[end+1:]
	}
}

// split writes the first components of a field's first repetition to parts; those
// that are not there stay nil.
func (m *Message) split(field []byte, parts [][]byte) {
	for n := range parts {
		end := m.componentEnd(field)
		parts[n] = field[:end]
		if end == len(field) || field[end] == m.repetition {
			return
		}
		field = field[end+1:]
	}
}

// componentEnd returns where the first component of a field ends.
func (m *Message) componentEnd(field []byte) int {
	for i, c := range field {
		if c == m.component || c == m.repetition {
			return i
		}
	}
	return len(field)
}

// isNull reports whether a field says "delete what you know": "".
func isNull(field []byte) bool { return string(field) == `""` }

// blank reports whether a field or component says nothing that could be kept.
func blank(b []byte) bool {
	for _, c := range b {
		if c > ' ' {
			return c == '"' && isNull(trim(b))
		}
	}
	return true
}

// trim removes spaces and control characters around b.
func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// oneLine cuts at the first line break, which only a segment of several lines has:
// no identifier has one.
func (m *Message) oneLine(b []byte) []byte {
	if m.continued {
		if i := bytes.IndexAny(b, terminators); i >= 0 {
			return b[:i]
		}
	}
	return b
}
