package hl7

import (
	"bytes"
	"time"

	"svc/acuity"
)

// stamp is a time as the sender wrote it.
type stamp struct {
	acuity.Moment
	offset offset // offset that was sent with this time
}

// offset is a difference from UTC; it may be missing.
type offset struct {
	known   bool
	seconds int32
}

// week is the maximum distance from MSH-7 within which a time without an offset gets the offset of MSH-7. Over a
// longer distance, the clocks may have changed in between.
const week = 7 * 24 * time.Hour

// zones determines the zone of a time without an offset: the offset of MSH-7 if MSH-7 is near that time, or the
// hospital's time zone if not. It never falls back to UTC. If the hospital's zone had the offset of MSH-7 at the
// instant of MSH-7, the sender is assumed to be in the hospital's zone, and the rules of that zone apply even if the
// clocks change in between.
type zones struct {
	hospital *time.Location
	own      offset         // offset of MSH-7
	near     acuity.Instant // instant of MSH-7
}

// isLocal reports whether the hospital's zone had the offset of MSH-7 at the instant of MSH-7.
func (z *zones) isLocal() bool { return offsetAt(z.near.Time(), z.hospital) == z.own.duration() }

func (o offset) duration() time.Duration { return time.Duration(o.seconds) * time.Second }

// parse reads YYYY[MM[DD[HH[MM[SS[.S…]]]]]][±ZZZZ]; ok is false for any other text.
func (z *zones) parse(b []byte) (t stamp, ok bool) {
	b = trim(b)
	var pairs [7]int // century, year, month, day, hour, minute, second
	n := 0
	for ; n < len(pairs) && 2*n+1 < len(b); n++ {
		tens, ones := b[2*n]-'0', b[2*n+1]-'0'
		if tens > 9 || ones > 9 {
			break
		}
		pairs[n] = int(tens)*10 + int(ones)
	}
	w := Wall{pairs[0]*100 + pairs[1], pairs[2], pairs[3], pairs[4], pairs[5], pairs[6], 0}
	switch n {
	case 2:
		t.Precision = acuity.Year
		w.Month, w.Day = 1, 1
	case 3:
		t.Precision = acuity.Month
		w.Day = 1
	case 4:
		t.Precision = acuity.Day
	case 5:
		t.Precision = acuity.Hour
	case 6:
		t.Precision = acuity.Minute
	case 7:
		t.Precision = acuity.Second
	default:
		return stamp{}, false
	}
	rest := b[2*n:]
	if len(rest) > 0 && rest[0] == '.' {
		if rest, ok = w.fraction(rest[1:]); !ok || n != len(pairs) {
			return stamp{}, false
		}
		t.Precision = acuity.Millisecond
	}
	if len(rest) > 0 {
		if t.offset, ok = parseOffset(rest); !ok {
			return stamp{}, false
		}
	}
	if !w.IsValid() {
		return stamp{}, false
	}
	read := func(w Wall) acuity.Instant { return z.instant(w, t.offset) }
	t.From = read(w)
	if !w.IsPossible(t.From) {
		return stamp{}, false
	}
	t.To = w.endOf(t.Precision, read)
	return t, true
}

// instant returns the instant at which a clock with the given offset shows w. If the offset is missing, the rules of
// [zones] apply.
func (z *zones) instant(w Wall, from offset) acuity.Instant {
	utc := w.utc()
	if from.known {
		return utc - acuity.Instant(from.seconds)*1000
	}
	if z.own.known {
		at := utc - acuity.Instant(z.own.seconds)*1000
		if at.Sub(z.near).Abs() <= week && (offsetAt(at.Time(), z.hospital) == z.own.duration() || !z.isLocal()) {
			return at
		}
	}
	return w.In(z.hospital)
}

// everyReading returns a time as the interval between the first and the last instant at which the hospital's clock
// shows it. The two instants differ if the time lies in a repeated hour and was sent without an offset.
func (z *zones) everyReading(t stamp) acuity.Moment {
	m := t.Moment
	if t.offset.known || m.Precision >= acuity.Day || z.own.known && !z.isLocal() {
		return m
	}
	for _, days := range [...]int{-1, 1} {
		at := m.From.Time()
		other := at.Add(offsetAt(at, z.hospital) - offsetAt(at.AddDate(0, 0, days), z.hospital))
		if offsetAt(other, z.hospital) == offsetAt(at, z.hospital) {
			continue // at this instant, the hospital's clock shows a different time
		}
		length := m.Precision.Length()
		m.From, m.To = min(m.From, acuity.At(other)), max(m.From, acuity.At(other)).Add(length)
		break
	}
	return m
}

// parseOffset reads ±HHMM.
func parseOffset(b []byte) (offset, bool) {
	if len(b) != 5 || b[0] != '+' && b[0] != '-' {
		return offset{}, false
	}
	hours, ok1 := parseTwo(b[1:])
	minutes, ok2 := parseTwo(b[3:])
	if !ok1 || !ok2 || hours > 14 || minutes > 59 {
		return offset{}, false
	}
	seconds := int32(hours*3600 + minutes*60) //nolint:gosec // below 15 hours
	if b[0] == '-' {
		seconds = -seconds
	}
	return offset{true, seconds}, true
}

// parseTwo returns the number in the first two characters of b. ok is false if they are not digits.
func parseTwo(b []byte) (n int, ok bool) {
	tens, ones := b[0]-'0', b[1]-'0'
	return int(tens)*10 + int(ones), tens <= 9 && ones <= 9
}

// ParseISO reads YYYY[-MM[-DD[Thh:mm[:ss[.s…]][offset]]]], where the offset is Z or ±hh:mm. A time without an offset
// is in the given zone. If lax is true, a comma may replace the decimal point, and offsets may be ±hhmm or ±hh.
func ParseISO(b []byte, zone *time.Location, lax bool) (m acuity.Moment, ok bool) {
	b = bytes.TrimSpace(b)
	w := Wall{Month: 1, Day: 1}
	if len(b) < 4 || !parseNumber(b[:4], &w.Year) {
		return acuity.Moment{}, false
	}
	m.Precision, b = acuity.Year, b[4:]
	if len(b) >= 3 && b[0] == '-' {
		if !parseNumber(b[1:3], &w.Month) {
			return acuity.Moment{}, false
		}
		m.Precision, b = acuity.Month, b[3:]
		if len(b) >= 3 && b[0] == '-' {
			if !parseNumber(b[1:3], &w.Day) {
				return acuity.Moment{}, false
			}
			m.Precision, b = acuity.Day, b[3:]
		}
	}
	var fromUTC offset
	if len(b) > 0 && m.Precision == acuity.Day && (b[0]|0x20 == 't' || b[0] == ' ') {
		if b, m.Precision, ok = w.clock(b[1:], lax); !ok {
			return acuity.Moment{}, false
		}
		if len(b) > 0 {
			if fromUTC, ok = isoOffset(b, lax); !ok {
				return acuity.Moment{}, false
			}
			b = nil
		}
	}
	if len(b) > 0 || !w.IsValid() {
		return acuity.Moment{}, false
	}
	of := zones{hospital: zone}
	read := func(w Wall) acuity.Instant { return of.instant(w, fromUTC) }
	m.From = read(w)
	if !w.IsPossible(m.From) {
		return acuity.Moment{}, false
	}
	m.To = w.endOf(m.Precision, read)
	return m, true
}

// isoOffset reads Z or ±hh:mm or, if lax is true, ±hhmm or ±hh.
func isoOffset(b []byte, lax bool) (offset, bool) {
	if len(b) == 1 && b[0]|0x20 == 'z' {
		return offset{known: true}, true
	}
	plain := [5]byte{3: '0', 4: '0'}
	switch {
	case len(b) == 6 && b[3] == ':':
		copy(plain[3:], b[4:])
	case lax && (len(b) == 3 || len(b) == 5):
		copy(plain[3:], b[3:])
	default:
		return offset{}, false
	}
	copy(plain[:3], b)
	return parseOffset(plain[:])
}

// parseNumber reads a number that consists only of digits.
func parseNumber(b []byte, n *int) bool {
	*n = 0
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
		*n = *n*10 + int(c-'0')
	}
	return true
}

// Wall is a date and time of day as a wall clock shows it.
type Wall struct{ Year, Month, Day, Hour, Minute, Second, Nanosecond int }

// clock reads hh:mm[:ss[.s…]] and returns the rest of b.
func (w *Wall) clock(b []byte, lax bool) (rest []byte, precision acuity.Precision, ok bool) {
	if len(b) < 5 || b[2] != ':' || !parseNumber(b[:2], &w.Hour) || !parseNumber(b[3:5], &w.Minute) {
		return nil, 0, false
	}
	if b = b[5:]; len(b) == 0 || b[0] != ':' {
		return b, acuity.Minute, true
	}
	if len(b) < 3 || !parseNumber(b[1:3], &w.Second) {
		return nil, 0, false
	}
	if b = b[3:]; len(b) == 0 || b[0] != '.' && (b[0] != ',' || !lax) {
		return b, acuity.Second, true
	}
	b, ok = w.fraction(b[1:])
	return b, acuity.Millisecond, ok
}

// fraction reads the digits of a fraction of a second and returns the rest of b. It returns false if there is none.
func (w *Wall) fraction(b []byte) (rest []byte, ok bool) {
	scale := int(100 * time.Millisecond)
	for rest = b; len(rest) > 0 && isDigit(rest[0]); rest = rest[1:] {
		w.Nanosecond += int(rest[0]-'0') * scale
		scale /= 10
	}
	return rest, len(rest) < len(b)
}

// IsValid reports whether the date and time exist and the year is from 1900 to 2199. It accepts second 60 in every
// minute; [Wall.IsPossible] checks whether a leap second is possible at an instant.
func (w Wall) IsValid() bool {
	if w.Year < 1900 || w.Year > 2199 || w.Month < 1 || w.Month > 12 || w.Day < 1 ||
		w.Hour > 23 || w.Minute > 59 || w.Second > leapSecond {
		return false
	}
	days := int(daysOf[w.Month])
	if w.Month == 2 && w.Year%4 == 0 && (w.Year%100 != 0 || w.Year%400 == 0) {
		days++
	}
	return w.Day <= days
}

// endOf returns the first instant after the interval of a coarse time, or 0 for an exact time. read converts a wall
// time to an instant. When the clocks change, a day has 23 or 25 hours, and a repeated hour lasts up to 2 hours. For
// a skipped hour, the interval is the hour after the change.
func (w Wall) endOf(p acuity.Precision, read func(Wall) acuity.Instant) acuity.Instant {
	switch p {
	case acuity.Minute:
		return read(w) + acuity.Instant(time.Minute/time.Millisecond)
	case acuity.Hour:
		from := read(w)
		w.Hour++
		if to := read(w); to > from {
			return to
		}
		return from + acuity.Instant(time.Hour/time.Millisecond)
	case acuity.Day:
		w.Day++
	case acuity.Month:
		w.Month++
	case acuity.Year:
		w.Year++
	case acuity.Second, acuity.Millisecond:
		return 0
	}
	return read(w) // time.Date normalizes the 32nd day of a month
}

// leapSecond is second 60, which only the last minute of a UTC day may have. An instant cannot represent it, so it
// becomes the first second of the next day.
const leapSecond = 60

// IsPossible reports whether a clock can show w at the given instant. Every wall time is possible, except that second
// 60 occurs only in the last minute of a UTC day.
func (w Wall) IsPossible(at acuity.Instant) bool {
	if w.Second < leapSecond {
		return true
	}
	t := at.Time().UTC()
	return t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0
}

var daysOf = [13]int8{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// utc returns the instant at which a clock in UTC shows w.
func (w Wall) utc() acuity.Instant {
	return acuity.At(time.Date(w.Year, time.Month(w.Month), w.Day, w.Hour, w.Minute, w.Second, w.Nanosecond, time.UTC))
}

// In returns the instant at which a clock in the zone shows w. In a repeated hour, it returns the first such instant.
// If an hour is skipped, the time is shifted forward.
func (w Wall) In(zone *time.Location) acuity.Instant {
	utc := time.UnixMilli(int64(w.utc()))
	before := offsetAt(utc.Add(-24*time.Hour), zone)
	after := offsetAt(utc.Add(24*time.Hour), zone)
	t := utc.Add(-before)
	if before != after && offsetAt(t, zone) != before {
		// The time is not before the clock change. It is after the change, unless the hour is skipped; then the old
		// offset shifts the time forward.
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
