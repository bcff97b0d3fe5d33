package hl7

import (
	"strings"
	"unicode/utf8"
)

// Charset is the encoding of a message's text. All of them leave the delimiters
// where ASCII has them.
type Charset uint8

// The character sets. CharsetUnknown is not declared: valid UTF-8 is taken as
// such, anything else as Windows-1252 with a warning.
const (
	CharsetUnknown Charset = iota
	UTF8
	Windows1252 // also for ISO 8859-1, whose C1 controls nobody sends
)

// CharsetNamed returns a character set by its name in HTTP or in HL7 table 0211.
func CharsetNamed(name string) (Charset, bool) {
	switch strings.ToUpper(strings.TrimSpace(name)) {
	case "UNICODE UTF-8", "UTF-8", "UTF8", "UNICODE":
		return UTF8, true
	case "8859/1", "ISO-8859-1", "ISO8859-1", "ISO IR100", "LATIN1", "WINDOWS-1252", "CP1252":
		return Windows1252, true
	case "ASCII", "US-ASCII", "ISO IR6", "ISO IR14", "":
		return CharsetUnknown, true
	default:
		return CharsetUnknown, false
	}
}

// settle decides the character set of a message and says, if it had to be
// guessed, by which rule.
func (m *Message) settle(transport Charset) (warning string) {
	m.charset = transport
	if m.charset == CharsetUnknown {
		var known bool
		if m.charset, known = CharsetNamed(string(m.at(m.header(18), 1))); !known {
			warning = "charset_unknown"
		}
	}
	if m.charset == Windows1252 {
		return warning
	}
	if utf8.Valid(m.raw) {
		m.charset = UTF8
		return warning
	}
	if m.charset == UTF8 {
		warning = "charset_invalid"
	} else if warning == "" {
		warning = "charset_assumed"
	}
	m.charset = Windows1252
	return warning
}

// decode returns b as UTF-8.
func (c Charset) decode(b []byte) string {
	ascii := true
	for _, x := range b {
		if x >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return string(b)
	}
	if c != Windows1252 {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	var s strings.Builder
	s.Grow(len(b) + len(b)/2)
	for _, x := range b {
		if x >= 0x80 && x < 0xa0 {
			s.WriteRune(high1252[x-0x80])
		} else {
			s.WriteRune(rune(x))
		}
	}
	return s.String()
}

// high1252 is what Windows-1252 has at 0x80-0x9f (WHATWG Encoding Standard,
// index windows-1252).
var high1252 = [32]rune{
	'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8d, 'Ž', 0x8f,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9d, 'ž', 'Ÿ',
}
