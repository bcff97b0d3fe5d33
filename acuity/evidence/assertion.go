package evidence

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// assertion is the state of one factor according to the statements with one identity, applied in order of time.
type assertion struct {
	f catalogue.Factor

	on, held    bool
	began       acuity.Instant // time of the statement that started the assertion
	start, last acuity.Instant
	by          terminology.Match          // match that most recently asserted the factor
	from        *terminology.MatchedSignal // signal to which the match in by belongs
}

// apply updates the assertion with a statement about its factor.
func (r *assertion) apply(c *catalogue.Catalogue, s *orderedStatement, m terminology.Match) {
	switch {
	case m.On:
		r.renew(c, s.MatchedSignal, m, s.order, s.clock)
	case s.Status == acuity.SignalOnHold && r.on:
		// The factor is inactive, but its clock continues: the time on hold is not a gap.
		r.held, r.last = true, s.order
	default:
		r.on, r.held = false, false
	}
}

// renew starts or continues an assertion at a given time, with a given start of its clock. A gap of at least the
// factor's window starts a new assertion, unless the factor was on hold (docs/decisions.md#two-clocks).
func (r *assertion) renew(c *catalogue.Catalogue, s *terminology.MatchedSignal, m terminology.Match, at, clock acuity.Instant) {
	window, _ := c.Window(r.f, m.Variant, m.Kind == acuity.ByDiagnosis)
	switch {
	case r.on && (r.held || window == 0 || at.Sub(r.last) < window):
		r.start = min(r.start, clock)
	default:
		r.began, r.start = at, clock
	}
	r.on, r.held, r.last = true, false, at
	r.by, r.from = m, s
}

// assume asserts r's factor at an instant at which no statement asserts it, because r's factor replaces a more severe
// factor that was not asserted again in time.
func (r *assertion) assume(c *catalogue.Catalogue, at acuity.Instant, s *terminology.MatchedSignal, m terminology.Match) {
	m.Factor, m.Variant = r.f, 0
	r.renew(c, s, m, at, at)
}

// evidence returns the evidence of the assertion, and reports whether the assertion is active. An assertion that has
// ended or is on hold has no evidence.
func (r *assertion) evidence() (acuity.Evidence, bool) {
	if !r.on || r.held {
		return acuity.Evidence{}, false
	}
	e := acuity.Evidence{
		Factor:  r.f,
		Variant: r.by.Variant,
		Count:   r.by.Count,
		Kind:    r.by.Kind,
		Start:   r.start,
		Last:    max(r.start, r.last),
		Source:  acuity.Source{Feed: r.from.Feed, System: r.from.Identity.System, Code: r.from.Identity.Code},
		Fetus:   r.from.Identity.Fetus,
	}
	return e, true
}

// step updates an assertion with one statement of its identity. The argument before is the previous statement of that
// identity, or nil, and beforeAt is that statement's time. A statement that does not match the assertion's factor has
// no effect, unless it ends every factor of its code. For an early warning, a statement has no effect if the warning
// was acknowledged at or after the statement's time.
func (f *builder) step(r *assertion, before *terminology.MatchedSignal, beforeAt acuity.Instant, s *orderedStatement) {
	if before != nil && terminology.CatalogueIndex().Becoming.Has(r.f) {
		f.assertReplacement(r, before, beforeAt, s.order)
	}
	if r.f == terminology.CatalogueIndex().EarlyWarning && s.order <= f.acknowledged {
		return
	}
	for _, m := range s.Matches {
		if m.Factor == r.f {
			r.apply(f.Catalogue, s, m)
			return
		}
	}
	if s.Status != acuity.SignalActive && len(s.TakenBack) == 0 {
		r.apply(f.Catalogue, s, terminology.Match{Factor: r.f})
	}
}

// assertReplacement asserts the factor of r if that factor replaces a severe factor that no statement repeated in
// time. For example, a Category III that is not repeated within 60 min then counts as a Category II
// (docs/decisions.md#silent-category-iii). The previous statement and its time are the arguments before and at.
func (f *builder) assertReplacement(r *assertion, before *terminology.MatchedSignal, at, now acuity.Instant) {
	for _, m := range before.Matches {
		e := f.Catalogue.Requirement(m.Factor, m.Variant)
		if m.On && e.Becomes == r.f && e.Silent > 0 && now-at >= e.Silent {
			r.assume(f.Catalogue, at+e.Silent, before, m)
		}
	}
}

// contiguous is the maximum gap between two runs of the same infusion, such as during a bag change
// (docs/decisions.md#contiguous-infusions).
const contiguous = 15 * time.Minute

// infusionRun is a time span during which an infusion ran or was on hold.
type infusionRun struct {
	factor   catalogue.Factor
	from, to acuity.Instant // start and end of the run; to is 0 if the run has not ended
}

// foldInfusions builds the evidence from infusions that were sent as FHIR resources. The end of one infusion does not
// end other infusions. If an infusion continues earlier infusions, its clock starts with the earliest of them
// (docs/decisions.md#contiguous-infusions, #ended-infusions).
func (f *builder) foldInfusions() {
	var runs []assertion
	var ran []infusionRun
	eachSubject(f.e.infusions, func(said []*ResourceStatement) {
		var n crossEffects
		var times versionTimes
		for _, h := range said {
			s := times.ordered(h)
			if h.Status == acuity.SignalActive && h.State == terminology.Unmapped {
				n = crossEffects{} // this version names an unknown drug, so the effects of the versions before it do not count
				continue
			}
			n.addStatement(terminology.CatalogueIndex(), 0, &s)
		}
		f.add(n.total())
		for _, factor := range factorsOf(said) {
			r, times := assertion{f: factor}, versionTimes{}
			for _, h := range said {
				s := times.ordered(h)
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
		if e, ok := r.evidence(); ok && !f.isRefused(r) {
			e.Start = infusionStart(ran, e.Factor, e.Start)
			f.out = append(f.out, f.withAssigner(e))
		}
	}
}

// ordered converts the next version of a resource to a plain statement with resolved times.
func (t *versionTimes) ordered(h *ResourceStatement) orderedStatement {
	p := h.plain()
	p.ObservedAt, p.StartedAt = t.resolve(h)
	return orderedStatement{Statement: &p, order: p.OrderTime(), clock: p.clockStart(), drug: true}
}

// factorsOf returns the factors that the statements match.
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

// moveInfusion updates the assertion of an infusion with one version of its resource, and returns the list ran. If
// the version ends the infusion, moveInfusion adds the ended run to the list, even if no earlier version was
// received, because the version also gives the infusion's start (docs/decisions.md#ended-infusions). Time on hold
// counts as running.
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

// infusionStart returns the start of an infusion or, if it continues others, the earliest of their starts.
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
