package acuity

import "time"

// contiguous is the longest gap between the end of an infusion and the next
// start that is still one infusion: a change of the bag (clinical-decisions F7).
const contiguous = 15 * time.Minute

// run is how one factor stands by the statements of one identity, walked through
// in order of time.
type run struct {
	f Factor

	on, held    bool
	start, last Instant
	by          match    // newest assertion
	from        *readout // of it

	lent, lentEnd Instant // start and end of a FHIR infusion that ended: the next may continue it
}

// take moves the run on by a statement that speaks of the factor.
func (r *run) take(c *Catalogue, s *statement, m match) {
	switch {
	case m.on:
		r.assert(c, s.readout, m, s.order, s.clock)
	case s.Status == SignalOnHold && r.on:
		// Off, but the clock runs on; the time on hold is no gap.
		r.held, r.last = true, s.order
	default:
		r.end(s)
	}
}

// assert begins a run or carries it on, at a time and with a start of its own
// clock. A gap of at least the window of the factor begins a new one
// (scoring-decisions 1).
func (r *run) assert(c *Catalogue, s *readout, m match, at, clock Instant) {
	window, _ := c.window(r.f, m.variant, m.kind)
	switch {
	case r.on && (r.held || window == 0 || at.Sub(r.last) < window):
		r.start = min(r.start, clock)
	case r.lent != 0 && s.Feed == ChannelFHIR && clock.Sub(r.lentEnd) <= contiguous:
		r.start = min(r.lent, clock)
	default:
		r.start = clock
	}
	r.on, r.held, r.last = true, false, at
	r.by, r.from = m, s
	r.lent = 0
}

// end ends the run. A FHIR infusion that ended lends its start to one that
// follows closely, even if nothing was heard of it before (F8).
func (r *run) end(s *statement) {
	r.lent = 0
	if s.Feed == ChannelFHIR && s.drug && s.Status == SignalEnded {
		r.lentEnd = s.order
		if r.on {
			r.lent = r.start
		}
		if s.StartedAt != 0 && (r.lent == 0 || s.clock < r.lent) {
			r.lent = s.clock
		}
	}
	r.on, r.held = false, false
}

// assume asserts the factor at an instant at which nothing was heard: silence
// about a graver one that becomes it.
func (r *run) assume(c *Catalogue, at Instant, s *readout, m match) {
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
		Source:  Source{Feed: r.from.Feed, System: r.from.System, Code: r.from.identity.code},
	}
	return e, true
}
