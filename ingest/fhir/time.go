package fhir

import (
	"bytes"
	"time"

	"svc/acuity"
	"svc/ingest/hl7"
)

// maxSkew is how far ahead a time may lie without a warning (clinical-decisions T2).
const maxSkew = 5 * time.Minute

// instant reads a date, dateTime or instant: YYYY[-MM[-DD[Thh:mm[:ss[.s…]][offset]]]]. A
// time without an offset is in the zone of the hospital.
func (d *document) instant(p span) (at acuity.Instant, precision acuity.Precision, ok bool) {
	if p.empty() {
		return 0, 0, false
	}
	b := bytes.TrimSpace(d.bytes(p))
	w := hl7.Wall{Month: 1, Day: 1}
	if len(b) < 4 || !number(b[:4], &w.Year) {
		return 0, 0, false
	}
	precision = acuity.Year
	b = b[4:]
	if len(b) >= 3 && b[0] == '-' {
		if !number(b[1:3], &w.Month) {
			return 0, 0, false
		}
		precision, b = acuity.Month, b[3:]
		if len(b) >= 3 && b[0] == '-' {
			if !number(b[1:3], &w.Day) {
				return 0, 0, false
			}
			precision, b = acuity.Day, b[3:]
		}
	}
	if len(b) > 0 && precision == acuity.Day && (b[0] == 'T' || b[0] == 't' || b[0] == ' ') {
		if precision, b, ok = clock(b[1:], &w); !ok {
			return 0, 0, false
		}
		if len(b) > 0 {
			offset, ok := offset(b)
			if !ok || !w.Valid() {
				return 0, 0, false
			}
			return fitting(w, w.In(time.UTC).Add(-offset), precision)
		}
	}
	if len(b) > 0 || !w.Valid() {
		return 0, 0, false
	}
	return fitting(w, w.In(d.Zone), precision)
}

// fitting returns the instant, unless w is an impossible leap second.
func fitting(w hl7.Wall, at acuity.Instant, precision acuity.Precision) (acuity.Instant, acuity.Precision, bool) {
	if !w.MayBe(at) {
		return 0, 0, false
	}
	return at, precision, true
}

// clock reads hh:mm[:ss[.s…]] and returns what follows it.
func clock(b []byte, w *hl7.Wall) (acuity.Precision, []byte, bool) {
	if len(b) < 5 || b[2] != ':' || !number(b[:2], &w.Hour) || !number(b[3:5], &w.Minute) {
		return 0, nil, false
	}
	if b = b[5:]; len(b) == 0 || b[0] != ':' {
		return acuity.Minute, b, true
	}
	if len(b) < 3 || !number(b[1:3], &w.Second) {
		return 0, nil, false
	}
	if b = b[3:]; len(b) == 0 || b[0] != '.' {
		return acuity.Second, b, true
	}
	from, scale := b[1:], int(100*time.Millisecond)
	for b = from; len(b) > 0 && b[0]-'0' <= 9; b = b[1:] {
		w.Nanosecond += int(b[0]-'0') * scale
		scale /= 10
	}
	return acuity.Millisecond, b, len(b) < len(from)
}

// offset reads Z or ±hh:mm.
func offset(b []byte) (time.Duration, bool) {
	if len(b) == 1 && b[0]|0x20 == 'z' {
		return 0, true
	}
	var hours, minutes int
	if len(b) != 6 || b[0] != '+' && b[0] != '-' || b[3] != ':' || !number(b[1:3], &hours) || !number(b[4:], &minutes) ||
		hours > 14 || minutes > 59 {
		return 0, false
	}
	d := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if b[0] == '-' {
		d = -d
	}
	return d, true
}

// number reads a number that has only digits.
func number(b []byte, n *int) bool {
	*n = 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
		*n = *n*10 + int(c-'0')
	}
	return true
}

// time reads a time of a resource. It warns of a time that is unreadable or in the
// future. field is its path.
func (m *mapper) time(r *resource, p span, field string) acuity.Instant {
	at, _ := m.moment(r, p, field)
	return at
}

func (m *mapper) moment(r *resource, p span, field string) (acuity.Instant, acuity.Precision) {
	if p.empty() {
		return 0, 0
	}
	at, precision, ok := m.instant(p)
	switch {
	case !ok:
		m.warn(r, "time_unreadable", field)
		return 0, 0
	case at.Sub(m.ReceivedAt) > maxSkew:
		m.warn(r, "time_in_future", field)
	}
	return at, precision
}
