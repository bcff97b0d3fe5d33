package hl7

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Charset is the encoding of a message's text. The zero value means that no encoding is declared: valid UTF-8 is read
// as UTF-8, and anything else as Windows-1252 with a warning.
type Charset struct {
	kind     charsetKind
	encoding encoding.Encoding
}

type charsetKind uint8

const (
	undeclared charsetKind = iota
	utf8Text
	// In singleByte charsets, delimiters have their ASCII codes. Each field is decoded separately, when it is read.
	singleByte
	// In multiByte charsets, the later bytes of a character can equal delimiters. A message is decoded before it is
	// split.
	multiByte
	// In wide charsets, a delimiter or line end occupies several bytes. A body is decoded before it is split into
	// messages.
	wide
)

// Common character sets.
var (
	UTF8        = Charset{kind: utf8Text}
	Windows1252 = Charset{singleByte, charmap.Windows1252} // also used for ISO 8859-1, because senders do not use its C1 controls
)

// tables maps names in upper case to character sets. It contains the names of HL7 table 0211 that are not also
// Internet names, and the most common names.
var tables = map[string]Charset{
	"UNICODE UTF-8": UTF8, "UNICODE": UTF8,
	"UNICODE UTF-16": {wide, unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
	"UNICODE UTF-32": {wide, utf32.UTF32(utf32.BigEndian, utf32.UseBOM)},

	"8859/1": Windows1252, "8859/2": {singleByte, charmap.ISO8859_2}, "8859/3": {singleByte, charmap.ISO8859_3},
	"8859/4": {singleByte, charmap.ISO8859_4}, "8859/5": {singleByte, charmap.ISO8859_5},
	"8859/6": {singleByte, charmap.ISO8859_6}, "8859/7": {singleByte, charmap.ISO8859_7},
	"8859/8": {singleByte, charmap.ISO8859_8}, "8859/9": {singleByte, charmap.ISO8859_9},
	"8859/10": {singleByte, charmap.ISO8859_10}, "8859/13": {singleByte, charmap.ISO8859_13},
	"8859/14": {singleByte, charmap.ISO8859_14}, "8859/15": {singleByte, charmap.ISO8859_15},

	// These names are ISO 2375 registrations, as in DICOM and HL7.
	"ISO IR6": {}, "ISO IR100": Windows1252, "ISO IR101": {singleByte, charmap.ISO8859_2},
	"ISO IR109": {singleByte, charmap.ISO8859_3}, "ISO IR110": {singleByte, charmap.ISO8859_4},
	"ISO IR144": {singleByte, charmap.ISO8859_5}, "ISO IR127": {singleByte, charmap.ISO8859_6},
	"ISO IR126": {singleByte, charmap.ISO8859_7}, "ISO IR138": {singleByte, charmap.ISO8859_8},
	"ISO IR148": {singleByte, charmap.ISO8859_9}, "ISO IR166": {singleByte, charmap.Windows874},
	"ISO IR192": UTF8,

	"ISO IR13": {multiByte, japanese.ShiftJIS}, "ISO IR14": {},
	"ISO IR87": {multiByte, japanese.ISO2022JP}, "ISO IR159": {multiByte, japanese.ISO2022JP},
	"GB 18030-2000": {multiByte, simplifiedchinese.GB18030}, "GB 18030": {multiByte, simplifiedchinese.GB18030},
	"KS X 1001": {multiByte, korean.EUCKR}, "BIG-5": {multiByte, traditionalchinese.Big5},

	"": {}, "ASCII": {}, "US-ASCII": {}, // for non-ASCII characters, the encoding is guessed
	"ISO-8859-1": Windows1252, "ISO8859-1": Windows1252, "LATIN1": Windows1252,
	"UTF-8": UTF8, "UTF8": UTF8,
	"UTF-16": {wide, unicode.UTF16(unicode.BigEndian, unicode.UseBOM)}, "UTF-32": {wide, utf32.UTF32(utf32.BigEndian, utf32.UseBOM)},
}

// CharsetNamed returns a character set by its name in HTTP (a label of the WHATWG Encoding Standard) or in HL7 table
// 0211. For any other name it returns the zero value, and known is false.
func CharsetNamed(name string) (c Charset, known bool) {
	if name == "" {
		return Charset{}, true
	}
	name = strings.ToUpper(strings.TrimSpace(strings.ReplaceAll(name, "_", "-")))
	if c, known = tables[name]; known {
		return c, true
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		return Charset{}, false
	}
	switch canonical, _ := htmlindex.Name(found); canonical { //nolint:errcheck // never fails: found was looked up by name
	case "utf-8":
		return UTF8, true
	case "replacement", "x-user-defined":
		return Charset{}, false
	case "utf-16be", "utf-16le":
		return Charset{wide, found}, true
	}
	if _, single := found.(*charmap.Charmap); single {
		return Charset{singleByte, found}, true
	}
	return Charset{multiByte, found}, true
}

// narrow returns a body in which delimiters are single bytes. It converts UTF-16 and UTF-32 to UTF-8 if they are
// declared or implied by the first bytes.
func narrow(body []byte, transport Charset) ([]byte, Charset) {
	c := transport
	if c.kind != wide {
		switch {
		case leads(body, "\xff\xfe\x00\x00", "\x00\x00\xfe\xff"):
			c = tables["UTF-32"]
		case leads(body, "\xff\xfe", "\xfe\xff", "\x00M\x00S\x00H", "\x00B\x00H\x00S", "\x00F\x00H\x00S"):
			c = tables["UTF-16"]
		case leads(body, "M\x00S\x00H\x00", "B\x00H\x00S\x00", "F\x00H\x00S\x00"):
			c = Charset{wide, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}
		default:
			return body, transport
		}
	}
	decoded, err := c.encoding.NewDecoder().Bytes(body)
	if err != nil {
		return body, transport
	}
	return decoded, UTF8
}

func leads(body []byte, any ...string) bool {
	for _, prefix := range any {
		if bytes.HasPrefix(body, []byte(prefix)) {
			return true
		}
	}
	return false
}

// declared returns the character set that the transport declares or, without one, the one in MSH-18. If MSH-18 lists
// several, the first that is not ASCII is used. HL7 escape sequences that switch to another listed character set are
// not supported.
func (m *Message) declared(transport Charset) (c Charset, known bool) {
	if transport.kind != undeclared {
		return transport, true
	}
	field := m.oneLine(m.header(18))
	if isBlank(field) {
		return Charset{}, true
	}
	for name := range bytes.SplitSeq(field, []byte{m.repetition}) {
		if c, known = CharsetNamed(string(part(name, m.component, 1))); !known || c.kind != undeclared {
			break
		}
	}
	if c.kind == wide { // narrow has already converted the body
		return Charset{}, true
	}
	return c, known
}

// resolveCharset sets the character set of the text in m.raw. If it has to guess, it also sets a warning.
func (m *Message) resolveCharset() {
	if m.charsetKnown {
		return
	}
	m.charsetKnown = true
	if m.charset.kind == singleByte {
		return
	}
	if utf8.Valid(m.raw) {
		m.charset = UTF8
		return
	}
	if m.charset.kind == utf8Text {
		m.guess = warnCharsetInvalid
	} else if m.guess == "" {
		m.guess = warnCharsetAssumed
	}
	m.charset = Windows1252
}

// decode returns b as UTF-8.
func (c Charset) decode(b []byte) string {
	if isASCII(b) {
		return string(b)
	}
	table, single := c.encoding.(*charmap.Charmap)
	if !single {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	var s strings.Builder
	s.Grow(len(b) + len(b)/2)
	for _, x := range b {
		s.WriteRune(table.DecodeByte(x))
	}
	return s.String()
}

func isASCII(b []byte) bool {
	for _, x := range b {
		if x >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
