package hl7

import (
	"slices"
	"strconv"
	"time"
)

// AckCode is the code of an acknowledgment (HL7 table 0008).
type AckCode string

// Acknowledgment codes of original mode (accepted, error in the content, message type not accepted) and their
// equivalents in enhanced mode.
const (
	AA AckCode = "AA"
	AE AckCode = "AE"
	AR AckCode = "AR"
	CA AckCode = "CA"
	CE AckCode = "CE"
	CR AckCode = "CR"
)

// Fault is the reason for refusing a message, and the field at fault.
type Fault struct {
	Code      AckCode // AE or AR
	Condition int     // HL7 table 0357: 100, 101, 102, 200, 201, 202, 207
	Segment   string
	Sequence  int
	Field     int // 0: the whole segment
	// Reason is a stable code for an error that the fields above do not identify, or "".
	Reason string
}

// conditions maps the conditions that svc reports to their texts in HL7 table 0357.
var conditions = map[int]string{
	100: "Segment sequence error",
	101: "Required field missing",
	102: "Data type error",
	200: "Unsupported message type",
	201: "Unsupported event code",
	202: "Unsupported processing id",
	207: "Application internal error",
}

// Acknowledgment contains the arguments of [Message.Ack] other than the message itself.
type Acknowledgment struct {
	Fault    *Fault // nil: accepted
	Message  string // what is wrong and what to do, for ERR-8; "": none
	Hospital string // sending facility of the acknowledgment if the message does not name its receiver
	At       time.Time
	ID       string // MSH-10 of the acknowledgment; must be unique
	Sender   Sender
}

// Code returns the acknowledgment code, and reports whether to send an acknowledgment at all.
//
// The message is in enhanced mode if MSH-15 has a value, or if MSH-16 has a value other than NE. In enhanced mode, an
// accept acknowledgment is sent if MSH-15 asks for it; application acknowledgments are never sent. A message with
// joined segments, or from a sender with [Sender.OriginalMode], is always acknowledged in original mode.
func (m *Message) Code(a Acknowledgment) (code AckCode, send bool) {
	code = AA
	if a.Fault != nil {
		code = a.Fault.Code
	}
	accept, application := m.mode(15), m.mode(16)
	if a.Fault.isJoined() || a.Sender.OriginalMode || accept == "" && (application == "" || application == "NE") {
		return code, true
	}
	good := code == AA
	code = "C" + code[1:]
	switch accept {
	case "ER":
		return code, !good
	case "SU":
		return code, good
	case "NE", "": // MSH-15 is empty although MSH-16 has a value
		return code, false
	default: // AL; a sender whose value is not in table 0155 may wait for an acknowledgment
		return code, true
	}
}

// mode returns the value of MSH-15 or MSH-16, or "" if that field is empty.
func (m *Message) mode(field int) string {
	if b := m.at(m.header(field), 1); !isBlank(b) {
		return string(b)
	}
	return ""
}

// Ack appends the acknowledgment of the message to dst, in UTF-8 and with the sender's delimiters. The sender and the
// receiver of the message are swapped. If no acknowledgment is to be sent, Ack appends nothing.
func (m *Message) Ack(dst []byte, a Acknowledgment) []byte {
	code, send := m.Code(a)
	if !send {
		return dst
	}
	m.resolveCharset()
	w := writer{slices.Grow(dst, usualAck), m}
	w.header("MSH", &a)
	w.next(2)
	w.text("ACK")
	if event := m.Type(); event != "" {
		w.component(event)
		w.component("ACK")
	}
	w.next(1)
	w.text(a.ID)
	w.next(1)
	w.field(m.header(11))
	w.next(1)
	version := m.header(12)
	if a.Fault.isJoined() {
		version = nil
	}
	w.fieldOr(version, ownVersion)
	if charset := m.at(m.header(18), 1); string(charset) == "UNICODE UTF-8" {
		w.next(6)
		w.put(charset)
	}
	w.end()

	w.text("MSA")
	w.next(1)
	w.text(string(code))
	w.next(1)
	w.field(m.header(10))
	w.end()

	if a.Fault != nil && m.reportsErrors() {
		w.fault(&a)
	}
	return w.b
}

// usualAck is the size in bytes of a buffer that is large enough for most acknowledgments without an error.
const usualAck = 192

const hl7Time = "20060102150405-0700"

// ownVersion is the HL7 version of an acknowledgment to a message that does not state its version.
const ownVersion = "2.5.1"

// reportsErrors reports whether acknowledgments to the sender contain an ERR segment in the form of v2.5 and later.
// They do if the sender's version is at least 2.5 or missing.
func (m *Message) reportsErrors() bool {
	version := string(m.at(m.header(12), 1))
	return version == "" || len(version) >= 3 && version[:2] == "2." && (version[2] >= '5' || len(version) > 3 && isDigit(version[3]))
}

// AppendError appends an AE acknowledgment, with default delimiters, for a body whose messages cannot be acknowledged
// individually, for example because the MSH is unusable. controlID is MSH-10 of the message, if known.
func AppendError(dst []byte, a Acknowledgment, controlID string) []byte {
	m := Message{raw: []byte(`MSH|^~\&|`), charset: UTF8, charsetKnown: true}
	m.delimiters() // sets the default delimiters
	w := writer{dst, &m}
	w.text(`MSH|^~\&|SVC|`)
	w.plain(a.Hospital)
	w.text("|||")
	w.b = a.At.AppendFormat(w.b, hl7Time)
	w.text("||ACK|" + a.ID + "|P|" + ownVersion)
	w.end()
	w.text("MSA|AE|")
	w.text(controlID)
	w.end()
	w.fault(&a)
	return w.b
}

// writer writes segments with the delimiters of a message.
type writer struct {
	b []byte
	m *Message
}

// header writes MSH or BHS up to the time, with sender and receiver swapped.
func (w *writer) header(name string, a *Acknowledgment) {
	m := w.m
	w.text(name)
	w.put(m.raw[3 : 4+m.encoding])
	w.next(1)
	w.fieldOr(m.header(5), "SVC")
	w.next(1)
	w.fieldOr(m.header(6), a.Hospital)
	w.next(1)
	w.field(m.header(3))
	w.next(1)
	w.field(m.header(4))
	w.next(1)
	w.b = a.At.AppendFormat(w.b, hl7Time)
}

func (w *writer) put(b []byte)  { w.b = append(w.b, b...) }
func (w *writer) text(s string) { w.b = append(w.b, s...) }
func (w *writer) end()          { w.b = append(w.b, '\r') }

func (w *writer) next(n int) {
	for range n {
		w.b = append(w.b, w.m.separator)
	}
}

func (w *writer) component(s string) {
	w.b = append(w.b, w.m.component)
	w.text(s)
}

// field copies a field of the message as sent, converted to UTF-8.
func (w *writer) field(b []byte) {
	if b = w.m.oneLine(b); isASCII(b) {
		w.put(b)
		return
	}
	w.text(w.m.charset.decode(b))
}

// fieldOr copies a field, or writes s if the field is empty.
func (w *writer) fieldOr(field []byte, s string) {
	if isBlank(field) {
		w.plain(s)
		return
	}
	w.field(field)
}

// plain writes literal text without the characters that are delimiters of the message.
func (w *writer) plain(s string) {
	for _, c := range []byte(s) {
		if c != w.m.separator && c != w.m.component && c != w.m.repetition && c != w.m.escape && c != w.m.subcomponent {
			w.b = append(w.b, c)
		}
	}
}

// fault writes ERR: location (ERL), condition (CWE), severity and user message.
func (w *writer) fault(a *Acknowledgment) {
	f := a.Fault
	w.text("ERR")
	w.next(2)
	w.text(f.Segment)
	w.component(strconv.Itoa(max(f.Sequence, 1)))
	if f.Field > 0 {
		w.component(strconv.Itoa(f.Field))
	}
	w.next(1)
	w.text(strconv.Itoa(f.Condition))
	w.component(conditions[f.Condition])
	w.component("HL70357")
	w.next(1)
	w.text("E")
	if a.Message != "" {
		w.next(4)
		w.escaped(a.Message)
	}
	w.end()
}

// escaped writes literal text and escapes the message's delimiters in it.
func (w *writer) escaped(s string) {
	for _, c := range []byte(s) {
		sequence := byte(0)
		switch c {
		case w.m.separator:
			sequence = 'F'
		case w.m.component:
			sequence = 'S'
		case w.m.repetition:
			sequence = 'R'
		case w.m.escape:
			sequence = 'E'
		case w.m.subcomponent:
			sequence = 'T'
		}
		switch {
		case sequence == 0:
			w.b = append(w.b, c)
		case w.m.escape != 0: // without an escape character, the delimiter is dropped
			w.b = append(w.b, w.m.escape, sequence, w.m.escape)
		}
	}
}

// Name returns the reason of a fault. If there is none, it returns the code and the condition, as in the table of
// docs/hl7.md: "AE 101".
func (f *Fault) Name() string {
	if f.Reason != "" {
		return f.Reason
	}
	return string(f.Code) + " " + strconv.Itoa(f.Condition)
}

// isJoined reports whether the message was refused because several segments are on one line. The fields of the header
// may then belong to other segments.
func (f *Fault) isJoined() bool { return f != nil && f.Reason == reasonJoined }

// Place returns the location of the fault in the notation of warnings, such as PV1-19.
func (f *Fault) Place() string { return position{segment: f.Segment, field: f.Field}.String() }
