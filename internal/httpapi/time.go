package httpapi

import "time"

// ParseTime reads a time in the forms that administrators write: RFC 3339, also without
// the offset, without the seconds, or only a day. A time without an offset is in zone.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC().Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}
