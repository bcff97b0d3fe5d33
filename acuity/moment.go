package acuity

// Moment is a time as a sender gave it. A time that is coarser than a second, such as a date, is an
// interval: all instants that the sender may have meant.
type Moment struct {
	From      Instant // 0: no time was given
	To        Instant // the first instant after the interval; of no use if the moment is exact
	Precision Precision
}

// IsExact reports whether the moment is an instant, to the second or finer.
func (m Moment) IsExact() bool { return m.Precision <= Second }

// Keep returns the instant that counts as the start of what goes on, if it is told anew: at, or the
// start that is known. A coarse time that is repeated counts as a later instant each time, so the known
// start stands if it lies in the interval. from is the start of the interval; 0: the time is exact.
func Keep(known, from, at Instant) Instant {
	if from != 0 && from <= known && known < at {
		return known
	}
	return at
}

// contains reports whether an instant lies in the interval.
func (m Moment) contains(at Instant) bool { return m.From <= at && at < m.To }

// Start returns the start of the interval; 0 if the moment is exact.
func (m Moment) Start() Instant {
	if m.IsExact() {
		return 0
	}
	return m.From
}

// Resolve returns the instant that counts as the moment. All feeds use it, so a coarse time has the
// same place among the others whatever feed it came from:
//
//   - An exact moment counts as it is.
//   - Of a coarse one the first of the moments beside it counts that is more exact and lies within:
//     when the message was sent, or the version was written.
//   - Without one, the receipt counts if it lies within.
//   - An interval that was over before the receipt counts as its last instant, so a coarse time is
//     never before an exact one within it.
//   - An interval that has not begun at the receipt counts as its start.
//
// A coarse moment that had begun never counts as later than the receipt.
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

// SetTime sets the event time: the moment as it was sent, and the instant that counts.
func (e *Event) SetTime(m Moment, at Instant) {
	e.At, e.Precision, e.AtFrom = at, m.Precision, m.Start()
}

// AsSent returns the event time as it was sent: the start of its interval, if it was coarse.
func (e *Event) AsSent() Instant {
	if e.AtFrom != 0 {
		return e.AtFrom
	}
	return e.At
}
