package hl7

import (
	"svc/acuity"
)

// diagnoses reads the DG1 segments. One without a code does not count. Transfers,
// discharges and cancels change no diagnosis.
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
		if isNull(d.field(s, 3)) {
			cleared = true
			continue
		}
		before := len(d.event.Diagnoses)
		action := d.at(d.field(s, 21), 1)
		for _, triplet := range [...]int{1, 4} {
			d.diagnosis(s, triplet, i+1, string(action) == "D")
		}
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
func (d *decoder) diagnosis(s segment, triplet, repeat int, gone bool) {
	field := d.field(s, 3)
	b := d.id(d.at(field, triplet), position{"DG1", repeat, 3})
	if len(b) == 0 {
		return
	}
	if len(b) > maxCode {
		d.warnAt(warnCode, position{"DG1", repeat, 3})
		return
	}
	code := d.keep(b)
	display := d.display(d.at(field, triplet+1))
	if display == "" && triplet == 1 {
		display = d.display(d.first(d.field(s, 4)))
	}
	name := d.id(d.at(field, triplet+2), position{"DG1", repeat, 3})
	if len(name) == 0 && triplet == 1 {
		name = d.id(d.at(d.field(s, 2), 1), position{"DG1", repeat, 2}) // the coding method of old; I9 is no system we know
	}
	system, guessed := acuity.NormalSystem(string(name), code)
	if guessed {
		d.warnAt(warnSystem, position{"DG1", repeat, 3})
	}
	onset, _ := d.time(d.field(s, 5), position{"DG1", repeat, 5})
	d.event.Diagnoses = append(d.event.Diagnoses, acuity.Diagnosis{
		System: system, Code: code, Display: display, OnsetAt: onset.at, Delete: gone,
	})
}

// display keeps a name for people. Only one with hardly a digit is kept before it
// is masked: what is masked must not stay in memory.
func (d *decoder) display(b []byte) string {
	if !d.plain(b) {
		return acuity.MaskDisplay(d.text(b))
	}
	digits := 0
	for _, c := range b {
		if digit(c) {
			digits++
		}
	}
	switch {
	case blank(b):
		return ""
	case digits > 4:
		return acuity.MaskDisplay(string(b))
	default:
		return acuity.MaskDisplay(d.keep(trim(b)))
	}
}
