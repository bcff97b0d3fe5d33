package adt

import (
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// CurrentDiagnosis is a diagnosis that currently applies, asserted by an unbroken run of statements.
type CurrentDiagnosis struct {
	acuity.Diagnosis
	Start acuity.Instant // onset in the first statement of the run; if missing, the statement's time (docs/decisions.md#diagnosis-since)
	Last  acuity.Instant // time of the newest statement
	Feed  acuity.Channel
}

// Is reports whether d and another diagnosis have the same code.
func (d *CurrentDiagnosis) Is(o *acuity.Diagnosis) bool { return sameDiagnosis(&d.Diagnosis, o) }

// applyDiagnoses applies the diagnoses in an event to the visit's diagnoses.
func (n *builder) applyDiagnoses(t *AppliedEvent) {
	e := t.Event
	switch e.DiagnosisMode {
	case acuity.DiagnosisNone:
		return
	case acuity.DiagnosisClear:
		n.Diagnoses = nil
	case acuity.DiagnosisSnapshot:
		n.replaceDiagnoses(t)
	case acuity.DiagnosisDelta:
		for i := range e.Diagnoses {
			n.applyDelta(t, &e.Diagnoses[i])
		}
	}
	n.Birth, n.Cesarean = 0, false
	for i := range n.Diagnoses {
		d := &n.Diagnoses[i]
		switch {
		case IsBirth(&d.Diagnosis):
			n.Birth = codes.Soonest(n.Birth, d.Start)
		case IsCesarean(&d.Diagnosis):
			n.Cesarean = true
		}
	}
}

// replaceDiagnoses replaces the diagnoses of the visit with those in an event. If both lists contain a diagnosis, its
// run continues.
func (n *builder) replaceDiagnoses(t *AppliedEvent) {
	e, kept := t.Event, n.Diagnoses[:0]
	for _, d := range n.Diagnoses {
		for i := range e.Diagnoses {
			if sameDiagnosis(&d.Diagnosis, &e.Diagnoses[i]) {
				d.Last = t.At
				kept = append(kept, d)
				break
			}
		}
	}
	n.Diagnoses = kept
	for i := range e.Diagnoses {
		if d := &e.Diagnoses[i]; d.Code != "" && n.diagnosisIndex(d) < 0 {
			n.startDiagnosis(t, d, len(e.Diagnoses))
		}
	}
}

// applyDelta adds, updates or deletes one diagnosis (docs/decisions.md#diagnosis-delta, #diagnosis-key).
func (n *builder) applyDelta(t *AppliedEvent, d *acuity.Diagnosis) {
	i := n.diagnosisIndex(d)
	switch {
	case d.Code == "":
	case d.Delete && i >= 0:
		n.Diagnoses = append(n.Diagnoses[:i], n.Diagnoses[i+1:]...)
	case d.Delete:
	case i >= 0:
		n.Diagnoses[i].Last = t.At
	default:
		n.startDiagnosis(t, d, 1)
	}
}

// startDiagnosis begins a run of statements that assert the diagnosis d. It ignores an onset after the receipt of the
// event. The argument room is the initial capacity of the list of diagnoses.
func (n *builder) startDiagnosis(t *AppliedEvent, d *acuity.Diagnosis, room int) {
	run := CurrentDiagnosis{Diagnosis: *d, Start: t.At, Last: t.At, Feed: t.Event.Feed}
	run.Delete = false
	if d.OnsetAt != 0 && (t.Event.ReceivedAt == 0 || d.OnsetAt <= t.Event.ReceivedAt) {
		run.Start = d.OnsetAt
	}
	if n.Diagnoses == nil {
		n.Diagnoses = make([]CurrentDiagnosis, 0, room)
	}
	n.Diagnoses = append(n.Diagnoses, run)
}

// diagnosisIndex returns the index of a diagnosis's run, or -1 if the diagnosis does not currently apply.
func (n *builder) diagnosisIndex(d *acuity.Diagnosis) int {
	for i := range n.Diagnoses {
		if sameDiagnosis(&n.Diagnoses[i].Diagnosis, d) {
			return i
		}
	}
	return -1
}

// sameDiagnosis reports whether two diagnoses have the same system and code and do not name different fetuses. Case
// is ignored. In ICD-10-CM codes and codes without a system, dots are ignored too.
func sameDiagnosis(a, b *acuity.Diagnosis) bool {
	if a.System != b.System {
		return false
	}
	if a.Code != b.Code && !equalCode(a.Code, b.Code, a.System == codes.ICD10CM || a.System == codes.SystemNone) {
		return false
	}
	return terminology.SameFetus(a, b)
}

// equalCode reports whether two codes are equal, ignoring case and, if dotless is true, dots.
func equalCode(a, b string, dotless bool) bool {
	i, j := 0, 0
	for {
		for dotless && i < len(a) && a[i] == '.' {
			i++
		}
		for dotless && j < len(b) && b[j] == '.' {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		x, y := a[i], b[j]
		if x != y && (x|0x20 != y|0x20 || !isLetter(rune(x))) {
			return false
		}
		i, j = i+1, j+1
	}
}

// IsBirth reports whether a diagnosis means that the birth has happened: Z37, outcome of delivery. O80 and O82 alone do
// not, because they are charted before the birth (docs/decisions.md#birth).
func IsBirth(d *acuity.Diagnosis) bool { return hasICD10(d, "Z37") }

// IsCesarean reports whether a diagnosis means a past or planned cesarean: O82, encounter for cesarean delivery
// without indication. O34.21, the scar from an earlier cesarean, does not count, because a trial of labor is possible
// (docs/decisions.md#delivered-first, #trial-of-labor).
func IsCesarean(d *acuity.Diagnosis) bool { return hasICD10(d, "O82") }

// DescribesDelivery reports whether a diagnosis describes the delivery: a birth or a cesarean. Such a diagnosis neither
// activates a factor nor needs a mapping.
func DescribesDelivery(d *acuity.Diagnosis) bool { return IsBirth(d) || IsCesarean(d) }

// hasICD10 reports whether a diagnosis belongs to an ICD-10-CM category, which is the first three characters of the
// code.
func hasICD10(d *acuity.Diagnosis, category string) bool {
	if d.System != codes.ICD10CM && d.System != codes.SystemNone {
		return false
	}
	return len(d.Code) >= len(category) && strings.EqualFold(d.Code[:len(category)], category)
}
