package hl7

import (
	"bytes"
	"time"

	"svc/acuity"
)

// stamp is a time as it was sent.
type stamp struct {
	at        acuity.Instant
	precision acuity.Precision
	zone      *time.Location // its own offset from UTC; nil: none
}

// near is how far from MSH-7 its offset still holds for a time without one.
// Beyond it daylight saving may have changed.
const near = 7 * 24 * time.Hour

// zones is how a time without an offset is read: with the offset of MSH-7 if it
// lies near it, else in the zone of the hospital. Never in UTC by accident.
type zones struct {
	hospital *time.Location
	header7  *time.Location // offset of MSH-7; nil: none
	sent     acuity.Instant // MSH-7
}

// parse reads YYYY[MM[DD[HH[MM[SS[.S…]]]]]][±ZZZZ]; ok is false for anything else.
func (z zones) parse(b []byte) (t stamp, ok bool) {
	b = bytes.TrimSpace(b)
	var offset *time.Location
	if i := bytes.LastIndexAny(b, "+-"); i >= 0 {
		if offset, ok = parseOffset(b[i:]); !ok {
			return stamp{}, false
		}
		b = b[:i]
	}
	var nanos int
	if i := bytes.IndexByte(b, '.'); i >= 0 {
		if i != 14 || len(b) == i+1 {
			return stamp{}, false
		}
		scale := int(100 * time.Millisecond)
		for _, c := range b[i+1:] {
			if !digit(c) {
				return stamp{}, false
			}
			nanos += int(c-'0') * scale
			scale /= 10
		}
		b = b[:i]
		t.precision = acuity.Millisecond
	} else {
		switch len(b) {
		case 4:
			t.precision = acuity.Year
		case 6:
			t.precision = acuity.Month
		case 8:
			t.precision = acuity.Day
		case 10:
			t.precision = acuity.Hour
		case 12:
			t.precision = acuity.Minute
		default:
			t.precision = acuity.Second
		}
	}
	w := Wall{Month: 1, Day: 1, Nanosecond: nanos}
	for i, field := range []*int{&w.Year, &w.Month, &w.Day, &w.Hour, &w.Minute, &w.Second} {
		from, to := 2+2*i, 4+2*i
		if i == 0 {
			from = 0
		}
		if len(b) < to {
			if len(b) != from {
				return stamp{}, false
			}
			break
		}
		if *field, ok = number(b[from:to]); !ok {
			return stamp{}, false
		}
	}
	if len(b) > 14 || len(b) < 4 || !w.Valid() {
		return stamp{}, false
	}
	if offset != nil {
		t.zone = offset
		t.at = w.In(offset)
		return t, true
	}
	if z.header7 != nil {
		if t.at = w.In(z.header7); t.at.Sub(z.sent).Abs() <= near {
			return t, true
		}
	}
	t.at = w.In(z.hospital)
	return t, true
}

// parseOffset reads ±HHMM.
func parseOffset(b []byte) (*time.Location, bool) {
	if len(b) != 5 {
		return nil, false
	}
	hours, ok := number(b[1:3])
	minutes, ok2 := number(b[3:5])
	if !ok || !ok2 || hours > 14 || minutes > 59 {
		return nil, false
	}
	seconds := hours*3600 + minutes*60
	if b[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), true
}

func number(b []byte) (n int, ok bool) {
	for _, c := range b {
		if !digit(c) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// Wall is a date and time of day as a clock on the wall shows it.
type Wall struct{ Year, Month, Day, Hour, Minute, Second, Nanosecond int }

// Valid reports whether there is such a date and time, from 1900 to 2199.
func (w Wall) Valid() bool {
	if w.Year < 1900 || w.Year > 2199 || w.Month < 1 || w.Month > 12 || w.Day < 1 ||
		w.Hour > 23 || w.Minute > 59 || w.Second > 59 {
		return false
	}
	return w.Day <= time.Date(w.Year, time.Month(w.Month+1), 0, 0, 0, 0, 0, time.UTC).Day()
}

// In returns the instant at which a clock in the zone shows w. An hour that
// comes twice is its first; one that is skipped is shifted forward.
func (w Wall) In(zone *time.Location) acuity.Instant {
	utc := time.Date(w.Year, time.Month(w.Month), w.Day, w.Hour, w.Minute, w.Second, w.Nanosecond, time.UTC)
	before := offsetAt(utc.Add(-24*time.Hour), zone)
	after := offsetAt(utc.Add(24*time.Hour), zone)
	t := utc.Add(-before)
	if before != after && offsetAt(t, zone) != before {
		// Not before the change. After it, unless the hour is skipped: then
		// the old offset gives the time shifted forward.
		if late := utc.Add(-after); offsetAt(late, zone) == after {
			t = late
		}
	}
	return acuity.At(t)
}

func offsetAt(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
