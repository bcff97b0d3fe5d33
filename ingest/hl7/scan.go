// Package hl7 decodes HL7 v2 ADT messages into events of a visit.
//
// A [Message] is a view. Scan finds the used segments and their fields; a field is copied and
// unescaped only when it is read. [Message.Facts] returns the event, [Message.Ack] the acknowledgment; [Split] splits
// a batch. There is no I/O and no clock: the caller passes the time of receipt.
//
// Names, birth dates, addresses and free text are never decoded into values. Of PID-7, only "younger than 28 days" is
// stored, and of PV2-3 only the hints of [adt.ParseReasons]. Identifiers are replaced by pseudonyms. Warnings and
// faults name positions, never values.
package hl7

import "bytes"

// These are the limits of one message. A message that exceeds them is refused with AE (ERR 102).
const (
	MaxSegments = 1000
	MaxField    = 64 << 10 // bytes
)

// Message is a view of one message. The zero value is ready for [Message.Scan]. Each Scan
// reuses its memory.
type Message struct {
	raw   []byte  // in UTF-8 if its character set has delimiters inside of characters
	sent  []byte  // as sent
	marks []int32 // positions of field separators and ends of the used segments

	charset      Charset
	guess        string // warning about the character set
	charsetKnown bool   // charset and guess are final

	separator, component, repetition, escape, subcomponent byte

	encoding  int  // number of characters in MSH-2
	continued bool // a used segment has several lines

	msh, evn, pid, pv1, pv2 segment
	dg1, nk1                []segment
	size                    *Fault // exceeded limit, which Facts reports
	odd                     []oddLine

	scratch []byte // an unescaped identifier
	made    []byte // a pseudonym
}

// oddLine is a line that is not a segment, or that is an unused segment.
type oddLine struct {
	number int // among the nonblank lines, from 1
	code   string
}

// maxOdd is the maximum number of odd lines of a message that are reported.
const maxOdd = 20

// addOdd records an odd line.
func (m *Message) addOdd(number int, code string) {
	if len(m.odd) < maxOdd {
		m.odd = append(m.odd, oddLine{number, code})
	}
}

// segment is the position of a segment: its separators are marks[first:last]. marks[last]
// is its end, continuation lines included. The zero value is an absent segment.
type segment struct {
	first, last int32
	odd         int // number of its line if its name is not in standard form; else 0
}

// Scan makes m the view of the message in raw, which must not change while m is used. It skips MLLP framing and a byte
// order mark. transport is the declared character set; without one, MSH-18 declares it. The only error is
// [ErrNoHeader]; [Message.Facts] finds all other faults.
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
	*m = Message{raw: raw, marks: m.marks[:0], dg1: m.dg1[:0], nk1: m.nk1[:0], odd: m.odd[:0], scratch: m.scratch, made: m.made}
	if reason := m.delimiters(); reason != "" {
		return m.headerError(reason)
	}
	var open *segment      // the used segment that a continuation line belongs to
	segments, name := 0, 0 // number of segments, and position of the last one's name
	number, inside := 0, false
	for pos := 0; pos < len(raw); {
		kind, indent := m.kind(raw[pos:])
		end := pos + indent
		if kind != lineBlank {
			number++
		}
		switch kind {
		case lineBlank:
		case lineContinued:
			code := warnLineIgnored
			if open == nil {
				end = lineEnd(raw, pos)
			} else {
				code = warnLineContinued
				m.continued = true
				m.marks = m.marks[:open.last] // the line continues the segment, so this is not its end
				end = m.mark(open, name, pos)
			}
			if !inside { // one warning for all lines of a text
				m.addOdd(number, code)
			}
			inside = true
		case lineSegment:
			inside = false
			name = end
			if segments++; segments > MaxSegments && m.size == nil {
				m.size = &Fault{Code: AE, Condition: 102, Segment: nameAt(raw[name:]), Sequence: segments}
			}
			odd := 0
			if indent > 0 || !isName(raw[name:]) || name+3 < len(raw) && raw[name+3] != m.separator {
				odd = number
			}
			var repeated int
			if open, repeated = m.slot(nameAt(raw[name:]), number, odd); repeated > 0 {
				m.addOdd(repeated, warnRepeated)
			}
			if open != nil {
				open.odd = odd
				open.first = int32(len(m.marks)) //nolint:gosec // a body is far below 2 GiB
				end = m.mark(open, name, name)
			} else if end = lineEnd(raw, name); end-name > MaxField {
				m.measure(nameAt(raw[name:]), raw[name:end])
			}
			if open == &m.msh {
				open = nil // delimiters and acknowledgment mode: a header ends with its line
			}
		}
		pos = end + 1
	}
	return nil
}

func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// slot returns where the view stores a segment with a name, found in line number. It returns nil for an unused segment,
// and for a segment that the view already has. In the latter case, repeated is the line that is not used: the one with
// an odd name, which may be text, or else the second.
func (m *Message) slot(name string, number, odd int) (s *segment, repeated int) {
	switch name {
	case "MSH":
		s = &m.msh
	case "EVN":
		s = &m.evn
	case "PID":
		s = &m.pid
	case "PV1":
		s = &m.pv1
	case "PV2":
		s = &m.pv2
	case "DG1":
		m.dg1 = append(m.dg1, segment{})
		return &m.dg1[len(m.dg1)-1], 0
	case "NK1":
		m.nk1 = append(m.nk1, segment{})
		return &m.nk1[len(m.nk1)-1], 0
	default:
		return nil, 0
	}
	switch {
	case s.last == 0:
		return s, 0
	case s.odd > 0 && odd == 0:
		repeated = s.odd
		*s = segment{}
		return s, repeated
	default:
		return nil, number
	}
}

// mark records the separators in the line of a used segment that begins at pos, and returns the end of the line. The
// name of the segment is at name.
func (m *Message) mark(s *segment, name, pos int) (end int) {
	end = lineEnd(m.raw, pos)
	for at := pos; ; at++ {
		n := bytes.IndexByte(m.raw[at:end], m.separator)
		if n < 0 {
			break
		}
		at += n
		m.marks = append(m.marks, int32(at)) //nolint:gosec // a body is far below 2 GiB
	}
	s.last = int32(len(m.marks))          //nolint:gosec // same
	m.marks = append(m.marks, int32(end)) //nolint:gosec // same
	if end-pos > MaxField {
		m.measure(nameAt(m.raw[name:]), m.raw[pos:end]) // the line may begin with text of the preceding field
	}
	return end
}

// measure records a field that exceeds the limit.
func (m *Message) measure(name string, line []byte) {
	for field := range bytes.SplitSeq(line, []byte{m.separator}) {
		if len(field) > MaxField && m.size == nil {
			m.size = &Fault{Code: AE, Condition: 102, Segment: name, Sequence: 1}
		}
	}
}

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
