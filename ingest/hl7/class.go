package hl7

import (
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
)

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
