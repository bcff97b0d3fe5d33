package hl7

import (
	"bytes"
	"strings"
	"time"

	"svc/acuity"
)

// Options is what a message does not say about itself.
type Options struct {
	// Pseudonym appends the keyed pseudonym of a value to dst. Values of
	// different kinds never get the same one.
	Pseudonym  func(dst []byte, kind string, value []byte) []byte
	Zone       *time.Location // of the hospital
	ReceivedAt acuity.Instant
	Sender     Sender
}

// The kinds of pseudonym. Visits have one name space, whatever feed names them;
// a visit that is known only by its patient never equals one with a number.
const (
	KindVisit        = "visit"
	KindPatientVisit = "visit-of-patient"
	KindPatient      = "patient"
	KindMessage      = "message" // all bytes of an HL7 message
	KindEvent        = "event"
	KindDigest       = "digest"
)

const (
	maxWarnings = 50 // of one event
	maxPlace    = 80 // bytes of one part of a location
	maxCode     = 64 // bytes of a code
	maxService  = 40 // bytes of PV1-10
	newbornDays = 28 // younger is a newborn (clinical-input 4)
	maxSkew     = 5 * time.Minute

	maxRelatives   = 50 // NK1 segments that are looked at
	maxRepetitions = 20 // of PID-3 and PID-21
)

// decoder makes one event.
type decoder struct {
	*Message
	Options
	zones
	event acuity.Event
	// kept holds all text of the event in one piece of memory; its strings are
	// parts of it.
	kept strings.Builder
}

// Facts makes the event that the message reports. A message that must be refused
// gets a fault instead, which [Message.Ack] writes down. An ADT event without an
// effect is [acuity.EventOther]: accepted and counted.
func (m *Message) Facts(o Options) (acuity.Event, *Fault) {
	if fault := m.check(o.Sender); fault != nil {
		return acuity.Event{}, fault
	}
	m.settle()
	d := decoder{Message: m, Options: o, zones: zones{hospital: o.Zone, season: &m.season}}
	d.kept.Grow(pseudonymsKept + len(d.field(d.pv1, 3)) + len(d.field(d.pv1, 6)) + diagnosisKept*len(d.dg1))
	if m.guess != "" {
		d.warn(m.guess, "MSH", 18)
	}
	d.event.Type = d.effect()
	d.identify()
	d.times()
	if !d.production() {
		d.warn(warnNotProduction, "MSH", 11)
	}
	if d.event.Type == acuity.EventOther {
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

// What the text of an event takes in the usual case, in bytes: pseudonyms of the
// message, the visit and the patient, and a diagnosis.
const (
	pseudonymsKept = 96
	diagnosisKept  = 48
)

// check finds what makes a message unacceptable whatever it is about.
func (m *Message) check(sender Sender) *Fault {
	kind := oneLine(m.at(m.header(9), 1))
	header := func(code AckCode, condition, field int) *Fault {
		return &Fault{Code: code, Condition: condition, Segment: "MSH", Sequence: 1, Field: field}
	}
	switch {
	case m.size != nil:
		return m.size
	case string(kind) != "ADT":
		return header(AR, 200, 9)
	case m.trigger() == nil:
		return header(AR, 201, 9)
	case sender.ProductionOnly && !m.production():
		return header(AR, 202, 11)
	case blank(m.header(10)):
		return header(AE, 101, 10)
	default:
		return nil
	}
}

// production reports whether MSH-11 calls the message one of production.
func (m *Message) production() bool { return string(m.at(m.header(11), 1)) == "P" }

// trigger returns MSH-9.2 if it could be an event; nil if not. EVN-1 is never
// looked at: senders disagree with themselves there.
func (m *Message) trigger() []byte {
	b := oneLine(m.at(m.header(9), 2))
	if len(b) < 1 || len(b) > 8 {
		return nil
	}
	for _, c := range b {
		if !upper(c) && !digit(c) {
			return nil
		}
	}
	return b
}

// Type returns the trigger event, MSH-9.2, as in "A01"; "" if there is none that
// could be one.
func (m *Message) Type() string { return string(m.trigger()) }

// effect is what the trigger event does.
func (m *Message) effect() acuity.EventType {
	switch string(m.trigger()) {
	case "A01":
		return acuity.A01
	case "A02":
		return acuity.A02
	case "A03":
		return acuity.A03
	case "A04":
		return acuity.A04
	case "A06":
		return acuity.A06
	case "A07":
		return acuity.A07
	case "A08":
		return acuity.A08
	case "A11":
		return acuity.A11
	case "A12":
		return acuity.A12
	case "A13":
		return acuity.A13
	default:
		return acuity.EventOther
	}
}

// ControlID returns MSH-10 as it was sent, first line only, in UTF-8.
func (m *Message) ControlID() string {
	m.settle()
	return m.charset.decode(oneLine(m.header(10)))
}

func (d *decoder) warn(code, segment string, field int) {
	d.warnAt(code, position{segment: segment, field: field})
}

func (d *decoder) warnAt(code string, at position) {
	if len(d.event.Warnings) < maxWarnings {
		d.event.Warnings = append(d.event.Warnings, acuity.Warning{Code: code, Path: at.String()})
	}
}

// id reads an identifier or code, and warns of an escape that it does not know.
// The bytes are valid until the next call.
func (d *decoder) id(b []byte, at position) []byte {
	b = trim(oneLine(b))
	if d.plain(b) {
		if isNull(b) {
			return nil
		}
		return b
	}
	s, clean := d.identifier(b)
	if !clean {
		d.warnAt(warnEscape, at)
	}
	return s
}

// keep returns b as text of the event.
func (d *decoder) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	from := d.kept.Len()
	d.kept.Write(b)
	return d.kept.String()[from:]
}

// pseudonym keeps the pseudonym of a value.
func (d *decoder) pseudonym(kind string, value []byte) string {
	d.made = d.Pseudonym(d.made[:0], kind, value)
	return d.keep(d.made)
}

// identify names the event by all bytes of the message, in which are sender and
// control id. The control id alone is no identity, senders start anew with it.
func (d *decoder) identify() {
	d.event.ID = d.pseudonym(KindMessage, d.sent)
	d.event.Digest = d.event.ID
}

// times finds when the event happened: EVN-6, else EVN-2, else MSH-7, else its
// receipt. On a cancel EVN-6 is the time of what is cancelled.
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
	t, ok := d.parse(oneLine(d.Message.at(field, 1)))
	if !ok {
		d.warnAt(warnTime, at)
	}
	return t, ok
}

func isCancel(t acuity.EventType) bool {
	return t == acuity.A11 || t == acuity.A12 || t == acuity.A13
}

// subjects finds the visit and the patient, and those of the mother of a newborn.
func (d *decoder) subjects() bool {
	e := &d.event
	if patient := d.medicalRecord(d.field(d.pid, 3), "PID", 3); len(patient) > 0 {
		e.Patient = d.pseudonym(KindPatient, patient)
	}
	visit := d.id(d.cx(d.field(d.pv1, 19)), position{segment: "PV1", field: 19})
	if len(visit) == 0 {
		visit = d.id(d.cx(d.field(d.pid, 18)), position{segment: "PID", field: 18})
	}
	switch {
	case len(visit) > 0:
		e.Visit = d.pseudonym(KindVisit, visit)
	case e.Patient != "":
		e.Visit = d.pseudonym(KindPatientVisit, d.medicalRecord(d.field(d.pid, 3), "PID", 3))
		d.warn(warnVisit, "PV1", 19)
	default:
		return false
	}
	mother := d.medicalRecord(d.field(d.pid, 21), "PID", 21)
	for i, relative := range d.nk1 {
		if len(mother) > 0 || i == maxRelatives {
			break
		}
		if string(d.at(d.field(relative, 3), 1)) == "MTH" {
			mother = d.medicalRecord(d.field(relative, 33), "NK1", 33)
		}
	}
	if len(mother) > 0 {
		e.MotherPatient = d.pseudonym(KindPatient, mother)
	}
	return true
}

// cx returns the number itself of an identifier with check digit.
func (d *decoder) cx(field []byte) []byte {
	return part(d.at(oneLine(field), 1), d.subcomponent, 1)
}

// medicalRecord returns the number of the repetition of type MR, else the first.
func (d *decoder) medicalRecord(field []byte, segment string, n int) []byte {
	field = oneLine(field)
	if len(field) == 0 {
		return nil
	}
	chosen, rest := d.first(field), field
	for range maxRepetitions {
		i := bytes.IndexByte(rest, d.repetition)
		repetition := rest
		if i >= 0 {
			repetition = rest[:i]
		}
		if string(part(repetition, d.component, 5)) == "MR" {
			chosen = repetition
			break
		}
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	return d.id(part(part(chosen, d.component, 1), d.subcomponent, 1), position{segment: segment, field: n})
}

// where reads the places.
func (d *decoder) where() {
	assigned := d.field(d.pv1, 3)
	if isNull(assigned) {
		d.event.PlaceNull = true
	} else {
		d.event.Place = d.place(assigned, position{segment: "PV1", field: 3})
	}
	d.event.Prior = d.place(d.field(d.pv1, 6), position{segment: "PV1", field: 6})
}

func (d *decoder) place(field []byte, at position) acuity.Location {
	if blank(field) {
		return acuity.Location{}
	}
	read := func(b []byte) string {
		b = d.id(b, at)
		if len(b) > maxPlace {
			d.warnAt(warnLocationCut, at)
			b = bytes.ToValidUTF8(b[:maxPlace], nil)
		}
		return d.keep(b)
	}
	return acuity.Location{
		PointOfCare: read(d.pointOfCare(d.at(field, 1))),
		Room:        read(d.at(field, 2)),
		Bed:         read(d.at(field, 3)),
		Facility:    read(part(d.at(field, 4), d.subcomponent, 1)),
	}
}

// pointOfCare tells an HD (name & id & type), of which the name counts, from a
// name with an unescaped ampersand, as in L&D.
func (d *decoder) pointOfCare(b []byte) []byte {
	if d.subcomponent == 0 || hierarchic[string(part(b, d.subcomponent, 3))] || isOID(part(b, d.subcomponent, 2)) {
		return part(b, d.subcomponent, 1)
	}
	return b
}

// hierarchic are the types of an HD (HL7 table 0301).
var hierarchic = map[string]bool{
	"ISO": true, "GUID": true, "UUID": true, "DNS": true, "HCD": true, "CLIA": true, "CLIP": true, "CAP": true,
	"EUI64": true, "HL7": true, "L": true, "M": true, "N": true, "Random": true, "URI": true, "x400": true, "x500": true,
}

func isOID(b []byte) bool {
	dots := 0
	for _, c := range b {
		if c == '.' {
			dots++
		} else if !digit(c) {
			return false
		}
	}
	return dots >= 2
}

// classify reads what kind of patient it is.
func (d *decoder) classify() {
	e := &d.event
	e.Class = d.initial(d.field(d.pv1, 2), 2)
	e.AdmissionType = d.initial(d.field(d.pv1, 4), 4)
	if service := d.id(d.at(d.field(d.pv1, 10), 1), position{segment: "PV1", field: 10}); len(service) <= maxService {
		e.Service = strings.ToUpper(d.keep(service))
	} else {
		d.warn(warnCode, "PV1", 10)
	}
	e.Newborn = e.Class == 'N' || e.AdmissionType == 'N' || string(d.at(d.field(d.pv2, 36), 1)) == "Y" || d.infant()
	if order := d.at(d.field(d.pid, 25), 1); len(order) == 1 && order[0] >= '1' && order[0] <= '9' {
		e.Babies = order[0] - '0'
	}
	e.Reasons = d.reasons(d.field(d.pv2, 3))
}

// reasons reduces the reason of the admission to its hints. The text goes no
// further.
func (d *decoder) reasons(field []byte) acuity.Reasons {
	if blank(field) {
		return 0
	}
	d.scratch = d.scratch[:0]
	for _, n := range [...]int{1, 2, 4, 5} {
		if b := d.at(field, n); d.plain(b) {
			if !isNull(b) {
				d.scratch = append(d.scratch, b...)
			}
		} else {
			d.scratch = append(d.scratch, d.text(b)...)
		}
		d.scratch = append(d.scratch, ' ')
	}
	return acuity.ParseReasons(string(d.scratch))
}

// initial reads a table value of one letter.
func (d *decoder) initial(field []byte, n int) byte {
	b := oneLine(d.at(field, 1))
	switch {
	case blank(b):
		return 0
	case len(b) == 1 && letter(b[0]):
		return b[0] &^ 0x20
	default:
		d.warn(warnCode, "PV1", n)
		return 0
	}
}

// infant reports whether the patient is a newborn by age. The birth date itself
// goes no further.
func (d *decoder) infant() bool {
	born, ok := d.parse(oneLine(d.at(d.field(d.pid, 7), 1)))
	if !ok || born.precision > acuity.Day {
		return false
	}
	age := d.event.At.Sub(born.at)
	return age > -24*time.Hour && age < newbornDays*24*time.Hour
}
