package hl7

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
)

// Options holds the data that [Message.Facts] needs in addition to the message.
type Options struct {
	// Pseudonym appends the keyed pseudonym of a value to dst. Values of different kinds
	// never share a pseudonym.
	Pseudonym  func(dst []byte, kind string, value []byte) []byte
	Zone       *time.Location // zone of the hospital
	ReceivedAt acuity.Instant
	Sender     Sender
}

// Kinds of pseudonyms. Pseudonyms of visits share one namespace in all feeds. The pseudonym of a visit that is known
// only by its patient never equals that of a visit with a number.
const (
	KindVisit        = "visit"
	KindPatientVisit = "visit-of-patient"
	KindPatient      = "patient"
	KindMessage      = "message" // derived from all bytes of an HL7 message
	KindEvent        = "event"
	KindDigest       = "digest"
)

const (
	maxWarnings = 101     // per event; a response lists 100 and says if there are more
	maxPlace    = 80      // bytes of one part of a location
	maxCode     = 64      // bytes of a code
	maxService  = 40      // bytes of PV1-10 that are kept
	newbornDays = 28      // a patient younger than this is a newborn (docs/decisions.md#primary-table)
	adultDays   = 8 * 365 // a patient older than this is not a newborn, even if an earlier message says so; our default
	maxSkew     = 5 * time.Minute

	maxRelatives   = 50 // maximum number of NK1 segments that are read
	maxRepetitions = 20 // maximum number of repetitions of PID-3, PID-21 and DG1-3 that are read
)

// decoder builds one event.
type decoder struct {
	*Message
	Options
	zones
	event acuity.Event
	// moment is the time of the event, used to make coarse diagnosis times exact.
	moment acuity.Moment
	// kept holds all strings of the event in one allocation.
	kept strings.Builder
}

// Facts returns the event that the message reports. For a message that must be refused, it returns a fault for
// [Message.Ack] to report in the acknowledgment. An ADT event without an effect is returned as [acuity.EventOther]:
// it is accepted and only counted.
func (m *Message) Facts(o Options) (acuity.Event, *Fault) {
	trigger := m.trigger()
	if fault := m.check(trigger, o.Sender); fault != nil {
		return acuity.Event{}, fault
	}
	m.resolveCharset()
	d := decoder{Message: m, Options: o, zones: zones{hospital: o.Zone}}
	d.kept.Grow(pseudonymsKept + len(d.field(d.pv1, 3)) + len(d.field(d.pv1, 6)) + diagnosisKept*len(d.dg1))
	if m.guess != "" {
		d.warn(m.guess, "MSH", 18)
	}
	d.event.Type = effects[string(trigger)]
	d.identify()
	d.setTimes()
	if !d.isProduction() {
		d.warn(warnNotProduction, "MSH", 11)
	}
	if d.event.Type == acuity.EventOther {
		d.warn(unusedEventWarning(trigger), "MSH", 9)
		return d.event, nil
	}
	for _, line := range m.odd {
		d.warnAt(line.code, position{segment: "line", repeat: line.number})
	}
	if t := d.event.Type; t == acuity.A06 || t == acuity.A07 || t == acuity.A13 {
		d.warn(warnExtension, "MSH", 9)
	}
	if !d.setSubjects() {
		return acuity.Event{}, &Fault{Code: AE, Condition: 101, Segment: "PV1", Sequence: 1, Field: 19}
	}
	d.readLocations()
	d.classify()
	d.setMother()
	d.readDiagnoses()
	return d.event, nil
}

// Usual sizes, in bytes, of an event's strings: all pseudonyms (of the message, visit, account and patient) together,
// and one diagnosis.
const (
	pseudonymsKept = 120
	diagnosisKept  = 48
)

// ControlID returns the first line of MSH-10 in UTF-8.
func (m *Message) ControlID() string {
	m.resolveCharset()
	return m.charset.decode(m.oneLine(m.header(10)))
}

func (d *decoder) warn(code, segment string, field int) {
	d.warnAt(code, position{segment: segment, field: field})
}

func (d *decoder) warnAt(code string, at position) {
	if len(d.event.Warnings) < maxWarnings {
		d.event.Warnings = append(d.event.Warnings, acuity.Warning{Code: code, Path: at.String()})
	}
}

// id reads an identifier or code, and warns of an unknown escape. The result is valid until the next call.
func (d *decoder) id(b []byte, at position) []byte {
	if d.isPlain(b) { // plain text has no line break either
		if b = trim(b); isNull(b) {
			return nil
		}
		return b
	}
	s, clean := d.identifier(trim(d.oneLine(b)))
	if !clean {
		d.warnAt(warnEscape, at)
	}
	if isNull(s) { // "" in HL7 is an explicit null, not a name
		return nil
	}
	return s
}

// keep copies b into the memory of the event.
func (d *decoder) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	from := d.kept.Len()
	d.kept.Write(b)
	return d.kept.String()[from:]
}

// pseudonym returns the pseudonym of a value, stored with the strings of the event.
func (d *decoder) pseudonym(kind string, value []byte) string {
	d.made = d.Pseudonym(d.made[:0], kind, value)
	return d.keep(d.made)
}

// identify sets the identity of the event from all bytes of the message, which include the sender and the control id.
// The control id alone is not an identity, because senders restart their counter.
func (d *decoder) identify() {
	d.event.ID = d.pseudonym(KindMessage, d.sent)
	d.event.Digest = d.event.ID
}

// setTimes sets the time of the event to the first available of EVN-6, EVN-2, MSH-7 and the time of receipt. If that
// time is coarse, the later ones in this list refine it.
//
// In a cancellation, EVN-6 is the time of the canceled event, so setTimes stores EVN-6 separately and does not use it
// as the time of the cancellation. If EVN-6 falls into the hour that is repeated when daylight saving time ends, it
// matches both hours, because the canceled event may have been sent with the other offset.
func (d *decoder) setTimes() {
	sent, hasSent := d.time(d.header(7), position{segment: "MSH", field: 7})
	if hasSent {
		d.near, d.own = sent.From, sent.offset
	}
	occurred, hasOccurred := d.time(d.field(d.evn, 6), position{segment: "EVN", field: 6})
	recorded, hasRecorded := d.time(d.field(d.evn, 2), position{segment: "EVN", field: 2})
	e := &d.event
	if hasRecorded {
		e.RecordedAt = recorded.Resolve(d.ReceivedAt, sent.Moment)
	}
	if isCancel(e.Type) {
		if hasOccurred {
			key := d.everyReading(occurred)
			e.Cancels, e.CancelsPrecision, e.CancelsTo = key.From, key.Precision, key.To
		}
		hasOccurred = false
	}
	switch {
	case hasOccurred:
		d.setTime(occurred, recorded.Moment, sent.Moment)
	case hasRecorded:
		d.setTime(recorded, sent.Moment)
	case hasSent:
		d.setTime(sent)
		d.warn(warnEventTime, "EVN", 2)
	default:
		e.At = d.ReceivedAt
		d.warn(warnEventTime, "MSH", 7)
	}
	if e.At.Sub(d.ReceivedAt) > maxSkew {
		d.warn(warnFuture, "EVN", 0)
	}
}

// setTime sets the time of the event from t; if t is coarse, the other given moments refine it.
func (d *decoder) setTime(t stamp, beside ...acuity.Moment) {
	d.event.SetTime(t.Moment, t.Resolve(d.ReceivedAt, beside...))
	d.moment = acuity.Moment{From: d.event.At}
}

// time reads a time field.
func (d *decoder) time(field []byte, at position) (stamp, bool) {
	if isBlank(field) {
		return stamp{}, false
	}
	text := d.oneLine(d.Message.at(field, 1))
	if isBlank(text) { // only the first component of the field is a time
		return stamp{}, false
	}
	t, ok := d.parse(coarsened(text, d.Message.at(field, 2)))
	if !ok {
		d.warnAt(warnTime, at)
	}
	return t, ok
}

// coarsened shortens a time to the precision in its second component, which versions before 2.6 define: Y, L (month), D,
// H, M or S. Some senders fill the digits beyond that precision with zeros.
func coarsened(text, precision []byte) []byte {
	if len(precision) == 0 {
		return text
	}
	digits := digitsOf[string(trim(precision))]
	text = trim(text)
	sent := bytes.IndexAny(text, ".+-")
	if sent < 0 {
		sent = len(text)
	}
	if digits == 0 || digits >= sent {
		return text
	}
	var zone []byte
	if i := bytes.IndexAny(text, "+-"); i >= 0 {
		zone = text[i:]
	}
	return append(bytes.Clone(text[:digits]), zone...)
}

// digitsOf contains the number of digits of a time by its degree of precision.
var digitsOf = map[string]int{"Y": 4, "L": 6, "D": 8, "H": 10, "M": 12, "S": 14}

func isCancel(t acuity.EventType) bool {
	return t == acuity.A11 || t == acuity.A12 || t == acuity.A13
}

// Sender configures how the messages sent with one API key are interpreted. The zero value is standard HL7.
type Sender struct {
	// OriginalMode makes acknowledgments use original mode, whatever MSH-15 and MSH-16 contain, because some engines
	// fill these fields but still expect AA.
	OriginalMode bool
	// ProductionOnly refuses a message with AR if MSH-11 does not mark it as production. If ProductionOnly is false,
	// such a message is applied with a warning.
	ProductionOnly bool
}

// check returns a fault if the message must be refused because of its trigger event or header. Otherwise it returns
// nil.
func (m *Message) check(trigger []byte, sender Sender) *Fault {
	kind := m.oneLine(m.at(m.header(9), 1))
	header := func(code AckCode, condition, field int) *Fault {
		return &Fault{Code: code, Condition: condition, Segment: "MSH", Sequence: 1, Field: field}
	}
	switch {
	case m.size != nil:
		return m.size
	case m.isJoined():
		return &Fault{Code: AE, Condition: 100, Segment: "MSH", Sequence: 1, Reason: reasonJoined}
	case string(kind) != "ADT":
		return header(AR, 200, 9)
	case trigger == nil:
		return header(AR, 201, 9)
	case sender.ProductionOnly && !m.isProduction():
		return header(AR, 202, 11)
	case isBlank(m.header(10)):
		return header(AE, 101, 10)
	default:
		return nil
	}
}

// reasonJoined is the reason for refusing a message whose segments are on one line, separated by something other than
// a carriage return, such as the two characters \r.
const reasonJoined = "segments_joined"

// isJoined reports whether the MSH contains other segments.
func (m *Message) isJoined() bool {
	if m.evn.last+m.pid.last+m.pv1.last > 0 {
		return false
	}
	for n := 8; ; n++ {
		field := m.header(n)
		if field == nil {
			return false
		}
		if len(field) >= 3 && int(m.msh.first)+n < int(m.msh.last) { // the field is followed by a separator
			switch string(field[len(field)-3:]) {
			case "EVN", "PID", "PV1":
				return true
			}
		}
	}
}

// isProduction reports whether MSH-11 marks the message as production data.
func (m *Message) isProduction() bool { return string(m.at(m.header(11), 1)) == "P" }

// trigger returns MSH-9.2 if it has the form of an event, or nil. EVN-1 is ignored, because some senders contradict
// MSH-9 there.
func (m *Message) trigger() []byte {
	b := m.oneLine(m.at(m.header(9), 2))
	if len(b) < 1 || len(b) > 8 {
		return nil
	}
	for _, c := range b {
		if !isUpper(c) && !isDigit(c) {
			return nil
		}
	}
	return b
}

// Type returns the trigger event in MSH-9.2, such as "A01", or "" if MSH-9.2 does not have the form of an event.
func (m *Message) Type() string { return string(m.trigger()) }

// effects maps the trigger events that have an effect. Every other event is [acuity.EventOther].
var effects = map[string]acuity.EventType{
	"A01": acuity.A01, "A02": acuity.A02, "A03": acuity.A03, "A04": acuity.A04, "A06": acuity.A06,
	"A07": acuity.A07, "A08": acuity.A08, "A11": acuity.A11, "A12": acuity.A12, "A13": acuity.A13,
}

// unusedEventWarning returns the warning about an event without effect. Some of these events do move a patient or
// change a visit number in the hospital. (HL7 v2.5.1, 3.3: A17 swap; A18, A30, A34 to A36 and A39 to A42 merge; A43
// to A45 move; A46 to A51 change an identifier.)
func unusedEventWarning(trigger []byte) string {
	event := string(trigger)
	switch {
	case event == "A17":
		return warnSwap
	case len(event) != 3: // events are compared as text below, and "A350" sorts between "A34" and "A36"
		return warnIgnored
	case event == "A18", event == "A30", event >= "A34" && event <= "A36", event >= "A39" && event <= "A51":
		return warnMerge
	default:
		return warnIgnored
	}
}

// Stable codes of warnings: the message was accepted, but part of it was not used as sent or had to be guessed.
// docs/hl7.md explains each to senders.
const (
	warnExtension      = "adt_extension"      // an event that the specification does not list
	warnAction         = "action_unknown"     // DG1-21 is none of A, U, D; read as A
	warnBatchCount     = "batch_count"        // BTS-1 or FTS-1 differs from the real count
	warnCharsetAssumed = "charset_assumed"    // no character set is declared and the text is not UTF-8: read as Windows-1252
	warnCharsetInvalid = "charset_invalid"    // the text is declared as UTF-8 but is invalid
	warnCharsetUnknown = "charset_unknown"    // the declared character set is unknown
	warnCode           = "code_unreadable"    // the code is too long or not in its table, and is not used
	warnEscape         = "escape_unknown"     // the unknown escape sequence remains in the text
	warnEventTime      = "event_time_missing" // the event has no time: the next available time is used
	warnIgnored        = "event_ignored"      // an event without effect
	warnLineContinued  = "line_continued"     // not a segment: read as text of the preceding field
	warnLineIgnored    = "line_ignored"       // neither a segment nor a continuation of a used segment
	warnLocationCut    = "location_cut"       // a part of a location is longer than the limit
	warnMerge          = "merge_ignored"      // the event renumbers a patient or a visit, which has no effect
	warnNotProduction  = "not_production"     // MSH-11 is not P; applied as if it were
	warnRepeated       = "segment_repeated"   // a segment that a message may have only once: the first is used
	warnSwap           = "swap_ignored"       // A17: two patients swap beds, which has no effect
	warnSystem         = "system_assumed"     // the code system was guessed from the form of the code
	warnFuture         = "time_in_future"     // a time is more than 5 minutes ahead: the time of receipt is used
	warnTime           = "time_unreadable"    // not an HL7 time; treated as missing
	warnUnused         = "field_not_used"     // a diagnosis beyond maxRepetitions, or in an event that does not change diagnoses
	warnVisit          = "visit_by_patient"   // no visit number: one visit per patient is assumed
)

// position is the place in a message that a warning refers to. A repeat of 0 means that the segment occurs once.
type position struct {
	segment string
	repeat  int
	field   int
}

// String returns the form in responses: PV1-3, DG1[2]-5, EVN.
func (p position) String() string {
	s := p.segment
	if p.repeat > 0 {
		s += "[" + strconv.Itoa(p.repeat) + "]"
	}
	if p.field > 0 {
		s += "-" + strconv.Itoa(p.field)
	}
	return s
}
