package hl7_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/ingest/hl7"
)

// encode returns a message with only the facts of an event. It reverses the decoder, using independent rules. A fact
// without a field of its own, such as a hint, is written as a value from which the decoder derives the same fact.
func encode(e *acuity.Event) []byte {
	var s segment
	s.set(9, "ADT", eventNames[e.Type])
	if e.Type == acuity.EventOther {
		s.set(9, "ADT", "A99")
	}
	s.set(10, "1")
	s.set(11, "P")
	s.set(12, "2.5.1")
	s.set(18, "UNICODE UTF-8")
	s.fields[2] = `^~\&`
	lines := []string{"MSH|" + strings.Join(s.fields[2:19], "|")}

	s = segment{}
	at, event := e.At, e.Precision
	if e.AtFrom != 0 {
		event = acuity.Millisecond // written as the resolved instant, without the interval of a coarse time
	}
	switch {
	case isCancel(e.Type):
		s.set(6, stamp(e.Cancels, e.CancelsPrecision))
	case e.RecordedAt != at:
		s.set(6, stamp(at, event))
		at, event = e.RecordedAt, acuity.Millisecond
	}
	s.set(2, stamp(at, event))
	lines = append(lines, "EVN"+s.text())

	s = segment{}
	s.set(3, name(e.Patient))
	s.set(18, name(e.Account))
	s.set(21, name(e.MotherPatient))
	if e.MotherPatient == `""` {
		s.set(21, `""`)
	}
	if e.AdmissionType == '+' {
		s.set(7, "19700101")
	}
	if e.Babies > 0 {
		s.set(25, fmt.Sprint(e.Babies))
	}
	lines = append(lines, "PID"+s.text())

	s = segment{}
	s.set(2, letter(e.Class))
	s.set(3, e.Place.PointOfCare, e.Place.Room, e.Place.Bed, e.Place.Facility)
	if e.PlaceNull {
		s.fields[3] = `""`
	}
	if e.AdmissionType != '+' {
		s.set(4, letter(e.AdmissionType))
	}
	s.set(6, e.Prior.PointOfCare, e.Prior.Room, e.Prior.Bed, e.Prior.Facility)
	s.set(10, e.Service)
	if strings.HasPrefix(e.Visit, "visit(") && e.Visit != e.Account {
		s.set(19, name(e.Visit))
	}
	lines = append(lines, "PV1"+s.text())

	s = segment{}
	var reasons []string
	for _, code := range adt.ReasonCodes(e.Reasons) {
		reasons = append(reasons, reasonWords[code])
	}
	s.set(3, "", strings.Join(reasons, ". "))
	if e.Newborn {
		s.set(36, "Y")
	}
	lines = append(lines, "PV2"+s.text())

	for _, d := range e.Diagnoses {
		s = segment{}
		s.set(3, d.Code, d.Display, string(d.System))
		s.set(5, stamp(d.OnsetAt, acuity.Millisecond))
		if e.DiagnosisMode == acuity.DiagnosisDelta {
			s.set(21, map[bool]string{false: "A", true: "D"}[d.Delete])
		}
		lines = append(lines, "DG1"+s.text())
	}
	if e.DiagnosisMode == acuity.DiagnosisClear {
		lines = append(lines, `DG1|||""`)
	}
	return []byte(strings.Join(lines, "\r"))
}

// reasonWords maps each hint to a reason that gives only that hint.
var reasonWords = map[string]string{
	"medical-complaint": "fever", "rupture": "leaking", "fetal-test": "NST", "admit-order": "admit order", "ripening": "ripening",
	"induction": "induction", "cesarean": "cesarean", "labor-complication": "abruption", "early-labor": "early labor",
	"epidural": "epidural", "auscultation": "intermittent auscultation", "cerclage": "cerclage", "cerclage-removal": "cerclage removal",
	"curettage": "d and c", "exit-procedure": "exit procedure", "fetal-surgery": "fetal surgery", "fetal-transfusion": "fetal transfusion",
	"unstable": "unstable", "complication": "complication", "hold": "late discharge", "multisystem": "multisystem", "critical": "critical",
	"other": "contractions",
}

func isCancel(t acuity.EventType) bool { return t == acuity.A11 || t == acuity.A12 || t == acuity.A13 }

func letter(c byte) string {
	if c == 0 {
		return ""
	}
	return string(c)
}

// name returns the plain value in a pseudonym that the function reveal made.
func name(pseudonym string) string {
	_, value, _ := strings.Cut(pseudonym, "(")
	return strings.TrimSuffix(value, ")")
}

func stamp(at acuity.Instant, p acuity.Precision) string {
	if at == 0 {
		return ""
	}
	if p > acuity.Second { // a coarse time is written in a zone in which the instant is the start of a minute, hour or day
		layout := []string{acuity.Minute: "200601021504", acuity.Hour: "2006010215", acuity.Day: "20060102", acuity.Month: "200601", acuity.Year: "2006"}[p]
		for minutes := range 2 * 15 * 60 {
			zone := time.FixedZone("", (minutes-15*60+1)*60)
			text := at.Time().In(zone).Format(layout)
			if back, err := time.ParseInLocation(layout, text, zone); err == nil && acuity.At(back) == at {
				return text + at.Time().In(zone).Format("-0700")
			}
		}
	}
	if p == acuity.Second {
		return at.Time().Format("20060102150405-0700")
	}
	return at.Time().Format("20060102150405.000-0700")
}

type segment struct{ fields [40]string }

var escapes = strings.NewReplacer("|", `\F\`, "^", `\S\`, "~", `\R\`, `\`, `\E\`, "&", `\T\`)

func (s *segment) set(n int, components ...string) {
	for i, c := range components {
		components[i] = escapes.Replace(c)
	}
	s.fields[n] = strings.TrimRight(strings.Join(components, "^"), "^")
}

func (s *segment) text() string {
	return "|" + strings.TrimRight(strings.Join(s.fields[1:], "|"), "|")
}

// said returns the part of an event that a message from encode can express. It omits the identity, and the warnings
// about the form of the original message.
func said(e acuity.Event) acuity.Event {
	e.ID, e.Digest, e.Warnings = "", "", nil
	if e.AtFrom != 0 {
		e.AtFrom, e.AtTo, e.Precision = 0, 0, acuity.Millisecond // encode writes only the instant
	}
	e.CancelsTo = 0 // encode writes a fixed offset, so the decoder cannot find the end of a day with 23 or 25 hours
	if isCancel(e.Type) && e.RecordedAt == 0 {
		e.RecordedAt = e.At
	}
	if e.RecordedAt == 0 {
		e.RecordedAt = e.At
	}
	if e.Cancels == 0 {
		e.CancelsPrecision = 0
	}
	return e
}

// again encodes the facts of e, decodes the result, and fails if the facts differ.
func again(t rapid.TB, e acuity.Event) {
	t.Helper()
	message := encode(&e)
	var m hl7.Message
	if err := m.Scan(message, hl7.Charset{}); err != nil {
		t.Fatalf("%q: %v", message, err)
	}
	back, fault := m.Facts(options)
	if fault != nil {
		t.Fatalf("%q: %+v", message, fault)
	}
	want, got := said(e), said(back)
	if !slices.Equal(got.Diagnoses, want.Diagnoses) {
		t.Fatalf("diagnoses\n%+v of\n%q\nwant\n%+v", got.Diagnoses, message, want.Diagnoses)
	}
	got.Diagnoses, want.Diagnoses = nil, nil
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Fatalf("got\n%s\nof %q\nwant\n%s", g, message, w)
	}
}
