package hl7

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
)

// Options is what a message does not say about itself.
type Options struct {
	// Pseudonym makes the keyed pseudonym of a value. Values of different
	// kinds never get the same one.
	Pseudonym  func(kind, value string) string
	Zone       *time.Location // of the hospital
	ReceivedAt acuity.Instant
	Charset    Charset // declared by the transport, if it was
}

// The kinds of pseudonym. Visits have one name space, whatever feed names them;
// a visit that is known only by its patient never equals one with a number.
const (
	KindVisit        = "visit"
	KindPatientVisit = "visit-of-patient"
	KindPatient      = "patient"
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
)

// types are the events that have an effect, by MSH-9.2.
var types = map[string]acuity.EventType{
	"A01": acuity.A01, "A02": acuity.A02, "A03": acuity.A03, "A04": acuity.A04, "A06": acuity.A06, "A07": acuity.A07,
	"A08": acuity.A08, "A11": acuity.A11, "A12": acuity.A12, "A13": acuity.A13,
}

// decoder makes one event.
type decoder struct {
	*Message
	Options
	zones
	event acuity.Event
}

// Facts makes the event that the message reports. A message that must be refused
// gets a fault instead, which [Message.Ack] writes down. An ADT event without an
// effect is [acuity.EventOther]: accepted and counted.
func (m *Message) Facts(o Options) (acuity.Event, *Fault) {
	if fault := m.check(); fault != nil {
		return acuity.Event{}, fault
	}
	d := &decoder{Message: m, Options: o, zones: zones{hospital: o.Zone}}
	if code := m.settle(o.Charset); code != "" {
		d.warn(code, "MSH-18")
	}
	d.event.Type = types[m.Type()]
	d.identify()
	d.times()
	if mode := m.at(m.header(11), 1); string(mode) != "P" {
		d.warn("not_production", "MSH-11")
	}
	if d.event.Type == acuity.EventOther {
		return d.event, nil
	}
	if !d.subjects() {
		return acuity.Event{}, &Fault{Code: AE, Condition: 101, Segment: "PV1", Sequence: 1, Field: 19}
	}
	d.where()
	d.classify()
	d.diagnoses()
	return d.event, nil
}

// check finds what makes a message unacceptable whatever it is about.
func (m *Message) check() *Fault {
	kind := m.at(m.header(9), 1)
	switch {
	case m.size != nil:
		return m.size
	case blank(kind):
		return &Fault{Code: AR, Condition: 200, Segment: "MSH", Sequence: 1, Field: 9}
	case string(oneLine(kind)) != "ADT":
		return &Fault{Code: AR, Condition: 200, Segment: "MSH", Sequence: 1, Field: 9}
	case m.Type() == "":
		return &Fault{Code: AR, Condition: 201, Segment: "MSH", Sequence: 1, Field: 9}
	case blank(m.header(10)):
		return &Fault{Code: AE, Condition: 101, Segment: "MSH", Sequence: 1, Field: 10}
	default:
		return nil
	}
}

// Type returns the trigger event, MSH-9.2, as in "A01"; "" if there is none that
// could be one. EVN-1 is never looked at: senders disagree with themselves there.
func (m *Message) Type() string {
	b := oneLine(m.at(m.header(9), 2))
	if len(b) < 1 || len(b) > 8 {
		return ""
	}
	for _, c := range b {
		if !upper(c) && !digit(c) {
			return ""
		}
	}
	return string(b)
}

// ControlID returns MSH-10 as it was sent, first line only, in UTF-8.
func (m *Message) ControlID() string { return m.charset.decode(oneLine(m.header(10))) }

func (d *decoder) warn(code, path string) {
	if len(d.event.Warnings) < maxWarnings {
		d.event.Warnings = append(d.event.Warnings, acuity.Warning{Code: code, Path: path})
	}
}

// id reads an identifier or code and warns of an escape that it does not know.
func (d *decoder) id(b []byte, path string) string {
	s, clean := d.identifier(b)
	if !clean {
		d.warn("escape_unknown", path)
	}
	return s
}

// identify names the event: sender, control id and the bytes themselves. The
// control id alone is no identity, senders start anew with it.
func (d *decoder) identify() {
	sum := sha256.Sum256(d.raw)
	var b strings.Builder
	b.WriteString("hl7\x00")
	for _, n := range []int{3, 4, 10} {
		b.Write(d.header(n))
		b.WriteByte(0)
	}
	b.Write(sum[:])
	d.event.ID = d.Pseudonym(KindEvent, b.String())
	d.event.Digest = d.Pseudonym(KindDigest, string(sum[:]))
}

// times finds when the event happened: EVN-6, else EVN-2, else MSH-7, else its
// receipt. On a cancel EVN-6 is the time of what is cancelled.
func (d *decoder) times() {
	sent, hasSent := d.time(d.header(7), "MSH-7")
	if hasSent {
		d.sent, d.header7 = sent.at, sent.zone
	}
	occurred, hasOccurred := d.time(d.field(d.evn, 6), "EVN-6")
	recorded, hasRecorded := d.time(d.field(d.evn, 2), "EVN-2")
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
		d.warn("event_time_missing", "EVN-2")
	default:
		e.At = d.ReceivedAt
		d.warn("event_time_missing", "MSH-7")
	}
	if e.At.Sub(d.ReceivedAt) > maxSkew {
		d.warn("time_in_future", "EVN")
	}
}

// time reads a time field.
func (d *decoder) time(field []byte, path string) (stamp, bool) {
	if blank(field) {
		return stamp{}, false
	}
	t, ok := d.parse(oneLine(d.at(field, 1)))
	if !ok {
		d.warn("time_unreadable", path)
	}
	return t, ok
}

func isCancel(t acuity.EventType) bool {
	return t == acuity.A11 || t == acuity.A12 || t == acuity.A13
}

// subjects finds the visit and the patient, and those of the mother of a newborn.
func (d *decoder) subjects() bool {
	e := &d.event
	patient := d.medicalRecord(d.field(d.pid, 3), "PID-3")
	visit := d.id(d.cx(d.field(d.pv1, 19)), "PV1-19")
	if visit == "" {
		visit = d.id(d.cx(d.field(d.pid, 18)), "PID-18")
	}
	switch {
	case visit != "":
		e.Visit = d.Pseudonym(KindVisit, visit)
	case patient != "":
		e.Visit = d.Pseudonym(KindPatientVisit, patient)
		d.warn("visit_by_patient", "PV1-19")
	default:
		return false
	}
	if patient != "" {
		e.Patient = d.Pseudonym(KindPatient, patient)
	}
	mother := d.medicalRecord(d.field(d.pid, 21), "PID-21")
	for _, relative := range d.nk1 {
		if mother == "" && string(d.at(d.field(relative, 3), 1)) == "MTH" {
			mother = d.medicalRecord(d.field(relative, 33), "NK1-33")
		}
	}
	if mother != "" {
		e.MotherPatient = d.Pseudonym(KindPatient, mother)
	}
	return true
}

// cx returns the number itself of an identifier with check digit.
func (d *decoder) cx(field []byte) []byte {
	return part(d.at(oneLine(field), 1), d.subcomponent, 1)
}

// medicalRecord returns the number of the repetition of type MR, else the first.
func (d *decoder) medicalRecord(field []byte, path string) string {
	field = oneLine(field)
	chosen := d.first(field)
	for n := 1; n <= 20; n++ {
		repetition := part(field, d.repetition, n)
		if repetition == nil {
			break
		}
		if string(part(repetition, d.component, 5)) == "MR" {
			chosen = repetition
			break
		}
	}
	return d.id(part(part(chosen, d.component, 1), d.subcomponent, 1), path)
}

// where reads the places.
func (d *decoder) where() {
	assigned := d.field(d.pv1, 3)
	if isNull(assigned) {
		d.event.PlaceNull = true
	} else {
		d.event.Place = d.place(assigned, "PV1-3")
	}
	d.event.Prior = d.place(d.field(d.pv1, 6), "PV1-6")
}

func (d *decoder) place(field []byte, path string) acuity.Location {
	if blank(field) {
		return acuity.Location{}
	}
	read := func(b []byte) string {
		s := d.id(b, path)
		if len(s) > maxPlace {
			d.warn("location_cut", path)
			s = strings.ToValidUTF8(s[:maxPlace], "")
		}
		return s
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
	e.Class = d.initial(d.field(d.pv1, 2), "PV1-2")
	e.AdmissionType = d.initial(d.field(d.pv1, 4), "PV1-4")
	if service := strings.ToUpper(d.id(d.at(d.field(d.pv1, 10), 1), "PV1-10")); len(service) <= maxService {
		e.Service = service
	} else {
		d.warn("code_unreadable", "PV1-10")
	}
	e.Newborn = e.Class == 'N' || e.AdmissionType == 'N' || string(d.at(d.field(d.pv2, 36), 1)) == "Y" || d.infant()
	if order, err := strconv.Atoi(string(d.at(d.field(d.pid, 25), 1))); err == nil && order > 0 && order < 10 {
		e.Babies = uint8(order)
	}
	if reason := d.field(d.pv2, 3); !blank(reason) {
		words := make([]string, 0, 4)
		for _, n := range []int{1, 2, 4, 5} {
			if s := d.text(d.at(reason, n)); s != "" {
				words = append(words, s)
			}
		}
		e.Reasons = acuity.ParseReasons(strings.Join(words, " "))
	}
}

// initial reads a table value of one letter.
func (d *decoder) initial(field []byte, path string) byte {
	b := oneLine(d.at(field, 1))
	switch {
	case blank(b):
		return 0
	case len(b) == 1 && letter(b[0]):
		return b[0] &^ 0x20
	default:
		d.warn("code_unreadable", path)
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
