package hl7

import (
	"time"

	"svc/acuity"
)

// stamp is a time as it was sent.
type stamp struct {
	at        acuity.Instant
	precision acuity.Precision
	offset    offset // its own
}

// offset is a distance from UTC, if there is one.
type offset struct {
	known   bool
	seconds int32
}

// week is how far from MSH-7 its offset still holds for a time without one.
// Beyond it daylight saving may have changed.
const week = 7 * 24 * time.Hour

// zones is how a time without an offset is read: with the offset of MSH-7 if it
// lies near it, else in the zone of the hospital. Never in UTC by accident.
type zones struct {
	hospital *time.Location
	own      offset         // of MSH-7
	near     acuity.Instant // MSH-7
	season   *season
}

// parse reads YYYY[MM[DD[HH[MM[SS[.S…]]]]]][±ZZZZ]; ok is false for anything else.
func (z *zones) parse(b []byte) (t stamp, ok bool) {
	b = trim(b)
	n := 0
	for n < len(b) && digit(b[n]) {
		n++
	}
	switch n {
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
	case 14:
		t.precision = acuity.Second
	default:
		return stamp{}, false
	}
	w := Wall{Month: 1, Day: 1}
	w.Year = two(b)*100 + two(b[2:])
	for i, field := range []*int{&w.Month, &w.Day, &w.Hour, &w.Minute, &w.Second} {
		if n < 6+2*i {
			break
		}
		*field = two(b[4+2*i:])
	}
	rest := b[n:]
	if len(rest) > 0 && rest[0] == '.' {
		digits := 1
		scale := int(100 * time.Millisecond)
		for ; digits < len(rest) && digit(rest[digits]); digits++ {
			w.Nanosecond += int(rest[digits]-'0') * scale
			scale /= 10
		}
		if n != 14 || digits == 1 {
			return stamp{}, false
		}
		t.precision = acuity.Millisecond
		rest = rest[digits:]
	}
	if len(rest) > 0 {
		if t.offset, ok = parseOffset(rest); !ok {
			return stamp{}, false
		}
	}
	if !w.Valid() {
		return stamp{}, false
	}
	t.at = z.instant(w, t.offset)
	return t, true
}

func (z *zones) instant(w Wall, sent offset) acuity.Instant {
	utc := w.utc()
	if sent.known {
		return utc - acuity.Instant(sent.seconds)*1000
	}
	if z.own.known {
		if at := utc - acuity.Instant(z.own.seconds)*1000; at.Sub(z.near).Abs() <= week {
			return at
		}
	}
	if z.season == nil {
		return w.In(z.hospital)
	}
	return z.season.instant(w, utc, z.hospital)
}

// parseOffset reads ±HHMM.
func parseOffset(b []byte) (offset, bool) {
	if len(b) != 5 || b[0] != '+' && b[0] != '-' {
		return offset{}, false
	}
	for _, c := range b[1:] {
		if !digit(c) {
			return offset{}, false
		}
	}
	hours, minutes := two(b[1:]), two(b[3:])
	if hours > 14 || minutes > 59 {
		return offset{}, false
	}
	seconds := int32(hours*3600 + minutes*60) //nolint:gosec // below 15 hours
	if b[0] == '-' {
		seconds = -seconds
	}
	return offset{true, seconds}, true
}

// two returns the number that the first two digits of b are.
func two(b []byte) int { return int(b[0]-'0')*10 + int(b[1]-'0') }

// Wall is a date and time of day as a clock on the wall shows it.
type Wall struct{ Year, Month, Day, Hour, Minute, Second, Nanosecond int }

// Valid reports whether there is such a date and time, from 1900 to 2199.
func (w Wall) Valid() bool {
	if w.Year < 1900 || w.Year > 2199 || w.Month < 1 || w.Month > 12 || w.Day < 1 ||
		w.Hour > 23 || w.Minute > 59 || w.Second > 59 {
		return false
	}
	days := int(daysOf[w.Month])
	if w.Month == 2 && w.Year%4 == 0 && (w.Year%100 != 0 || w.Year%400 == 0) {
		days++
	}
	return w.Day <= days
}

var daysOf = [13]int8{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// utc returns the instant at which a clock in UTC shows w.
func (w Wall) utc() acuity.Instant {
	// Days since 1970-01-01 of the Gregorian calendar, counted in years that
	// begin in March (Hinnant, chrono-compatible low-level date algorithms).
	year, month := w.Year, w.Month-3
	if month < 0 {
		year, month = year-1, month+12
	}
	era := year / 400
	ofEra := year - era*400
	day := (153*month+2)/5 + w.Day - 1
	days := era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + day - 719468
	return acuity.Instant(days)*24*3600*1000 +
		acuity.Instant((w.Hour*3600+w.Minute*60+w.Second)*1000+w.Nanosecond/int(time.Millisecond))
}

// In returns the instant at which a clock in the zone shows w. An hour that
// comes twice is its first; one that is skipped is shifted forward.
func (w Wall) In(zone *time.Location) acuity.Instant {
	utc := time.UnixMilli(int64(w.utc()))
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

// season is a stretch of time in which a zone keeps one offset, and nothing of
// it lies within two days of a change: messages come from the same season for
// months, and asking the zone costs more than all else that is read of a time.
type season struct {
	zone     *time.Location
	from, to acuity.Instant // of the clock on the wall, as if it were UTC
	offset   acuity.Instant
}

func (s *season) instant(w Wall, utc acuity.Instant, zone *time.Location) acuity.Instant {
	if s.zone != zone || utc < s.from || utc >= s.to {
		at := w.In(zone)
		start, end := at.Time().In(zone).ZoneBounds()
		const margin = 2 * 24 * time.Hour
		s.zone, s.offset = zone, utc-at
		s.from, s.to = firstInstant, lastInstant
		if !start.IsZero() {
			s.from = acuity.At(start.Add(margin))
		}
		if !end.IsZero() {
			s.to = acuity.At(end.Add(-margin))
		}
		return at
	}
	return utc - s.offset
}

// The bounds of what [Wall.Valid] lets pass, with room to spare.
const (
	firstInstant = acuity.Instant(-100 * 366 * 24 * 3600 * 1000)
	lastInstant  = acuity.Instant(300 * 366 * 24 * 3600 * 1000)
)
