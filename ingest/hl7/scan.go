// Package hl7 decodes HL7 v2 ADT messages into visit events.
//
// A [Message] is a view of the bytes of a message. [Message.Scan] finds the segments that svc uses and their fields;
// a field is copied and unescaped only when it is read. [Message.Facts] returns the event, and [Message.Ack] the
// acknowledgment. [Split] splits a batch. The package does no I/O and reads no clock: the caller passes the time of
// receipt.
//
// Names, birth dates, addresses and free text are never decoded into values. From PID-7, only "younger than 28 days"
// is stored, and from PV2-3 only the hints that [adt.ParseReasons] finds. Identifiers are replaced by pseudonyms.
// Warnings and faults name positions, never values.
package hl7

import "bytes"

// Limits of one message. A message that exceeds them is refused with AE (ERR 102).
const (
	MaxSegments = 1000
	MaxField    = 64 << 10 // bytes
)

// Message is a view of one message. The zero value is ready for [Message.Scan]. Each Scan
// reuses its memory.
type Message struct {
	raw   []byte  // the message, in UTF-8 if characters of its character set can contain delimiter bytes
	sent  []byte  // the bytes as sent
	marks []int32 // positions of the field separators and the ends of used segments

	charset      Charset
	guess        string // warning about the character set
	charsetKnown bool   // whether charset and guess are final

	separator, component, repetition, escape, subcomponent byte

	encoding  int  // number of characters in MSH-2
	continued bool // whether a used segment spans several lines

	msh, evn, pid, pv1, pv2 segment
	dg1, nk1                []segment
	size                    *Fault // exceeded limit, which Facts reports
	odd                     []oddLine

	scratch []byte // an unescaped identifier
	made    []byte // a pseudonym
}

// oddLine is a line that gets a warning because it is not a segment or is a repeated segment.
type oddLine struct {
	number int // number among the nonblank lines, starting at 1
	code   string
}

// maxOdd is the maximum number of odd lines that are reported for a message.
const maxOdd = 20

// addOdd records an odd line.
func (m *Message) addOdd(number int, code string) {
	if len(m.odd) < maxOdd {
		m.odd = append(m.odd, oddLine{number, code})
	}
}

// segment is the position of a segment: its separators are at marks[first:last], and it ends at marks[last], after
// any continuation lines. The zero value is an absent segment.
type segment struct {
	first, last int32
	odd         int // line number if the name is not in standard form, or 0
}

// Scan makes m a view of the message in raw. The caller must not change raw while m is in use. Scan skips MLLP
// framing and a byte order mark. transport is the declared character set; without one, MSH-18 declares it. The only
// error is [ErrNoHeader]; [Message.Facts] finds all other faults.
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
	segments, name := 0, 0 // segments is the number of segments, name the position of the last segment's name
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
				m.marks = m.marks[:open.last] // the segment continues, so the recorded position is not its end
				end = m.mark(open, name, pos)
			}
			if !inside { // a text of several lines gets only one warning
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
				open = nil // MSH never continues on the next line, because it contains the delimiters and the acknowledgment mode
			}
		}
		pos = end + 1
	}
	return nil
}

func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// slot returns where to store the segment with the given name and line number, or nil for a segment that svc does not
// use. If the message already contains a segment with that name, one of the two lines is ignored, and repeated is the
// number of the ignored line. If the name is not in standard form in the first line but is in the second, the first
// line is ignored, because it may be text. Otherwise the second line is ignored, and slot returns nil.
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

// mark records the separators in a line of a used segment, and returns the end of the line. The line begins at pos,
// and the segment's name begins at the position name.
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

// measure records a fault if a field exceeds the limit.
func (m *Message) measure(name string, line []byte) {
	for field := range bytes.SplitSeq(line, []byte{m.separator}) {
		if len(field) > MaxField && m.size == nil {
			m.size = &Fault{Code: AE, Condition: 102, Segment: name, Sequence: 1}
		}
	}
}

// trimFrame removes the byte order mark, line ends and framing bytes that surround the text.
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
