package httpapi

import "time"

// ParseTime reads a time as administrators write it: RFC 3339, or without an offset,
// without seconds or a day alone, which are in the zone of the hospital.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC().Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}
