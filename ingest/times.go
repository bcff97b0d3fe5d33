package ingest

import (
	"strings"
	"time"

	"svc/acuity"
	"svc/ingest/hl7"
)

// maxSkew is how far ahead a time may lie without a warning: bedside clocks run
// ahead of ours.
const maxSkew = 5 * time.Minute

// moment is a time as the sender gave it.
type moment struct {
	at        acuity.Instant
	precision acuity.Precision
}

// time reads a date-time (RFC 3339). The offset may be missing, and so may the seconds or
// the whole time of day. A time in the future adds a warning.
func (o object) time(name string) moment {
	m := o.plan(name)
	if m.at != 0 && m.at.Sub(o.now) > maxSkew {
		o.warn("time_in_future", o.at(name))
	}
	return m
}

// plan reads a date-time like time, but does not warn of the future.
func (o object) plan(name string) moment {
	raw, ok := o.find(name)
	if !ok {
		return moment{}
	}
	if raw[0] != '"' {
		o.fault(o.at(name), "type:string")
		return moment{}
	}
	m, ok := parseTime(string(unquote(raw)), o.zone)
	if !ok {
		o.fault(o.at(name), "date-time")
	}
	return m
}

// parseTime reads YYYY-MM-DD[THH:MM[:SS[.frac]][offset]]. A time without an offset is in
// zone.
func parseTime(s string, zone *time.Location) (m moment, ok bool) {
	date, clock, hasClock := strings.Cut(strings.TrimSpace(s), "T")
	if !hasClock {
		if date, clock, hasClock = strings.Cut(date, " "); !hasClock {
			date, clock, hasClock = strings.Cut(date, "t")
		}
	}
	var w hl7.Wall
	if w.Year, w.Month, w.Day, ok = parseDate(date); !ok {
		return moment{}, false
	}
	m.precision = acuity.Day
	if hasClock {
		var offset string
		if clock, offset = cutOffset(clock); offset != "" {
			if zone, ok = parseOffset(offset); !ok {
				return moment{}, false
			}
		}
		if m.precision, ok = parseClock(clock, &w); !ok {
			return moment{}, false
		}
	}
	if !w.Valid() {
		return moment{}, false
	}
	if m.at = w.In(zone); !w.MayBe(m.at) {
		return moment{}, false
	}
	return m, true
}

func parseDate(s string) (year, month, day int, ok bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, 0, 0, false
	}
	year, ok1 := digits(s[:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:])
	return year, month, day, ok1 && ok2 && ok3
}

func parseClock(s string, w *hl7.Wall) (acuity.Precision, bool) {
	if len(s) < 5 || s[2] != ':' {
		return 0, false
	}
	var ok1, ok2 bool
	w.Hour, ok1 = digits(s[:2])
	w.Minute, ok2 = digits(s[3:5])
	switch rest := s[5:]; {
	case !ok1 || !ok2:
		return 0, false
	case rest == "":
		return acuity.Minute, true
	case len(rest) < 3 || rest[0] != ':':
		return 0, false
	default:
		var ok bool
		if w.Second, ok = digits(rest[1:3]); !ok {
			return 0, false
		}
		if rest = rest[3:]; rest == "" {
			return acuity.Second, true
		}
		if len(rest) < 2 || rest[0] != '.' && rest[0] != ',' {
			return 0, false
		}
		scale := int(100 * time.Millisecond)
		for _, c := range rest[1:] {
			if c < '0' || c > '9' {
				return 0, false
			}
			w.Nanosecond += int(c-'0') * scale
			scale /= 10
		}
		return acuity.Millisecond, true
	}
}

// cutOffset splits a time of day from Z, ±HH:MM, ±HHMM or ±HH.
func cutOffset(s string) (clock, offset string) {
	if i := strings.IndexAny(s, "Zz+-"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func parseOffset(s string) (*time.Location, bool) {
	if s == "Z" || s == "z" {
		return time.UTC, true
	}
	text := s[1:]
	if len(text) == 5 && text[2] == ':' {
		text = text[:2] + text[3:]
	}
	if len(text) == 2 {
		text += "00"
	}
	if len(text) != 4 {
		return nil, false
	}
	hours, ok1 := digits(text[:2])
	minutes, ok2 := digits(text[2:])
	if !ok1 || !ok2 || hours > 14 || minutes > 59 {
		return nil, false
	}
	seconds := hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), true
}

func digits(s string) (n int, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
