package hl7

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
)

// deleted is the text of a field that was sent as "", in an event that deletes the known value.
const deleted = `""`

// adult is the admission type of a patient who is too old to be a newborn according to PID-7, unless PV1-4 is L or N.
// All other types have no effect.
const adult = '+'

// setSubjects sets the visit and the patient. It returns false if the message identifies neither.
func (d *decoder) setSubjects() bool {
	e := &d.event
	if patient := d.medicalRecord(d.field(d.pid, 3), "PID", 3); len(patient) > 0 {
		e.Patient = d.pseudonym(KindPatient, patient)
	}
	d.readNumbers()
	switch {
	case e.Visit != "":
	case e.Patient != "":
		e.Visit = d.pseudonym(KindPatientVisit, d.medicalRecord(d.field(d.pid, 3), "PID", 3))
		e.ByPatient = true
		d.warn(warnVisit, "PV1", 19)
	default:
		return false
	}
	return true
}

// setMother sets the patient's mother, if the message identifies her. A newborn's message may give the number of the
// mother's visit or account instead of her patient number (HL7 v2.5.1, 3.4.2.21). If it equals the newborn's own
// visit number, as with a shared account, it does not identify the mother's visit.
func (d *decoder) setMother() {
	e := &d.event
	mother, kind := d.recordOf(d.field(d.pid, 21), "PID", 21)
	for i, relative := range d.nk1 {
		if len(mother) > 0 || i == maxRelatives {
			break
		}
		if relation := d.field(relative, 3); isCode(d.at(relation, 1), "MTH") || isCode(d.at(relation, 4), "MTH") {
			mother, kind = d.recordOf(d.field(relative, 33), "NK1", 33)
		}
	}
	switch {
	case len(mother) == 0:
		if d.isDeletion(d.field(d.pid, 21)) {
			e.MotherPatient = deleted
		}
	case e.Newborn && (isCode(kind, "AN") || isCode(kind, "VN")):
		if visit := d.pseudonym(KindVisit, mother); visit != e.Visit {
			e.MotherVisit = visit
		}
	default:
		e.MotherPatient = d.pseudonym(KindPatient, mother)
	}
}

// readNumbers reads the visit number and the account number of the visit. If both fields contain the same number,
// only the visit number is kept.
func (d *decoder) readNumbers() {
	e := &d.event
	visit, account := d.cx(d.field(d.pv1, 19)), d.cx(d.field(d.pid, 18))
	same := bytes.Equal(visit, account)
	if visit = d.id(visit, position{segment: "PV1", field: 19}); len(visit) > 0 {
		e.Visit = d.pseudonym(KindVisit, visit)
		if same {
			return
		}
	}
	if account = d.id(account, position{segment: "PID", field: 18}); len(account) > 0 {
		e.Account = d.pseudonym(KindVisit, account)
	}
	switch e.Visit {
	case "":
		e.Visit = e.Account
	case e.Account:
		e.Account = "" // the same number, sent with a check digit or escapes
	}
}

// cx returns the number in an identifier, without its check digit.
func (d *decoder) cx(field []byte) []byte {
	return part(d.at(d.oneLine(field), 1), d.subcomponent, 1)
}

// medicalRecord returns the number by which the hospital identifies the patient: the number of type MR (Cerner: MRN).
// If there is none, it is the first number that is neither from another authority nor an account or visit number, or
// else the first number. Because the type decides, a different order of the numbers rarely yields a different
// patient. A repetition without a number does not count, whatever its type.
func (d *decoder) medicalRecord(field []byte, segment string, n int) []byte {
	number, _ := d.recordOf(field, segment, n)
	return number
}

// recordOf returns the number that medicalRecord returns, and its type (HL7 table 0203).
func (d *decoder) recordOf(field []byte, segment string, n int) (number, kind []byte) {
	field = d.oneLine(field)
	if len(field) == 0 {
		return nil, nil
	}
	chosen, best := field, recordNone
	rest := field
	for range maxRepetitions {
		i := bytes.IndexByte(rest, d.repetition)
		repetition := rest
		if i >= 0 {
			repetition = rest[:i]
		}
		if rank := recordRank(part(repetition, d.component, 5)); rank > best && !isBlank(part(repetition, d.component, 1)) {
			chosen, best = repetition, rank
		}
		if i < 0 || best == recordOfHospital {
			break
		}
		rest = rest[i+1:]
	}
	return d.id(part(part(chosen, d.component, 1), d.subcomponent, 1), position{segment: segment, field: n}), part(chosen, d.component, 5)
}

const (
	recordNone = iota
	recordForeign
	recordOther
	recordMRN
	recordOfHospital
)

// recordRank ranks how well an identifier of the given type (HL7 table 0203) identifies a patient.
func recordRank(kind []byte) int {
	switch {
	case isCode(kind, "MR"):
		return recordOfHospital
	case isCode(kind, "MRN"):
		return recordMRN
	case slices.ContainsFunc(foreignRecords[:], func(code string) bool { return isCode(kind, code) }):
		return recordForeign
	default:
		return recordOther
	}
}

// foreignRecords are the types of numbers by which the hospital does not identify a patient. Social security, driver's
// license, passport, insurance and state numbers come from other authorities. A patient can have several account and
// visit numbers.
var foreignRecords = [...]string{"SS", "SSN", "DL", "PPN", "MA", "MC", "NI", "AN", "VN"}

// isCode reports whether a component is a code, in either case and with or without surrounding blanks.
func isCode(b []byte, code string) bool { return strings.EqualFold(string(trim(b)), code) }

// classify reads the fields that classify the patient: the class, the admission type, the service, whether the
// patient is a newborn, the number of babies, and the reason for the admission.
func (d *decoder) classify() {
	e := &d.event
	e.Class = d.initial(d.field(d.pv1, 2), 2)
	e.AdmissionType = d.initial(d.field(d.pv1, 4), 4)
	e.Service = d.service(d.field(d.pv1, 10))
	infant, isAdult := d.age()
	e.Newborn = d.isYes(d.pv2, "PV2", 36) || e.Class == 'N' || e.AdmissionType == 'N' || infant
	if isAdult && !e.Newborn && e.AdmissionType != 'L' { // only L and N have a meaning
		e.AdmissionType = adult
	}
	e.Babies = d.birthOrder()
	if d.isYes(d.pid, "PID", 24) {
		e.Babies = max(e.Babies, 2)
	}
	e.Reasons = d.reasons(d.field(d.pv2, 3))
}

// isYes reads a field of HL7 table 0136 (yes or no).
func (d *decoder) isYes(s segment, name string, n int) bool {
	b := d.oneLine(d.at(d.field(s, n), 1))
	if isCode(b, "Y") {
		return true
	}
	if !isBlank(b) && !isCode(b, "N") {
		d.warn(warnCode, name, n)
	}
	return false
}

// birthOrder reads PID-25. It returns 0 if there is no birth order from 1 to 9.
func (d *decoder) birthOrder() uint8 {
	b := d.oneLine(d.at(d.field(d.pid, 25), 1))
	if isBlank(b) {
		return 0
	}
	order := bytes.TrimLeft(trim(b), "0")
	switch {
	case len(order) == 1 && order[0] >= '1' && order[0] <= '9':
		return order[0] - '0'
	case len(order) > 0: // a 0 says nothing
		d.warn(warnCode, "PID", 25)
	}
	return 0
}

// service reads the hospital service: a code or, in a few systems, a name.
func (d *decoder) service(field []byte) string {
	if d.isDeletion(field) {
		return deleted
	}
	at := position{segment: "PV1", field: 10}
	code := d.id(d.at(field, 1), at)
	if len(code) > maxService {
		d.warn(warnCode, "PV1", 10)
		return ""
	}
	known := strings.ToUpper(d.keep(code))
	name, other := d.at(field, 2), d.at(field, 5)
	if isBlank(name) && isBlank(other) {
		return known
	}
	return adt.Service(known, string(d.id(name, at)), string(d.id(other, at)))
}

// reasons reduces the admission reason to the hints that rules use. The text is not stored. An explicitly empty reason
// ends the hints of an earlier one.
func (d *decoder) reasons(field []byte) acuity.Reasons {
	switch {
	case d.isDeletion(field):
		return adt.ParseReasons(deleted)
	case isBlank(field):
		return 0
	}
	var parts [9][]byte
	d.split(field, parts[:])
	text := d.scratch[:0]
	for _, b := range [...][]byte{parts[0], parts[1], parts[3], parts[4], parts[8]} {
		switch {
		case !d.isPlain(b):
			text = append(text, d.text(b)...)
		case !isNull(b):
			text = append(text, b...)
		}
		text = append(text, ' ')
	}
	d.scratch = text
	return adt.ParseReasons(text)
}

// initial reads a table value of one letter.
func (d *decoder) initial(field []byte, n int) byte {
	b := trim(d.oneLine(d.at(field, 1)))
	switch {
	case isBlank(b):
		return 0
	case len(b) == 1 && isLetter(b[0]):
		return b[0] &^ 0x20
	case spelledOut(b):
		return b[0] &^ 0x20
	default:
		d.warn(warnCode, "PV1", n)
		return 0
	}
}

// spelledOut reports whether b is the name of a value in tables 0004 (class) and 0007 (type of admission). Some
// systems send the name; the first letter of the name is the value.
func spelledOut(b []byte) bool {
	if len(b) > len("labor and delivery") {
		return false
	}
	switch strings.ToLower(string(b)) {
	case "inpatient", "outpatient", "emergency", "preadmit", "recurring", "newborn", "labor and delivery", "urgent", "routine":
		return true
	default:
		return false
	}
}

// age reports whether the patient is young enough to be a newborn, or too old to have been one during any visit. The
// birth date is not stored.
func (d *decoder) age() (infant, isAdult bool) {
	born, ok := d.time(d.field(d.pid, 7), position{segment: "PID", field: 7})
	if !ok {
		return false, false
	}
	age, day := d.event.At.Sub(born.From), 24*time.Hour
	return born.Precision <= acuity.Day && age > -day && age < newbornDays*day, age > adultDays*day
}

// readLocations reads the current and the previous location.
func (d *decoder) readLocations() {
	assigned := d.field(d.pv1, 3)
	if d.isDeletion(assigned) {
		d.event.PlaceNull = true
	} else {
		d.event.Place = d.place(assigned, position{segment: "PV1", field: 3})
	}
	d.event.Prior = d.place(d.field(d.pv1, 6), position{segment: "PV1", field: 6})
}

func (d *decoder) place(field []byte, at position) acuity.Location {
	if isBlank(field) {
		return acuity.Location{}
	}
	read := func(b []byte) string {
		b = d.id(b, at)
		if len(b) > maxPlace {
			d.warnAt(warnLocationCut, at)
			b = bytes.TrimSpace(bytes.ToValidUTF8(b[:maxPlace], nil))
		}
		return d.keep(b)
	}
	var parts [4][]byte
	d.split(field, parts[:])
	place := acuity.Location{PointOfCare: read(d.placeName(parts[0])), Room: read(d.placeName(parts[1])), Bed: read(d.placeName(parts[2]))}
	if !place.IsZero() { // a facility alone is no place to which a patient can move
		place.Facility = read(part(parts[3], d.subcomponent, 1))
	}
	return place
}

// placeName reads a point of care, a room or a bed. From version 2.6 on, it may be an HD (name & id & type), of which only
// the name is used. It may also be a name with an unescaped ampersand, such as L&D.
func (d *decoder) placeName(b []byte) []byte {
	if d.subcomponent == 0 || bytes.IndexByte(b, d.subcomponent) < 0 {
		return b
	}
	if hierarchic[string(part(b, d.subcomponent, 3))] || isOID(part(b, d.subcomponent, 2)) {
		return part(b, d.subcomponent, 1)
	}
	return b
}

// hierarchic contains the universal ID types of an HD (HL7 table 0301).
var hierarchic = map[string]bool{
	"ISO": true, "GUID": true, "UUID": true, "DNS": true, "HCD": true, "CLIA": true, "CLIP": true, "CAP": true,
	"EUI64": true, "HL7": true, "L": true, "M": true, "N": true, "Random": true, "URI": true, "x400": true, "x500": true,
}

func isOID(b []byte) bool {
	dots := 0
	for _, c := range b {
		if c == '.' {
			dots++
		} else if !isDigit(c) {
			return false
		}
	}
	return dots >= 2
}
