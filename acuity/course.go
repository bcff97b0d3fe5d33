package acuity

import (
	"slices"
	"time"
)

// contiguous is the longest gap between the end of an infusion and the next
// start that is still one infusion: a change of the bag (clinical-decisions F7).
const contiguous = 15 * time.Minute

// spell is a time in which an infusion ran, or was on hold.
type spell struct {
	factor   Factor
	from, to Instant // to 0: still
}

// foldCourses makes the evidence of the infusions that are resources. Each stops
// for itself alone; the clock of one that carries on others is the earliest of
// theirs (F7, F8).
func (f *folder) foldCourses() {
	var runs []run
	var spells []spell
	things(f.e.courses, func(said []*filed) {
		var n noting
		for _, h := range said {
			s := statementOf(h)
			if h.Status == SignalActive && h.state == unmapped {
				n = noting{} // it was something else
				continue
			}
			n.take(f.c.index, 0, &s)
		}
		f.add(n.sum())
		for _, factor := range factorsOf(said) {
			r := run{f: factor}
			for _, h := range said {
				s := statementOf(h)
				spells = f.moveOn(&r, &s, spells)
			}
			if r.on {
				spells = append(spells, spell{factor: factor, from: r.start})
			}
			runs = append(runs, r)
		}
	})
	for i := range runs {
		r := &runs[i]
		if e, ok := r.evidence(); ok && !f.refused(r) {
			e.Start = begun(spells, e.Factor, e.Start)
			f.out = append(f.out, f.named(e))
		}
	}
}

func statementOf(h *filed) statement {
	p := h.plain()
	return statement{Heard: &p, order: p.orderTime(), clock: p.clockStart(), drug: true}
}

// factorsOf returns the factors that statements speak of.
func factorsOf(said []*filed) []Factor {
	var list []Factor
	for _, h := range said {
		for _, m := range h.matches {
			if !slices.Contains(list, m.factor) {
				list = append(list, m.factor)
			}
		}
	}
	return list
}

// moveOn moves the run of an infusion on by one version of it. One that ended
// lends its start, even if nothing was heard of it before (F8); the time on hold
// counts as if it ran.
func (f *folder) moveOn(r *run, s *statement, spells []spell) []spell {
	i := slices.IndexFunc(s.matches, func(m match) bool { return m.factor == r.f })
	switch {
	case i >= 0 && s.matches[i].on:
		r.assert(f.c, s.matchedSignal, s.matches[i], s.order, s.clock)
		return spells
	case s.Status == SignalOnHold:
		if !r.on {
			r.on, r.start = true, s.clock
		}
		r.held, r.last = true, s.order
		return spells
	case s.Status == SignalEnded:
		from := s.order
		if s.StartedAt != 0 {
			from = min(from, s.clock)
		}
		if r.on {
			from = min(from, r.start)
		}
		spells = append(spells, spell{r.f, from, s.order})
	}
	r.on, r.held = false, false
	return spells
}

// begun returns since when an infusion runs that started at an instant, if it
// carries on others.
func begun(spells []spell, factor Factor, start Instant) Instant {
	for again := true; again; {
		again = false
		for _, s := range spells {
			if s.factor == factor && s.from < start && (s.to == 0 || start.Sub(s.to) <= contiguous) {
				start, again = s.from, true
			}
		}
	}
	return start
}
