package hl7

import (
	"strconv"

	"svc/acuity"
)

// diagnoses reads the DG1 segments. One without a code does not count. Transfers,
// discharges and cancels change no diagnosis.
func (d *decoder) diagnoses() {
	if t := d.event.Type; isCancel(t) || t == acuity.A02 || t == acuity.A03 {
		return
	}
	cleared, delta := false, false
	for i, s := range d.dg1 {
		path := "DG1[" + strconv.Itoa(i+1) + "]"
		code := d.field(s, 3)
		if isNull(code) {
			cleared = true
			continue
		}
		before := len(d.event.Diagnoses)
		action := string(d.at(d.field(s, 21), 1))
		for _, triplet := range []int{1, 4} {
			d.diagnosis(s, triplet, path, action == "D")
		}
		if len(d.event.Diagnoses) == before || blank([]byte(action)) {
			continue
		}
		delta = true
		if action != "A" && action != "U" && action != "D" {
			d.warn("action_unknown", path+"-21")
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
}

// diagnosis reads one of the two triplets (code, text, system) of DG1-3.
func (d *decoder) diagnosis(s segment, triplet int, path string, gone bool) {
	field := d.field(s, 3)
	code := d.id(d.at(field, triplet), path+"-3")
	if code == "" {
		return
	}
	if len(code) > maxCode {
		d.warn("code_unreadable", path+"-3")
		return
	}
	display := d.text(d.at(field, triplet+1))
	if display == "" && triplet == 1 {
		display = d.text(d.first(d.field(s, 4)))
	}
	name := d.id(d.at(field, triplet+2), path+"-3")
	if name == "" && triplet == 1 {
		name = d.id(d.at(d.field(s, 2), 1), path+"-2") // the coding method of old; I9 is no system we know
	}
	system, guessed := acuity.NormalSystem(name, code)
	if guessed {
		d.warn("system_assumed", path+"-3")
	}
	onset, _ := d.time(d.field(s, 5), path+"-5")
	d.event.Diagnoses = append(d.event.Diagnoses, acuity.Diagnosis{
		System: system, Code: code, Display: acuity.MaskDisplay(display), OnsetAt: onset.at, Delete: gone,
	})
}
