// Package hl7 decodes HL7 v2 ADT messages into events of a visit.
//
// A [Message] is a view. One pass over the bytes finds the used segments and their
// fields; nothing is copied or unescaped until a field is read. [Message.Facts] returns
// the event, [Message.Ack] the acknowledgment; [Split] splits a batch. There is no I/O
// and no clock: the caller passes the time of receipt.
//
// Names, birth dates, addresses and free text never become a value. Only "younger than 28
// days" is kept of PID-7, and only the hints of [adt.ParseReasons] of PV2-3.
// Identifiers leave as the pseudonyms that the caller makes. Warnings and faults name
// positions, never values.
package hl7

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// These constants bound one message. A message beyond them is refused with AE (ERR 102).
const (
	MaxSegments = 1000
	MaxField    = 64 << 10 // bytes
)

// ErrNoHeader says that the text is no HL7 message: it does not begin with MSH, or MSH-1
// and MSH-2 are unusable.
var ErrNoHeader = errors.New("no usable MSH segment")

// Message is a view of one message. The zero value is ready for [Message.Scan]. Each Scan
// reuses its memory.
type Message struct {
	raw   []byte  // in UTF-8 if its character set has delimiters inside of characters
	sent  []byte  // as it was sent
	marks []int32 // positions of field separators and ends of the used segments

	charset Charset
	guess   string // warning about the character set
	settled bool   // charset and guess are final

	separator, component, repetition, escape, subcomponent byte

	encoding  int  // number of characters in MSH-2
	continued bool // a used segment has several lines

	msh, evn, pid, pv1, pv2 segment
	dg1, nk1                []segment
	size                    *Fault // broken bound, which Facts reports

	scratch []byte // an identifier that had to be unescaped
	made    []byte // a pseudonym
}

// segment is the position of a segment: its separators are marks[first:last]. marks[last]
// is its end, continuation lines included. The zero value is an absent segment.
type segment struct{ first, last int32 }

// Scan makes m the view of the message in raw, which must not change while m is used.
// It skips MLLP framing and a byte order mark. The transport declares the character
// set, else MSH-18 does. The only error is [ErrNoHeader]; [Message.Facts] finds all
// other faults.
func (m *Message) Scan(raw []byte, transport Charset) error {
	raw = trimFrame(raw)
	if err := m.scan(raw); err != nil {
		return err
	}
	charset, known := m.declared(transport)
	if charset.kind == multiByte {
		decoded, err := charset.encoding.NewDecoder().Bytes(raw)
		if err != nil {
			decoded = raw
		}
		if err := m.scan(trimFrame(decoded)); err != nil {
			return err
		}
		charset = UTF8
	}
	m.sent, m.charset = raw, charset
	if !known {
		m.guess = warnCharsetUnknown
	}
	return nil
}

func (m *Message) scan(raw []byte) error {
	*m = Message{raw: raw, marks: m.marks[:0], dg1: m.dg1[:0], nk1: m.nk1[:0], scratch: m.scratch, made: m.made}
	if !m.delimiters() {
		return ErrNoHeader
	}
	text := lines{raw: raw}
	var open *segment      // the used segment that a continuation line belongs to
	segments, name := 0, 0 // number of segments, and position of the last one's name
	for pos := 0; pos < len(raw); {
		end := pos
		switch m.kind(raw[pos:]) {
		case lineBlank:
		case lineContinued:
			if open == nil {
				end = text.end(pos)
			} else {
				m.continued = true
				m.marks = m.marks[:open.last] // the line continues it, so this is not its end
				end = m.mark(open, name, pos)
			}
		case lineSegment:
			name = pos
			if segments++; segments > MaxSegments && m.size == nil {
				m.size = &Fault{Code: AE, Condition: 102, Segment: string(raw[pos : pos+3]), Sequence: segments}
			}
			if open = m.slot(raw[pos], raw[pos+1], raw[pos+2]); open != nil {
				open.first = int32(len(m.marks)) //nolint:gosec // a body is far below 2 GiB
				end = m.mark(open, name, pos)
			} else if end = text.end(pos); end-pos > MaxField {
				m.measure(string(raw[pos:pos+3]), raw[pos:end])
			}
		}
		pos = end + 1
	}
	return nil
}

// delimiters reads MSH-1 and MSH-2: five different characters that are no letters,
// digits or line ends. The last two may be missing. A space after the component
// separator means that the sender does not use that delimiter.
func (m *Message) delimiters() bool {
	raw := m.raw
	if bytes.HasPrefix(raw, usualHeader) { // the usual delimiters need no further check
		m.separator, m.component, m.repetition, m.escape, m.subcomponent = '|', '^', '~', '\\', '&'
		m.encoding = 4
		return true
	}
	if len(raw) < 8 || string(raw[:3]) != "MSH" {
		return false
	}
	m.separator = raw[3]
	chars := raw[4:]
	n := bytes.IndexByte(chars, m.separator)
	if n < 0 {
		n = len(chars)
		if e := bytes.IndexAny(chars, "\r\n"); e >= 0 {
			n = e
		}
	}
	if n < 3 || n > 5 {
		return false
	}
	m.encoding = n
	all := raw[3 : 4+n]
	for i, c := range all {
		if c < ' ' || c == ' ' && i < 2 || c > '~' || digit(c) || letter(c) || bytes.IndexByte(all[:i], c) >= 0 {
			return false
		}
	}
	m.component, m.repetition, m.escape = chars[0], used(chars[1]), used(chars[2])
	if n > 3 {
		m.subcomponent = used(chars[3])
	}
	return true
}

// used returns a delimiter; 0 if it is a space, because text is full of spaces.
func used(c byte) byte {
	if c == ' ' {
		return 0
	}
	return c
}

var usualHeader = []byte(`MSH|^~\&|`)

type lineKind uint8

const (
	lineBlank lineKind = iota
	lineContinued
	lineSegment
)

// kind distinguishes a segment from a continuation of the field before. A segment begins
// with its name and then a separator, or is nothing but the name.
func (m *Message) kind(text []byte) lineKind {
	switch {
	case isTerminator(text[0]):
		return lineBlank
	case len(text) >= 3 && isName(text) && (len(text) == 3 || text[3] == m.separator || isTerminator(text[3])):
		return lineSegment
	default:
		return lineContinued
	}
}

func isName(line []byte) bool {
	return upper(line[0]) && (upper(line[1]) || digit(line[1])) && (upper(line[2]) || digit(line[2]))
}

func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// slot returns where the view stores a segment of this name. It returns nil for an
// unused segment, and for one that the view already has.
func (m *Message) slot(a, b, c byte) *segment {
	var s *segment
	switch uint32(a)<<16 | uint32(b)<<8 | uint32(c) {
	case 'M'<<16 | 'S'<<8 | 'H':
		s = &m.msh
	case 'E'<<16 | 'V'<<8 | 'N':
		s = &m.evn
	case 'P'<<16 | 'I'<<8 | 'D':
		s = &m.pid
	case 'P'<<16 | 'V'<<8 | '1':
		s = &m.pv1
	case 'P'<<16 | 'V'<<8 | '2':
		s = &m.pv2
	case 'D'<<16 | 'G'<<8 | '1':
		m.dg1 = append(m.dg1, segment{})
		return &m.dg1[len(m.dg1)-1]
	case 'N'<<16 | 'K'<<8 | '1':
		m.nk1 = append(m.nk1, segment{})
		return &m.nk1[len(m.nk1)-1]
	default:
		return nil
	}
	if s.last > 0 {
		return nil
	}
	return s
}

// mark records the separators in the line of a used segment that begins at pos, and
// returns the end of the line. The name of the segment is at name.
func (m *Message) mark(s *segment, name, pos int) (end int) {
	// Fields are short, so a search for each field would cost more than looking at all
	// bytes, eight at a time. found has the high bit of each byte that is a separator
	// (Warren, Hacker's Delight, 6-1, the exact form). control has the high bit of each
	// byte below a space, among them line ends. It may also mark a space that follows
	// such a byte.
	const (
		each  = 0x0101010101010101
		low7  = 0x7f * each
		high  = 0x80 * each
		space = ' ' * each
	)
	pattern := uint64(m.separator) * each
	marks := m.marks
	at, rest := pos, m.raw[pos:]
words:
	for ; len(rest) >= 8; rest, at = rest[8:], at+8 {
		word := binary.LittleEndian.Uint64(rest)
		x := word ^ pattern
		found := high &^ ((x&low7 + low7) | x)
		for control := (word - space) &^ word & high; control != 0; control &= control - 1 {
			if n := bits.TrailingZeros64(control) >> 3; isTerminator(rest[n]) {
				rest = rest[:n]
				break words
			}
		}
		for ; found != 0; found &= found - 1 {
			marks = append(marks, int32(at+bits.TrailingZeros64(found)>>3)) //nolint:gosec // a body is far below 2 GiB
		}
	}
	for end = at; len(rest) > 0 && !isTerminator(rest[0]); rest, end = rest[1:], end+1 {
		if rest[0] == m.separator {
			marks = append(marks, int32(end)) //nolint:gosec // as above
		}
	}
	s.last = int32(len(marks))          //nolint:gosec // as above
	m.marks = append(marks, int32(end)) //nolint:gosec // as above
	if end-pos > MaxField {
		m.measure(string(m.raw[name:name+3]), m.raw[pos:end]) // the line may begin with text of the field before
	}
	return end
}

// measure looks for a field above the bound.
func (m *Message) measure(name string, line []byte) {
	for field := range bytes.SplitSeq(line, []byte{m.separator}) {
		if len(field) > MaxField && m.size == nil {
			m.size = &Fault{Code: AE, Condition: 102, Segment: name, Sequence: 1}
		}
	}
}

// lines finds line ends. CR is the standard; LF and the framing bytes of MLLP end a line
// too. It searches ahead once for each kind, so a whole message costs four fast passes.
type lines struct {
	raw  []byte
	next [4]int // position after the next line end of each kind; 0: unknown
}

const terminators = "\r\n\x0b\x1c"

// end returns where the line that begins at pos ends.
func (l *lines) end(pos int) int {
	end := len(l.raw)
	for i := range l.next {
		if l.next[i] <= pos {
			n := bytes.IndexByte(l.raw[pos:], terminators[i])
			if n < 0 {
				n = len(l.raw) - pos
			}
			l.next[i] = pos + n + 1
		}
		end = min(end, l.next[i]-1)
	}
	return end
}

func isTerminator(c byte) bool { return c == '\r' || c == '\n' || c == 0x0b || c == 0x1c }

// byteOrderMark is the byte order mark of UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// trimFrame removes a byte order mark, line ends and framing bytes around the text.
func trimFrame(raw []byte) []byte {
	for len(raw) > 0 {
		switch {
		case isTerminator(raw[0]):
			raw = raw[1:]
		case isTerminator(raw[len(raw)-1]):
			raw = raw[:len(raw)-1]
		case raw[0] == byteOrderMark[0] && bytes.HasPrefix(raw, byteOrderMark):
			raw = raw[len(byteOrderMark):]
		default:
			return raw
		}
	}
	return raw
}
