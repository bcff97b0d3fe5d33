package hl7

import (
	"bytes"
	"strings"
	"unicode"
)

// identifier returns the text of an identifier or a place: unescaped, in UTF-8, without
// control characters and outer spaces. The text is in scratch memory. clean is false if
// an unknown escape stays in it.
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

// plain reports whether b needs no decoding: it is ASCII without escapes and control
// characters.
func (m *Message) plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == m.escape {
			return false
		}
	}
	return true
}

// text returns readable text: unescaped, in UTF-8, with a space for each control
// character and line break.
func (m *Message) text(b []byte) string {
	if blank(b) {
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

// unescape appends b with its escape sequences resolved. Sequences for highlighting and
// for character sets stay in the text. Unknown and unterminated ones stay too; then clean
// is false.
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
			if !literal(sequence) {
				// This may be a lone escape character before a real sequence. Keep the
				// first and read again from the second.
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

// resolve appends the text of an escape sequence.
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

// literal reports whether a sequence is known but has no text.
func literal(sequence []byte) bool {
	return len(sequence) > 0 && (string(sequence) == "H" || string(sequence) == "N" ||
		(sequence[0] == 'C' || sequence[0] == 'M') && len(sequence) > 1)
}

func nibble(c byte) byte {
	switch {
	case digit(c):
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	default:
		return 255
	}
}
