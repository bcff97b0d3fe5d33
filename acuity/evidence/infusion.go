package evidence

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// contiguous is the longest gap between two runs that are one infusion: a change of the
// bag (clinical-decisions F7).
const contiguous = 15 * time.Minute

// infusionRun is a time in which an infusion ran or was on hold.
type infusionRun struct {
	factor   catalogue.Factor
	from, to acuity.Instant // to 0: it still runs
}

// foldInfusions makes the evidence of the infusions that are resources. Each stops only
// for itself. An infusion that carries on others takes the earliest clock of theirs (F7,
// F8).
func (f *builder) foldInfusions() {
	var runs []assertion
	var ran []infusionRun
	things(f.e.infusions, func(said []*ResourceStatement) {
		var n crossEffects
		for _, h := range said {
			s := orderedOf(h)
			if h.Status == acuity.SignalActive && h.State == terminology.Unmapped {
				n = crossEffects{} // it was something else
				continue
			}
			n.addStatement(terminology.CatalogueIndex(), 0, &s)
		}
		f.add(n.total())
		for _, factor := range factorsOf(said) {
			r := assertion{f: factor}
			for _, h := range said {
				s := orderedOf(h)
				ran = f.moveInfusion(&r, &s, ran)
			}
			if r.on {
				ran = append(ran, infusionRun{factor: factor, from: r.start})
			}
			runs = append(runs, r)
		}
	})
	for i := range runs {
		r := &runs[i]
		if e, ok := r.evidence(); ok && !f.refused(r) {
			e.Start = infusionStart(ran, e.Factor, e.Start)
			f.out = append(f.out, f.named(e))
		}
	}
}

// orderedOf returns a statement about a resource as one of no resource.
func orderedOf(h *ResourceStatement) orderedStatement {
	p := h.plain()
	return orderedStatement{Statement: &p, order: p.OrderTime(), clock: p.clockStart(), drug: true}
}

// factorsOf returns the factors that statements are about.
func factorsOf(said []*ResourceStatement) []catalogue.Factor {
	var list []catalogue.Factor
	for _, h := range said {
		for _, m := range h.Matches {
			if !slices.Contains(list, m.Factor) {
				list = append(list, m.Factor)
			}
		}
	}
	return list
}

// moveInfusion moves the assertion of an infusion on by one version. An infusion that
// ended gives its start, even if it is the first version that was received (F8). Time on
// hold counts as running.
func (f *builder) moveInfusion(r *assertion, s *orderedStatement, ran []infusionRun) []infusionRun {
	i := slices.IndexFunc(s.Matches, func(m terminology.Match) bool { return m.Factor == r.f })
	switch {
	case i >= 0 && s.Matches[i].On:
		r.renew(f.Catalogue, s.MatchedSignal, s.Matches[i], s.order, s.clock)
		return ran
	case s.Status == acuity.SignalOnHold:
		if !r.on {
			r.on, r.start = true, s.clock
		}
		r.held, r.last = true, s.order
		return ran
	case s.Status == acuity.SignalEnded:
		from := s.order
		if s.StartedAt != 0 {
			from = min(from, s.clock)
		}
		if r.on {
			from = min(from, r.start)
		}
		ran = append(ran, infusionRun{r.f, from, s.order})
	}
	r.on, r.held = false, false
	return ran
}

// infusionStart returns the start of an infusion, or the earlier start of the infusions
// that it carries on.
func infusionStart(ran []infusionRun, factor catalogue.Factor, start acuity.Instant) acuity.Instant {
	for again := true; again; {
		again = false
		for _, s := range ran {
			if s.factor == factor && s.from < start && (s.to == 0 || start.Sub(s.to) <= contiguous) {
				start, again = s.from, true
			}
		}
	}
	return start
}
