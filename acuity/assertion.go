package acuity

// assertion is the state of one factor by the statements of one identity, in order of
// time.
type assertion struct {
	f Factor

	on, held    bool
	began       Instant // time of the statement that switched it on
	start, last Instant
	by          match          // newest assertion
	from        *matchedSignal // the matched signal of by
}

// apply moves the assertion on by a statement about its factor.
func (r *assertion) apply(c *Catalogue, s *orderedStatement, m match) {
	switch {
	case m.on:
		r.renew(c, s.matchedSignal, m, s.order, s.clock)
	case s.Status == SignalOnHold && r.on:
		// Off, but the clock runs on; the time on hold is no gap.
		r.held, r.last = true, s.order
	default:
		r.on, r.held = false, false
	}
}

// renew starts an assertion, or carries it on, at a time and with a clock of its own. A
// gap of at least the factor's window starts a new one (scoring-decisions 1).
func (r *assertion) renew(c *Catalogue, s *matchedSignal, m match, at, clock Instant) {
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

// assume asserts the factor at an instant without a statement, because silence about a
// graver factor becomes this one.
func (r *assertion) assume(c *Catalogue, at Instant, s *matchedSignal, m match) {
	m.factor, m.variant = r.f, 0
	r.renew(c, s, m, at, at)
}

// evidence returns the evidence that the assertion leaves; false: it has ended.
func (r *assertion) evidence() (Evidence, bool) {
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
