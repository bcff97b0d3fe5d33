package hl7

import (
	"strings"
	"time"

	"svc/acuity"
)

// Options are what the decoder must know and a message does not say itself.
type Options struct {
	// Pseudonym appends the keyed pseudonym of a value to dst. Values of different kinds
	// never share a pseudonym.
	Pseudonym  func(dst []byte, kind string, value []byte) []byte
	Zone       *time.Location // zone of the hospital
	ReceivedAt acuity.Instant
	Sender     Sender
}

// These are the kinds of pseudonym. Visits share one name space in all feeds. A visit
// known only by its patient never equals a visit with a number.
const (
	KindVisit        = "visit"
	KindPatientVisit = "visit-of-patient"
	KindPatient      = "patient"
	KindMessage      = "message" // made of all bytes of an HL7 message
	KindEvent        = "event"
	KindDigest       = "digest"
)

const (
	maxWarnings = 50 // of one event
	maxPlace    = 80 // bytes of one part of a location
	maxCode     = 64 // bytes of a code
	maxService  = 40 // bytes of PV1-10
	newbornDays = 28 // a younger patient is a newborn (clinical-input 4)
	maxSkew     = 5 * time.Minute

	maxRelatives   = 50 // how many NK1 segments are read
	maxRepetitions = 20 // how many repetitions of PID-3 and PID-21 are read
)

// decoder makes one event.
type decoder struct {
	*Message
	Options
	zones
	event acuity.Event
	// kept holds all text of the event in one allocation. Its strings are parts of it.
	kept strings.Builder
}

// Facts returns the event that the message reports. For a message that must be refused it
// returns a fault, which [Message.Ack] writes into the answer. An ADT event without an
// effect is [acuity.EventOther]: accepted and counted.
func (m *Message) Facts(o Options) (acuity.Event, *Fault) {
	trigger := m.trigger()
	if fault := m.check(trigger, o.Sender); fault != nil {
		return acuity.Event{}, fault
	}
	m.settle()
	d := decoder{Message: m, Options: o, zones: zones{hospital: o.Zone}}
	d.kept.Grow(pseudonymsKept + len(d.field(d.pv1, 3)) + len(d.field(d.pv1, 6)) + diagnosisKept*len(d.dg1))
	if m.guess != "" {
		d.warn(m.guess, "MSH", 18)
	}
	d.event.Type = effect(trigger)
	d.identify()
	d.times()
	if !d.production() {
		d.warn(warnNotProduction, "MSH", 11)
	}
	if d.event.Type == acuity.EventOther {
		if code := unheeded(trigger); code != "" {
			d.warn(code, "MSH", 9)
		}
		return d.event, nil
	}
	if t := d.event.Type; t == acuity.A06 || t == acuity.A07 || t == acuity.A13 {
		d.warn(warnExtension, "MSH", 9)
	}
	if !d.subjects() {
		return acuity.Event{}, &Fault{Code: AE, Condition: 101, Segment: "PV1", Sequence: 1, Field: 19}
	}
	d.where()
	d.classify()
	d.diagnoses()
	return d.event, nil
}

// These constants are the usual sizes in bytes of an event's text: the pseudonyms of
// message, visit and patient, and a diagnosis.
const (
	pseudonymsKept = 96
	diagnosisKept  = 48
)

// ControlID returns MSH-10 as it was sent, but only its first line and in UTF-8.
func (m *Message) ControlID() string {
	m.settle()
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

// id reads an identifier or code, and warns of an unknown escape. The bytes are valid
// until the next call.
func (d *decoder) id(b []byte, at position) []byte {
	if d.plain(b) { // plain text has no line break either
		if b = trim(b); isNull(b) {
			return nil
		}
		return b
	}
	s, clean := d.identifier(trim(d.oneLine(b)))
	if !clean {
		d.warnAt(warnEscape, at)
	}
	if isNull(s) { // nobody is named so, also if it was sent with escapes
		return nil
	}
	return s
}

// keep copies b into the text of the event.
func (d *decoder) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	from := d.kept.Len()
	d.kept.Write(b)
	return d.kept.String()[from:]
}

// pseudonym returns the pseudonym of a value as text of the event.
func (d *decoder) pseudonym(kind string, value []byte) string {
	d.made = d.Pseudonym(d.made[:0], kind, value)
	return d.keep(d.made)
}

// identify sets the identity of the event from all bytes of the message, which include
// sender and control id. The control id alone is no identity, because senders restart
// their counter.
func (d *decoder) identify() {
	d.event.ID = d.pseudonym(KindMessage, d.sent)
	d.event.Digest = d.event.ID
}

// times sets when the event happened: EVN-6, else EVN-2, else MSH-7, else its receipt. In
// a cancel EVN-6 is the time of the cancelled event.
func (d *decoder) times() {
	sent, hasSent := d.time(d.header(7), position{segment: "MSH", field: 7})
	if hasSent {
		d.near, d.own = sent.at, sent.offset
	}
	occurred, hasOccurred := d.time(d.field(d.evn, 6), position{segment: "EVN", field: 6})
	recorded, hasRecorded := d.time(d.field(d.evn, 2), position{segment: "EVN", field: 2})
	e := &d.event
	if hasRecorded {
		e.RecordedAt = recorded.at
	}
	if isCancel(e.Type) {
		if hasOccurred {
			e.Cancels, e.CancelsPrecision = occurred.at, occurred.precision
		}
		hasOccurred = false
	}
	switch {
	case hasOccurred:
		e.At, e.Precision = occurred.at, occurred.precision
	case hasRecorded:
		e.At, e.Precision = recorded.at, recorded.precision
	case hasSent:
		e.At, e.Precision = sent.at, sent.precision
		d.warn(warnEventTime, "EVN", 2)
	default:
		e.At = d.ReceivedAt
		d.warn(warnEventTime, "MSH", 7)
	}
	if e.At.Sub(d.ReceivedAt) > maxSkew {
		d.warn(warnFuture, "EVN", 0)
	}
}

// time reads a time field.
func (d *decoder) time(field []byte, at position) (stamp, bool) {
	if blank(field) {
		return stamp{}, false
	}
	t, ok := d.parse(d.oneLine(d.Message.at(field, 1)))
	if !ok {
		d.warnAt(warnTime, at)
	}
	return t, ok
}

func isCancel(t acuity.EventType) bool {
	return t == acuity.A11 || t == acuity.A12 || t == acuity.A13
}

// Sender says how a hospital wants one sender, that is one key, to be understood. The
// zero value means: as the standard says.
type Sender struct {
	// OriginalMode answers in original mode, whatever MSH-15 and 16 say. Some engines
	// value these fields and still wait for AA.
	OriginalMode bool
	// ProductionOnly refuses with AR a message that MSH-11 does not call production.
	// Otherwise such a message is applied, with a warning.
	ProductionOnly bool
}
