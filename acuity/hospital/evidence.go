package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// evidenceInput is everything that is said about one patient. Evidence is made of it. The
// order within each list means nothing.
type evidenceInput struct {
	from               []*statementsByCode  // the clinical statements
	owner              owner                // of the patient's; others in from do not count
	resourceStatements []*resourceStatement // of a resource, or naming the patient
	diagnoses          []diagnosis          // still standing, of all feeds
	listed             []Listed             // modifiers that the newest census lists
	primaries          []acuity.Evidence    // by ADT, census and local settings; those of the newborns too
	babies             uint8                // of a multiple birth, as ADT says; 0 unknown

	cache *foldCache // of this patient; nil: nothing is cached

	scratch foldCache // for a patient without a cache
	sortedResources
	sorted []orderedStatement   // memory for the statements that are folded
	said   [][]orderedStatement // of each identity
	out    []acuity.Evidence
}

// diagnosis is one diagnosis that stands: an unbroken run of statements.
type diagnosis struct {
	acuity.Diagnosis
	Start acuity.Instant // onset, if the first statement of the run gave it, else that statement's time (D5)
	Last  acuity.Instant // time of the newest statement
	Feed  acuity.Channel
}

// Listed is a modifier that the newest census lists.
type Listed struct {
	Factor      catalogue.Factor
	Since, Last acuity.Instant // Since is the first census of the unbroken run that lists it, Last the newest
}

// reset empties the input for the statements of an owner.
func (e *evidenceInput) reset(owner owner) {
	e.from, e.owner, e.cache, e.babies = e.from[:0], owner, nil, 0
	e.resourceStatements, e.infusions, e.conditions = e.resourceStatements[:0], e.infusions[:0], e.conditions[:0]
	e.diagnoses, e.listed, e.primaries = e.diagnoses[:0], e.listed[:0], e.primaries[:0]
}

// foldEvidence returns what the statements about one patient amount to: one piece of
// evidence for each running source, in order of factor and source. It settles everything
// that needs no clock: the newest statement, the start of an assertion, contradictions.
// Birth, windows and steps are for the verdict. The order of the lists means nothing.
// The result lies in the memory of e.
func foldEvidence(e *evidenceInput, r *terminology.Reader) []acuity.Evidence {
	f := evidenceBuilder{Reader: r, e: e, out: e.out[:0]}
	f.foldSignals()
	f.foldDiagnoses()
	f.foldListed()
	f.out = append(f.out, e.primaries...)
	for i := range f.out {
		if o := &f.out[i]; o.Factor == terminology.CatalogueIndex().Multiples {
			o.Count = max(o.Count, e.babies, 2)
		}
	}
	sortEvidence(f.out)
	e.out = f.out
	return slices.Compact(f.out)
}

// evidenceBuilder makes the evidence of one evidenceInput.
type evidenceBuilder struct {
	*terminology.Reader
	e   *evidenceInput
	out []acuity.Evidence

	said [][]orderedStatement // of this step, by index in the fold cache

	crossEffect
}

// crossEffect is what statements mean for other sources than their own.
type crossEffect struct {
	infused      bool           // a magnesium infusion is known, running or not
	acknowledged acuity.Instant // newest acknowledgement of an early warning; 0: none
	categoryI    acuity.Instant // newest Category I; 0: none
	calm         acuity.Instant // newest early-warning score below the limit; 0: none
	below        acuity.Instant // newest BMI, if it is below the limit; else 0
}

func (n *crossEffect) add(o crossEffect) {
	n.infused = n.infused || o.infused
	n.acknowledged = max(n.acknowledged, o.acknowledged)
	n.categoryI = max(n.categoryI, o.categoryI)
	n.calm = max(n.calm, o.calm)
	n.below = max(n.below, o.below)
}

// foldSignals makes the evidence of the statements, code by code: first their effects on
// other codes, then what they say themselves.
func (f *evidenceBuilder) foldSignals() {
	kept := f.e.cache
	if kept == nil {
		kept = &f.e.scratch
		kept.known = false
	}
	for _, l := range f.e.listed {
		if l.Factor == terminology.CatalogueIndex().Acknowledged {
			f.acknowledged = max(f.acknowledged, l.Since)
		}
	}
	f.refresh(kept)
	for i := range kept.list {
		f.add(kept.list[i].effects.total())
	}
	f.foldInfusions()
	for i := range kept.list {
		d := &kept.list[i]
		f.moveAssertions(kept, i)
		for j := range d.assertions {
			if e, ok := d.assertions[j].evidence(); ok && !f.refused(&d.assertions[j]) {
				f.out = append(f.out, f.named(e))
			}
		}
	}
	f.clear()
	// Cross effects also clear what other codes said.
	f.out = slices.DeleteFunc(f.out, func(o acuity.Evidence) bool { return o.Last < f.cleared(o.Factor) })
}

// clearedBy returns when a factor was last denied, whatever source had asserted it: by a
// Category I, or by an early-warning score below the limit (scoring-decisions 61); 0:
// never.
func (n *crossEffect) clearedBy(ix *terminology.Index, factor catalogue.Factor) acuity.Instant {
	switch {
	case isCategory(ix, factor):
		return n.categoryI
	case factor != 0 && factor == ix.EarlyWarning:
		return n.calm
	}
	return 0
}

func (f *evidenceBuilder) cleared(factor catalogue.Factor) acuity.Instant {
	return f.clearedBy(terminology.CatalogueIndex(), factor)
}

// clear drops the statements of this step.
func (f *evidenceBuilder) clear() {
	clear(f.e.sorted)
	clear(f.said)
	f.e.sorted = f.e.sorted[:0]
}

func isCategory(ix *terminology.Index, factor catalogue.Factor) bool {
	return factor != 0 && (factor == ix.CategoryII || factor == ix.CategoryIII)
}

// step moves an assertion on by one statement of its identity. before is the previous
// statement, with its time; nil: there is none. A statement without the factor changes
// nothing, unless it ends everything that its code stands for.
func (f *evidenceBuilder) step(r *assertion, before *terminology.MatchedSignal, beforeAt acuity.Instant, s *orderedStatement) {
	if before != nil && terminology.CatalogueIndex().Becoming.Has(r.f) {
		f.silence(r, before, beforeAt, s.order)
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

// silence asserts the factor that silence about a graver factor becomes, if the silence
// lasted until the next statement. A Category III that is not repeated within 60 min
// counts as a Category II then (scoring-decisions 17).
func (f *evidenceBuilder) silence(r *assertion, before *terminology.MatchedSignal, at, now acuity.Instant) {
	for _, m := range before.Matches {
		e := f.Catalogue.Requirement(m.Factor, m.Variant)
		if m.On && e.Becomes == r.f && e.Silent > 0 && now-at >= e.Silent {
			r.assume(f.Catalogue, at+e.Silent, before, m)
		}
	}
}

// crossEffects is what the statements of one identity so far mean for other sources. A
// retraction takes back the statement before it, unless its value names another one; for
// an infusion it takes back the whole run.
type crossEffects struct {
	known, newest crossEffect
	infused       bool
	below, was    acuity.Instant // see crossEffect; was is the value before a statement that ended it
}

// addStatement adds the effects of one statement of the identity.
func (n *crossEffects) addStatement(ix *terminology.Index, concept catalogue.Factor, s *orderedStatement) {
	if s.Status == acuity.SignalRetracted {
		if concept != 0 && slices.ContainsFunc(s.TakenBack, isOn) {
			n.below, n.was = max(n.below, n.was), 0
			return
		}
		n.newest, n.infused, n.below, n.was = crossEffect{}, false, 0, 0
		return
	}
	n.known.add(n.newest)
	n.newest = crossEffect{}
	for _, m := range s.Matches {
		n.infused = n.infused || m.Factor == ix.Magnesium && s.Kind == catalogue.KindMedication
		if m.On && m.Factor == ix.Acknowledged {
			n.newest.acknowledged = s.order
		}
	}
	n.known.infused = n.known.infused || n.infused && s.Status == acuity.SignalEnded
	if s.Status != acuity.SignalActive || concept == 0 {
		return
	}
	reached := slices.ContainsFunc(s.Matches, isOn)
	switch {
	case concept == ix.Obesity && reached:
		n.below, n.was = 0, n.below
	case reached:
	case concept == ix.Obesity:
		n.below = s.order
	case concept == ix.CategoryIII:
		n.newest.categoryI = s.order
	case concept == ix.EarlyWarning:
		n.newest.calm = s.order
	}
}

// total returns the effects of all statements.
func (n *crossEffects) total() crossEffect {
	if n == nil {
		return crossEffect{}
	}
	all := n.known
	all.add(n.newest)
	all.add(crossEffect{infused: n.infused, below: n.below})
	return all
}

func isOn(m terminology.Match) bool { return m.On }

// hasCrossEffect reports whether a match can have an effect on other sources.
func hasCrossEffect(m terminology.Match) bool {
	ix := terminology.CatalogueIndex()
	return m.Factor == ix.Magnesium || m.Factor == ix.Acknowledged
}

// refused reports whether a signal does not count for its factor. Oxytocin also runs
// after birth, where it is no induction (C11): the primary by ADT or census says where
// the patient is (scoring-decisions 59).
func (f *evidenceBuilder) refused(r *assertion) bool {
	if r.f != terminology.CatalogueIndex().Induction || r.from.Kind != catalogue.KindMedication || r.by.Kind == acuity.ByManual {
		return false
	}
	return slices.ContainsFunc(f.e.primaries, func(p acuity.Evidence) bool {
		return p.Factor.EndsLabor()
	})
}

// named adds who assigned a primary to its evidence.
func (f *evidenceBuilder) named(e acuity.Evidence) acuity.Evidence {
	if f.Catalogue.Spec(e.Factor).Primary {
		switch e.Kind {
		case acuity.ByLocalRule:
			e.AssignedBy = "site"
		case acuity.ByManual:
			e.AssignedBy = "manual"
		case acuity.ByDiagnosis:
			e.AssignedBy = "diagnosis"
		case acuity.BySignal, acuity.ByADT, acuity.ByCensus:
			e.AssignedBy = "signal"
		}
	}
	return e
}

// foldDiagnoses adds the evidence of the diagnoses that no signal overrules.
func (f *evidenceBuilder) foldDiagnoses() {
	for i := range f.e.diagnoses {
		d := &f.e.diagnoses[i]
		said := f.Diagnosis(&d.Diagnosis)
		for _, m := range said.Matches {
			if f.overruled(m.Factor, d) {
				continue
			}
			f.out = append(f.out, f.named(acuity.Evidence{
				Factor:  m.Factor,
				Variant: m.Variant,
				Count:   m.Count,
				Kind:    m.Kind,
				Start:   d.Start,
				Last:    max(d.Start, d.Last),
				Source:  acuity.Source{Feed: d.Feed, System: said.System, Code: said.Code},
			}))
		}
	}
}

// overruled reports whether a signal replaces a diagnosis: a real magnesium infusion for
// good (scoring-decisions 19), a newer Category I (18), a newer early-warning score
// below the limit (61), a newer BMI below the limit (51).
func (f *evidenceBuilder) overruled(factor catalogue.Factor, d *diagnosis) bool {
	switch factor {
	case terminology.CatalogueIndex().Magnesium:
		return f.infused
	case terminology.CatalogueIndex().Obesity:
		return f.below > d.Start
	}
	return f.cleared(factor) > d.Start
}

// foldListed adds the evidence of the modifiers that the census lists. A warning that
// was listed before its acknowledgement, or before it was cleared, is an old one until a
// census leaves it out once.
func (f *evidenceBuilder) foldListed() {
	for _, l := range f.e.listed {
		if l.Factor == terminology.CatalogueIndex().EarlyWarning && (l.Since <= f.acknowledged || l.Since < f.calm) {
			continue
		}
		f.out = append(f.out, acuity.Evidence{
			Factor: l.Factor,
			Kind:   acuity.ByCensus,
			Start:  l.Since,
			Last:   max(l.Since, l.Last),
			Source: acuity.Source{Feed: acuity.ChannelCensus},
		})
	}
}

// sortEvidence sorts evidence. It is nearly in order, mostly a handful, and large, so
// nothing is moved without need.
func sortEvidence(list []acuity.Evidence) {
	for i := 1; i < len(list); i++ {
		j := i
		for j > 0 && compareEvidence(&list[j-1], &list[i]) > 0 {
			j--
		}
		if j < i {
			e := list[i]
			copy(list[j+1:i+1], list[j:i])
			list[j] = e
		}
	}
}

// compareEvidence orders evidence by factor, then by source.
func compareEvidence(a, b *acuity.Evidence) int {
	if a.Factor != b.Factor {
		return cmp.Compare(a.Factor, b.Factor)
	}
	return cmp.Or(
		cmp.Compare(a.Baby, b.Baby),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Start, b.Start),
		cmp.Compare(a.Source.Feed, b.Source.Feed),
		cmp.Compare(a.Source.System, b.Source.System),
		cmp.Compare(a.Source.Code, b.Source.Code),
		cmp.Compare(a.Last, b.Last),
		cmp.Compare(a.Variant, b.Variant),
		cmp.Compare(a.Count, b.Count),
		cmp.Compare(a.AssignedBy, b.AssignedBy),
		compareBool(a.Silent, b.Silent),
	)
}
