package acuity

// run is how one factor stands by the statements of one identity, walked through
// in order of time.
type run struct {
	f Factor

	on, held    bool
	began       Instant // time of the statement with which it came on
	start, last Instant
	by          match          // newest assertion
	from        *matchedSignal // of it
}

// take moves the run on by a statement that speaks of the factor.
func (r *run) take(c *Catalogue, s *statement, m match) {
	switch {
	case m.on:
		r.assert(c, s.matchedSignal, m, s.order, s.clock)
	case s.Status == SignalOnHold && r.on:
		// Off, but the clock runs on; the time on hold is no gap.
		r.held, r.last = true, s.order
	default:
		r.on, r.held = false, false
	}
}

// assert begins a run or carries it on, at a time and with a start of its own
// clock. A gap of at least the window of the factor begins a new one
// (scoring-decisions 1).
func (r *run) assert(c *Catalogue, s *matchedSignal, m match, at, clock Instant) {
	window, _ := c.window(r.f, m.variant, m.kind)
	switch {
	case r.on && (r.held || window == 0 || at.Sub(r.last) < window):
		r.start = min(r.start, clock)
	default:
		r.began, r.start = at, clock
	}
	r.on, r.held, r.last = true, false, at
	r.by, r.from = m, s
}

// assume asserts the factor at an instant at which nothing was heard: silence
// about a graver one that becomes it.
func (r *run) assume(c *Catalogue, at Instant, s *matchedSignal, m match) {
	m.factor, m.variant = r.f, 0
	r.assert(c, s, m, at, at)
}

// evidence returns the evidence that the run leaves; false if it has ended.
func (r *run) evidence() (Evidence, bool) {
	if !r.on || r.held {
		return Evidence{}, false
	}
	e := Evidence{
		Factor:  r.f,
		Variant: r.by.variant,
		Count:   r.by.count,
		Kind:    r.by.kind,
		Start:   r.start,
		Last:    max(r.start, r.last),
		Source:  Source{Feed: r.from.Feed, System: r.from.identity.system, Code: r.from.identity.code},
	}
	return e, true
}
