package simulate

import "time"

// clock is an instant in seconds since 1970 UTC, or a span in seconds.
type clock int64

const (
	second clock = 1
	minute       = 60 * second
	hour         = 60 * minute
	day          = 24 * hour
	week         = 7 * day
)

func at(t time.Time) clock { return clock(t.Unix()) }

func (c clock) time() time.Time { return time.Unix(int64(c), 0).UTC() }

// stamp writes instants.
type stamp struct {
	clock func(time.Time) time.Time
	day   clock  // day of the last written instant
	date  string // its text
}

// written returns the instant that is written for t.
func (s *stamp) written(t clock) time.Time {
	if s.clock == nil {
		return t.time()
	}
	return s.clock(t.time())
}

// append writes an instant as RFC 3339 in UTC, in quotes. It writes whole seconds, or
// milliseconds if the unit's time passes faster than real time.
func (s *stamp) append(b []byte, t clock) []byte {
	if s.clock != nil {
		return s.clock(t.time()).UTC().AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
	}
	if today := t - t%day; today != s.day || s.date == "" {
		s.day, s.date = today, today.time().Format(time.DateOnly)
	}
	b = append(b, '"')
	b = append(b, s.date...)
	rest := t % day
	b = append(b, 'T')
	b = two(b, rest/hour)
	b = append(b, ':')
	b = two(b, rest%hour/minute)
	b = append(b, ':')
	b = two(b, rest%minute)
	return append(b, 'Z', '"')
}

func two(b []byte, n clock) []byte {
	return append(b, "0123456789"[n/10], "0123456789"[n%10])
}
