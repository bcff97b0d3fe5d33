package hl7

import (
	"bytes"
)

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
