package hl7

import (
	"bytes"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
)

// subjects finds the visit and the patient, and for a newborn the mother.
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

// cx returns the number in an identifier, without its check digit.
func (d *decoder) cx(field []byte) []byte {
	return part(d.at(d.oneLine(field), 1), d.subcomponent, 1)
}

// medicalRecord returns the number by which the hospital knows the patient. That is the
// number of type MR (Cerner's MRN), wherever it stands. Without one it is the first
// number that is not from another authority, else the first of all. So a list whose order
// changes from message to message makes no second patient.
func (d *decoder) medicalRecord(field []byte, segment string, n int) []byte {
	field = d.oneLine(field)
	if len(field) == 0 {
		return nil
	}
	chosen, best := field, recordNone
	rest := field
	for range maxRepetitions {
		i := bytes.IndexByte(rest, d.repetition)
		repetition := rest
		if i >= 0 {
			repetition = rest[:i]
		}
		if rank := recordRank(part(repetition, d.component, 5)); rank > best {
			chosen, best = repetition, rank
		}
		if i < 0 || best == recordOfHospital {
			break
		}
		rest = rest[i+1:]
	}
	return d.id(part(part(chosen, d.component, 1), d.subcomponent, 1), position{segment: segment, field: n})
}

const (
	recordNone = iota
	recordForeign
	recordOther
	recordMRN
	recordOfHospital
)

// recordRank says how well an identifier of a type (HL7 table 0203) names a patient.
func recordRank(kind []byte) int {
	switch string(kind) {
	case "MR":
		return recordOfHospital
	case "MRN":
		return recordMRN
	case "SS", "SSN", "DL", "PPN", "MA", "MC", "NI", "AN", "VN":
		// These are social security, driver's licence, passport, insurance and state
		// numbers. Accounts and visits are here too, because one patient has several.
		return recordForeign
	default:
		return recordOther
	}
}

// classify reads the patient class, the service and the other fields on the kind of
// patient.
func (d *decoder) classify() {
	e := &d.event
	e.Class = d.initial(d.field(d.pv1, 2), 2)
	e.AdmissionType = d.initial(d.field(d.pv1, 4), 4)
	e.Service = d.service(d.field(d.pv1, 10))
	e.Newborn = e.Class == 'N' || e.AdmissionType == 'N' || string(d.at(d.field(d.pv2, 36), 1)) == "Y" || d.infant()
	if order := d.at(d.field(d.pid, 25), 1); len(order) == 1 && order[0] >= '1' && order[0] <= '9' {
		e.Babies = order[0] - '0'
	}
	e.Reasons = d.reasons(d.field(d.pv2, 3))
}

// service reads the hospital service: a code, or in a few systems its name.
func (d *decoder) service(field []byte) string {
	at := position{segment: "PV1", field: 10}
	code := d.id(d.at(field, 1), at)
	if len(code) > maxService {
		d.warn(warnCode, "PV1", 10)
		return ""
	}
	known := strings.ToUpper(d.keep(code))
	name, other := d.at(field, 2), d.at(field, 5)
	if blank(name) && blank(other) {
		return known
	}
	return adt.Service(known, string(d.id(name, at)), string(d.id(other, at)))
}

// reasons reduces the reason of the admission to its hints. Nothing keeps the text.
func (d *decoder) reasons(field []byte) acuity.Reasons {
	if blank(field) {
		return 0
	}
	var parts [5][]byte
	d.split(field, parts[:])
	text := d.scratch[:0]
	for _, b := range [...][]byte{parts[0], parts[1], parts[3], parts[4]} {
		switch {
		case !d.plain(b):
			text = append(text, d.text(b)...)
		case !isNull(b):
			text = append(text, b...)
		}
		text = append(text, ' ')
	}
	d.scratch = text
	return adt.ParseReasons(text)
}

// initial reads a one-letter value of a table.
func (d *decoder) initial(field []byte, n int) byte {
	b := d.oneLine(d.at(field, 1))
	switch {
	case blank(b):
		return 0
	case len(b) == 1 && letter(b[0]):
		return b[0] &^ 0x20
	case spelledOut(b):
		return b[0] &^ 0x20
	default:
		d.warn(warnCode, "PV1", n)
		return 0
	}
}

// spelledOut reports whether b is the name of a value in tables 0004 (class) and 0007
// (type of admission). Some systems send the name; its first letter is the value.
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

// infant reports whether the patient is young enough for a newborn. Nothing keeps the
// birth date.
func (d *decoder) infant() bool {
	born, ok := d.parse(d.oneLine(d.at(d.field(d.pid, 7), 1)))
	if !ok || born.precision > acuity.Day {
		return false
	}
	age := d.event.At.Sub(born.at)
	return age > -24*time.Hour && age < newbornDays*24*time.Hour
}
