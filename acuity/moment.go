package acuity

import "time"

// Length returns the maximum length of an interval with the precision p. It is used when the end of the interval is
// unknown.
func (p Precision) Length() time.Duration {
	return [...]time.Duration{
		Millisecond: time.Millisecond, Second: time.Second, Minute: time.Minute, Hour: time.Hour,
		Day: 24 * time.Hour, Month: 31 * 24 * time.Hour, Year: 366 * 24 * time.Hour,
	}[min(p, Year)]
}

// Moment is a time as the sender gave it. A time coarser than a second, such as a date, is an interval that covers all
// instants that the time may mean.
type Moment struct {
	From      Instant // 0: no time was given
	To        Instant // the first instant after the interval; unused if the moment is exact
	Precision Precision
}

// IsExact reports whether the moment is an instant, with a precision of a second or finer.
func (m Moment) IsExact() bool { return m.Precision <= Second }

// Keep returns the start of an ongoing state after a message has reported that start again. Its arguments are the
// start known so far, the start of the reported time's interval (0 if the reported time is exact), and the instant to
// which the reported time resolved.
//
// A repeated coarse time may resolve to a later instant than before. Keep therefore returns the known start if it is
// earlier than the new instant and lies in the interval of the reported time; otherwise, it returns the new instant.
func Keep(known, from, at Instant) Instant {
	if from != 0 && from <= known && known < at {
		return known
	}
	return at
}

// contains reports whether an instant lies in the interval.
func (m Moment) contains(at Instant) bool { return m.From <= at && at < m.To }

// Start returns the start of the interval, or 0 if the moment is exact.
func (m Moment) Start() Instant {
	if m.IsExact() {
		return 0
	}
	return m.From
}

// Resolve returns the instant that represents the moment. All feeds use Resolve, so that every feed orders a coarse
// time among other times in the same way:
//
//   - An exact moment is returned unchanged.
//   - An interval that begins after the receipt resolves to its start.
//   - An interval resolves to the first moment in beside that is more exact and lies within the interval.
//   - If beside has no such moment, an interval that contains the receipt resolves to the receipt.
//   - If beside has no such moment, an interval that ended before the receipt resolves to its last instant.
//
// The moments in beside are, for example, the time when the message was sent or the version was written. Because an
// ended interval resolves to its last instant, a coarse time never precedes an exact one within it. A coarse moment
// that has begun never resolves to an instant after the receipt.
func (m Moment) Resolve(receipt Instant, beside ...Moment) Instant {
	if m.From == 0 || m.IsExact() {
		return m.From
	}
	if m.From > receipt {
		return m.From
	}
	for i, b := range beside {
		if b.From == 0 || b.Precision >= m.Precision || !m.contains(b.From) {
			continue
		}
		return min(b.Resolve(receipt, beside[i+1:]...), receipt, m.To-1)
	}
	return min(receipt, m.To-1)
}

// SetTime sets the event time from a moment: both the time as it was sent and the instant that represents it.
func (e *Event) SetTime(m Moment, at Instant) {
	e.At, e.Precision, e.AtFrom, e.AtTo = at, m.Precision, m.Start(), 0
	if e.AtFrom != 0 {
		e.AtTo = m.To
	}
}

// AsSent returns the event time as it was sent or, for a coarse time, the start of its interval.
func (e *Event) AsSent() Instant {
	if e.AtFrom != 0 {
		return e.AtFrom
	}
	return e.At
}

// CoarseTime is a coarse time in a FHIR Encounter, with the earliest instant to which that time resolved in any version
// of the Encounter.
type CoarseTime struct {
	Key int64 // hash of the event's kind and location, and of the interval as sent
	At  Instant
}
