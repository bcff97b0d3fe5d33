package codes

import "time"

// FormatClock formats the hour and minute of an instant in a zone. In an hour that occurs twice, because clocks are set
// back, the abbreviation of the zone follows.
func (i Instant) FormatClock(zone *time.Location) string {
	t := i.Time().In(zone)
	if occursTwice(t) {
		return t.Format("15:04 MST")
	}
	return t.Format("15:04")
}

// occursTwice reports whether clocks in the zone of t show the same date and time at another instant.
func occursTwice(t time.Time) bool {
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		if t.Sub(start) < time.Duration(before-offset)*time.Second {
			return true
		}
	}
	if end.IsZero() {
		return false
	}
	_, after := end.Zone()
	return end.Sub(t) <= time.Duration(offset-after)*time.Second
}
