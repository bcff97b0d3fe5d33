package hl7

import "bytes"

// Raw returns a field as it was sent, with its escapes; nil if it is missing. The
// segment is MSH, EVN, PID, PV1 or PV2.
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

// header returns field n of MSH. MSH-1 is the separator itself.
func (m *Message) header(n int) []byte {
	if n == 1 {
		return m.raw[3:4]
	}
	return m.field(m.msh, n-1)
}

// field returns field n of a segment; nil if it is missing.
func (m *Message) field(s segment, n int) []byte {
	at := int(s.first) + n - 1
	if n < 1 || at >= int(s.last) {
		return nil
	}
	b := m.raw[m.marks[at]+1 : m.marks[at+1]]
	for m.continued && len(b) > 0 && isTerminator(b[len(b)-1]) { // line ends between the lines of a segment
		b = b[:len(b)-1]
	}
	return b
}

// part returns the n-th piece of b between separators, from 1; nil if there are fewer. A
// separator of 0 means that the message does not use that delimiter. Pieces are short, so
// a search for each separator would take longer than a look at every byte.
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

// at returns component n of a field's first repetition; nil if it is missing.
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

// split writes the first components of a field's first repetition to parts. Missing ones
// stay nil.
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

// isNull reports whether a field is "", which asks to delete the known value.
func isNull(field []byte) bool { return string(field) == `""` }

// blank reports whether a field or component has no content.
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

// oneLine cuts b at the first line break. Only a segment of several lines has one, and no
// identifier does.
func (m *Message) oneLine(b []byte) []byte {
	if m.continued {
		if i := bytes.IndexAny(b, terminators); i >= 0 {
			return b[:i]
		}
	}
	return b
}
