// Package codes reduces clinical codes, with their values, to a form that rules can compare.
//
//   - A [System] gives a code its meaning; [NormalSystem] resolves the names that senders use for code systems.
//   - [Patterns] parses the codes in the catalogue or in a hospital's map, and [Tables] finds the entries that match
//     a code.
//   - A [Value] is a number with a unit from a closed list, or words from a closed vocabulary. Other text is dropped
//     because it could identify a person.
//   - An [Instant] is a time in milliseconds.
package codes

import "time"

// Instant is a time in milliseconds since the Unix epoch, UTC. The zero value means "not given" or "never". Records
// also store milliseconds, so a decoded fact equals the fact that was encoded.
type Instant int64

// At returns t as an Instant, truncated to the millisecond. For the zero time, it returns 0.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time returns i as a time in UTC, or the zero time if i is 0.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(i)).UTC()
}

// Add returns i+d, truncated to the millisecond.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Sub returns i-other.
func (i Instant) Sub(other Instant) time.Duration {
	return time.Duration(i-other) * time.Millisecond
}

// Hour returns the number of whole hours since the Unix epoch.
func (i Instant) Hour() int32 { return int32(i / hour) } //nolint:gosec // hours since 1970 fit

// Soonest returns the earlier of two instants, where 0 means never.
func Soonest(a, b Instant) Instant {
	switch {
	case a == 0:
		return b
	case b == 0 || a < b:
		return a
	default:
		return b
	}
}

// hour is an hour in milliseconds.
const hour Instant = 3_600_000
