package hl7

import (
	"bytes"

	"svc/acuity"
	"svc/acuity/codes"
)

// diagnoses reads the DG1 segments and skips those without a code. Transfers, discharges
// and cancels change no diagnosis.
func (d *decoder) diagnoses() {
	if t := d.event.Type; isCancel(t) || t == acuity.A02 || t == acuity.A03 {
		return
	}
	if len(d.dg1) == 0 {
		return
	}
	d.event.Diagnoses = make([]acuity.Diagnosis, 0, len(d.dg1))
	cleared, delta := false, false
	for i, s := range d.dg1 {
		field := d.field(s, 3)
		if isNull(field) {
			cleared = true
			continue
		}
		before := len(d.event.Diagnoses)
		action := d.at(d.field(s, 21), 1)
		var parts [6][]byte // two triplets of code, text and system
		d.split(field, parts[:])
		d.diagnosis(s, parts[:3], true, i+1, string(action) == "D")
		d.diagnosis(s, parts[3:], false, i+1, string(action) == "D")
		if len(d.event.Diagnoses) == before || blank(action) {
			continue
		}
		delta = true
		if a := string(action); a != "A" && a != "U" && a != "D" {
			d.warnAt(warnAction, position{"DG1", i + 1, 21})
		}
	}
	switch {
	case delta:
		d.event.DiagnosisMode = acuity.DiagnosisDelta
	case len(d.event.Diagnoses) > 0:
		d.event.DiagnosisMode = acuity.DiagnosisSnapshot
	case cleared:
		d.event.DiagnosisMode = acuity.DiagnosisClear
	}
	if len(d.event.Diagnoses) == 0 {
		d.event.Diagnoses = nil
	}
}

// diagnosis reads one of the two triplets (code, text, system) of DG1-3.
func (d *decoder) diagnosis(s segment, triplet [][]byte, first bool, repeat int, gone bool) {
	b := d.id(triplet[0], position{"DG1", repeat, 3})
	if len(b) == 0 {
		return
	}
	if len(b) > maxCode {
		d.warnAt(warnCode, position{"DG1", repeat, 3})
		return
	}
	code := d.keep(b)
	display := d.display(triplet[1])
	if display == "" && first {
		display = d.display(d.first(d.field(s, 4)))
	}
	name := d.id(triplet[2], position{"DG1", repeat, 3})
	if len(name) == 0 && first {
		name = d.id(d.at(d.field(s, 2), 1), position{"DG1", repeat, 2}) // the old field for the coding method; its I9 is no system we know
	}
	system, guessed := codes.NormalSystem(string(name), code)
	if guessed {
		d.warnAt(warnSystem, position{"DG1", repeat, 3})
	}
	onset, _ := d.time(d.field(s, 5), position{"DG1", repeat, 5})
	d.event.Diagnoses = append(d.event.Diagnoses, acuity.Diagnosis{
		System: system, Code: code, Display: display, OnsetAt: onset.at, Delete: gone,
	})
}

// display keeps a name for people. It copies only a name without anything to mask,
// because a value that must be masked may not stay in memory.
func (d *decoder) display(b []byte) string {
	text := trim(b)
	if codes.IsDisplay(text) && bytes.IndexByte(text, d.escape) < 0 {
		if isNull(text) {
			return ""
		}
		return d.keep(text)
	}
	masked := codes.MaskDisplay(d.text(b))
	if masked == `""` { // sent with escapes
		return ""
	}
	return masked
}
