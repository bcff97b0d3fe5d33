// Package codes reduces what a clinical statement was sent with to a form that rules
// compare: its code, its value, its instants.
//
//   - A [System] gives a code its meaning; [NormalSystem] finds it by any of its names.
//   - [Patterns] are what a code of the catalogue or of a hospital's map stands for, and
//     [Tables] find the entries of a code.
//   - A [Value] is a number with a unit of a closed list, or words of a closed vocabulary.
//     Everything else of its text is dropped, because it could be about a person.
//   - An [Instant] is a time to the millisecond, as the wire has it.
package codes

import "time"

// Instant is a moment in milliseconds since the Unix epoch, UTC. The zero value means
// "not given" or "never". The wire carries milliseconds too, so a restored fact equals
// the fact that was written.
type Instant int64

// At returns the instant of t, cut to the millisecond; the zero time is 0.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time returns the instant as a time in UTC; 0 is the zero time.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(i)).UTC()
}

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Sub returns the time from other to i.
func (i Instant) Sub(other Instant) time.Duration {
	return time.Duration(i-other) * time.Millisecond
}

// Hour returns the full hours since the Unix epoch.
func (i Instant) Hour() int32 { return int32(i / hour) } //nolint:gosec // hours since 1970 fit

// Soonest returns the earlier of two instants; 0 means never.
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
