package hl7

import (
	"bytes"

	"svc/acuity"
	"svc/acuity/codes"
)

// readDiagnoses reads the DG1 segments and skips those without a code. If any segment with a code has an action in
// DG1-21, the diagnoses are changes; otherwise they replace the known diagnoses. If no segment has a code and DG1-3
// is explicitly empty in one of them, the known diagnoses are removed. The DG1 segments of transfers, discharges and
// cancellations are ignored with a warning.
func (d *decoder) readDiagnoses() {
	if len(d.dg1) == 0 {
		return
	}
	if t := d.event.Type; isCancel(t) || t == acuity.A02 || t == acuity.A03 {
		d.warn(warnUnused, "DG1", 0)
		return
	}
	d.event.Diagnoses = make([]acuity.Diagnosis, 0, len(d.dg1))
	cleared, delta := false, false
	for i, s := range d.dg1 {
		before := len(d.event.Diagnoses)
		action := d.at(d.field(s, 21), 1)
		deletes := d.codesOf(s, d.field(s, 3), i+1, isCode(action, "D"))
		if len(d.event.Diagnoses) == before {
			cleared = cleared || deletes
			continue
		}
		if isBlank(action) {
			continue
		}
		delta = true
		if !isCode(action, "A") && !isCode(action, "U") && !isCode(action, "D") {
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

// codesOf reads the codes of DG1-3. The standard does not allow repetitions, but each one is read as a diagnosis. The
// result reports whether a repetition deletes the code: its code is explicitly empty, and it has no other code and no
// text.
func (d *decoder) codesOf(s segment, field []byte, repeat int, gone bool) (deletes bool) {
	n, textOnly := 0, false
	for repetition := range bytes.SplitSeq(field, []byte{d.repetition}) {
		if n++; n > maxRepetitions {
			d.warnAt(warnUnused, position{"DG1", repeat, 3})
			break
		}
		var parts [9][]byte // two triplets of code, text and system, two versions and, from version 2.6 on, the original text
		d.split(repetition, parts[:])
		d.diagnosis(s, parts[:3], n == 1, repeat, gone)
		d.diagnosis(s, parts[3:6], false, repeat, gone)
		if !isBlank(parts[0]) || !isBlank(parts[3]) {
			continue
		}
		switch empty := isBlank(parts[1]) && isBlank(parts[4]) && isBlank(parts[8]); {
		case empty && isNull(trim(parts[0])):
			deletes = true
		case !empty || n == 1 && !isBlank(d.first(d.field(s, 4))):
			textOnly = true
		}
	}
	if textOnly {
		d.warnAt(warnCode, position{"DG1", repeat, 3})
	}
	return deletes
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
		name = d.id(d.at(d.field(s, 2), 1), position{"DG1", repeat, 2}) // DG1-2 is the older field for the code system
	}
	system, guessed := codes.NormalSystem(string(name), code)
	if guessed {
		d.warnAt(warnSystem, position{"DG1", repeat, 3})
	}
	onset, _ := d.time(d.field(s, 5), position{"DG1", repeat, 5})
	if onset.From.Sub(d.ReceivedAt) > maxSkew {
		d.warnAt(warnFuture, position{"DG1", repeat, 5})
	}
	d.event.Diagnoses = append(d.event.Diagnoses, acuity.Diagnosis{
		System: system, Code: code, Display: display, OnsetAt: onset.Resolve(d.ReceivedAt, d.moment), Delete: gone,
	})
}

// display returns a display name. It copies the name into the event only if the name contains nothing to mask,
// because a value that must be masked must not remain in memory.
func (d *decoder) display(b []byte) string {
	text := trim(b)
	if codes.IsDisplay(text) && bytes.IndexByte(text, d.escape) < 0 {
		if isNull(text) {
			return ""
		}
		return d.keep(text)
	}
	masked := codes.MaskDisplay(d.text(b))
	if masked == `""` { // a null sent with escapes
		return ""
	}
	return masked
}
