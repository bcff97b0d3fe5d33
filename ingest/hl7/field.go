package hl7

import (
	"bytes"
	"strings"
	"unicode"
)

// header returns field n of MSH. MSH-1 is the separator itself.
func (m *Message) header(n int) []byte {
	if n == 1 {
		return m.raw[3:4]
	}
	return m.field(m.msh, n-1)
}

// field returns field n of a segment, or nil if it is missing.
func (m *Message) field(s segment, n int) []byte {
	at := int(s.first) + n - 1
	if n < 1 || at >= int(s.last) {
		return nil
	}
	b := m.raw[m.marks[at]+1 : m.marks[at+1]]
	for m.continued && len(b) > 0 && isTerminator(b[len(b)-1]) { // in a segment of several lines, a field may end with a line break
		b = b[:len(b)-1]
	}
	return b
}

// part returns the n-th part of b, counted from 1, where separator delimits the parts. It returns nil if b has fewer
// parts. A separator of 0 means that the message does not use that delimiter, so b is a single part. Parts are short,
// so comparing every byte is faster than searching for each separator.
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

// at returns component n of a field's first repetition, or nil if it is missing.
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

// split fills parts with the components of a field's first repetition. Missing components are nil.
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

// isNull reports whether a field is "" (two quotation marks), which requests that the known value be deleted.
func isNull(field []byte) bool { return string(field) == `""` }

// isDeletion reports whether a field requests that the known value be deleted. Some senders write the two quotation
// marks in each component instead of once in the field.
func (m *Message) isDeletion(field []byte) bool {
	if !bytes.Contains(field, []byte(`""`)) {
		return false
	}
	deletes := false
	for component := range bytes.SplitSeq(m.first(field), []byte{m.component}) {
		if !isBlank(component) {
			return false
		}
		deletes = deletes || isNull(trim(component))
	}
	return deletes
}

// isBlank reports whether a field or component has no content.
func isBlank(b []byte) bool {
	for _, c := range b {
		if c > ' ' {
			return c == '"' && isNull(trim(b))
		}
	}
	return true
}

// trim removes leading and trailing spaces and control characters.
func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// oneLine cuts b at the first line break. Only a segment of several lines can contain one; an identifier never does.
func (m *Message) oneLine(b []byte) []byte {
	if m.continued {
		if i := bytes.IndexAny(b, terminators); i >= 0 {
			return b[:i]
		}
	}
	return b
}

// identifier returns the text of an identifier or a place: unescaped, in UTF-8, without control characters and
// surrounding spaces. The next call overwrites the text. clean is false if the text still contains an unknown escape.
func (m *Message) identifier(b []byte) (text []byte, clean bool) {
	if isNull(b) {
		return nil, true
	}
	text, clean = m.unescape(m.scratch[:0], b)
	m.scratch = text
	if !isASCII(text) {
		text = append(text[:0], strings.Map(dropControl, m.charset.decode(text))...)
		m.scratch = text
		return bytes.TrimSpace(text), clean
	}
	kept := text[:0]
	for _, c := range text {
		if c >= ' ' && c != 0x7f {
			kept = append(kept, c)
		}
	}
	return trim(kept), clean
}

// isPlain reports whether b needs no decoding: it is ASCII without escapes and control
// characters.
func (m *Message) isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == m.escape {
			return false
		}
	}
	return true
}

// text returns b as readable text: unescaped, in UTF-8, with a space for each control character and line break.
func (m *Message) text(b []byte) string {
	if isBlank(b) {
		return ""
	}
	unescaped, _ := m.unescape(nil, b)
	return strings.TrimSpace(strings.Map(spaceControl, m.charset.decode(unescaped)))
}

func dropControl(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

func spaceControl(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// unescape appends b to out, with the escape sequences of b resolved. Sequences for highlighting and character sets
// remain in the text. Unknown and unterminated sequences also remain, and clean is then false.
func (m *Message) unescape(out, b []byte) (text []byte, clean bool) {
	clean = true
	for m.escape != 0 {
		i := bytes.IndexByte(b, m.escape)
		if i < 0 {
			break
		}
		n := bytes.IndexByte(b[i+1:], m.escape)
		if n < 0 {
			clean = false
			break
		}
		out = append(out, b[:i]...)
		sequence := b[i+1 : i+1+n]
		var ok bool
		if out, ok = m.resolve(out, sequence); !ok {
			if !isLiteral(sequence) {
				// This may be a stray escape character before a real sequence. Copy the stray character and continue
				// at the second escape character.
				clean = false
				out = append(out, m.escape)
				b = b[i+1:]
				continue
			}
			out = append(append(append(out, m.escape), sequence...), m.escape)
		}
		b = b[i+n+2:]
	}
	return append(out, b...), clean
}

// resolve appends the text of an escape sequence to out. It returns false if the sequence does not represent text.
func (m *Message) resolve(out, sequence []byte) ([]byte, bool) {
	switch string(sequence) {
	case "F":
		return append(out, m.separator), true
	case "S":
		return append(out, m.component), true
	case "R":
		return append(out, m.repetition), true
	case "E":
		return append(out, m.escape), true
	case "T":
		if m.subcomponent == 0 {
			return append(out, '&'), true
		}
		return append(out, m.subcomponent), true
	case "P":
		return append(out, '#'), true // the truncation character of v2.7
	case ".br":
		return append(out, '\n'), true
	}
	if len(sequence) < 3 || sequence[0] != 'X' || len(sequence)%2 == 0 {
		return out, false
	}
	start := len(out)
	for i := 1; i < len(sequence); i += 2 {
		hi, lo := nibble(sequence[i]), nibble(sequence[i+1])
		if hi > 15 || lo > 15 {
			return out[:start], false
		}
		out = append(out, hi<<4|lo)
	}
	return out, true
}

// isLiteral reports whether a sequence is known but does not represent text.
func isLiteral(sequence []byte) bool {
	return len(sequence) > 0 && (string(sequence) == "H" || string(sequence) == "N" ||
		(sequence[0] == 'C' || sequence[0] == 'M') && len(sequence) > 1)
}

func nibble(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	default:
		return 255
	}
}
