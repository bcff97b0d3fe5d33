package hl7

import (
	"bytes"
)

// subjects finds the visit and the patient, and for a newborn those of the mother.
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
