package acuity

import (
	"cmp"
	"slices"
)

// evidenceInput is everything that is said about one patient, or about one room that
// only clinical ingest knows. Evidence is made of it. The order within each list means
// nothing.
type evidenceInput struct {
	from               []*statementsByCode  // the clinical statements
	of                 binding              // their owner; others in from do not count
	resourceStatements []*resourceStatement // of a resource, or naming the patient
	diagnoses          []diagnosed          // still standing, of all feeds
	listed             []Listed             // modifiers that the newest census lists
	primaries          []Evidence           // by ADT, census and local settings; those of the newborns too
	babies             uint8                // of a multiple birth, as ADT says; 0 unknown

	folds *foldCache // nil: nothing is cached

	scratch foldCache // for a patient without a cache
	sortedResources
	sorted []orderedStatement   // memory for the statements that are folded
	said   [][]orderedStatement // of each identity
	out    []Evidence
}

// foldEvidence returns what the statements about one patient amount to: one piece of
// evidence for each running source, in order of factor and source. It settles everything
// that needs no clock: the newest statement, the start of an assertion, contradictions.
// Birth, windows and steps are for the verdict. The order of the lists means nothing.
// The result lies in the memory of e.
func foldEvidence(c *Catalogue, e *evidenceInput, r *reader) []Evidence {
	f := evidenceBuilder{reader: r, e: e, out: e.out[:0]}
	f.foldSignals()
	f.foldDiagnoses()
	f.foldListed()
	f.out = append(f.out, e.primaries...)
	for i := range f.out {
		if o := &f.out[i]; o.Factor == c.index.multiples {
			o.Count = max(o.Count, e.babies, 2)
		}
	}
	sortEvidence(f.out)
	e.out = f.out
	return slices.Compact(f.out)
}

// evidenceBuilder makes the evidence of one evidenceInput.
type evidenceBuilder struct {
	*reader
	e   *evidenceInput
	out []Evidence

	said [][]orderedStatement // of this step, by index in the fold cache

	crossEffect
}

// crossEffect is what statements mean for other sources than their own.
type crossEffect struct {
	infused      bool    // a magnesium infusion is known, running or not
	acknowledged Instant // newest acknowledgement of an early warning; 0: none
	categoryI    Instant // newest Category I; 0: none
	calm         Instant // newest early-warning score below the limit; 0: none
	below        Instant // newest BMI, if it is below the limit; else 0
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
	kept := f.e.folds
	if kept == nil {
		kept = &f.e.scratch
		kept.known = false
	}
	for _, l := range f.e.listed {
		if l.Factor == f.c.index.acknowledged {
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
	f.out = slices.DeleteFunc(f.out, func(o Evidence) bool { return o.Last < f.cleared(o.Factor) })
}

// clearedBy returns when a factor was last denied, whatever source had asserted it: by a
// Category I, or by an early-warning score below the limit (scoring-decisions 61); 0:
// never.
func (n *crossEffect) clearedBy(ix *index, factor Factor) Instant {
	switch {
	case ix.isCategory(factor):
		return n.categoryI
	case factor != 0 && factor == ix.mews:
		return n.calm
	}
	return 0
}

func (f *evidenceBuilder) cleared(factor Factor) Instant { return f.clearedBy(f.c.index, factor) }

// clear drops the statements of this step.
func (f *evidenceBuilder) clear() {
	clear(f.e.sorted)
	clear(f.said)
	f.e.sorted = f.e.sorted[:0]
}

func (ix *index) isCategory(factor Factor) bool {
	return factor != 0 && (factor == ix.catII || factor == ix.catIII)
}

// step moves an assertion on by one statement of its identity. before is the previous
// statement, with its time; nil: there is none. A statement without the factor changes
// nothing, unless it ends everything that its code stands for.
func (f *evidenceBuilder) step(r *assertion, before *matchedSignal, beforeAt Instant, s *orderedStatement) {
	if before != nil && f.c.index.becoming.has(r.f) {
		f.silence(r, before, beforeAt, s.order)
	}
	if r.f == f.c.index.mews && s.order <= f.acknowledged {
		return
	}
	for _, m := range s.matches {
		if m.factor == r.f {
			r.apply(f.c, s, m)
			return
		}
	}
	if s.Status != SignalActive && len(s.takenBack) == 0 {
		r.apply(f.c, s, match{factor: r.f})
	}
}

// silence asserts the factor that silence about a graver factor becomes, if the silence
// lasted until the next statement. A Category III that is not repeated within 60 min
// counts as a Category II then (scoring-decisions 17).
func (f *evidenceBuilder) silence(r *assertion, before *matchedSignal, at, now Instant) {
	for _, m := range before.matches {
		e := f.c.effect(m.factor, m.variant)
		if m.on && e.becomes == r.f && e.silent > 0 && now-at >= e.silent {
			r.assume(f.c, at+e.silent, before, m)
		}
	}
}

// crossEffects is what the statements of one identity so far mean for other sources. A
// retraction takes back the statement before it, unless its value names another one; for
// an infusion it takes back the whole run.
type crossEffects struct {
	known, newest crossEffect
	infused       bool
	below, was    Instant // see crossEffect; was is the value before a statement that ended it
}

// addStatement adds the effects of one statement of the identity.
func (n *crossEffects) addStatement(ix *index, concept Factor, s *orderedStatement) {
	if s.Status == SignalRetracted {
		if concept != 0 && slices.ContainsFunc(s.takenBack, isOn) {
			n.below, n.was = max(n.below, n.was), 0
			return
		}
		n.newest, n.infused, n.below, n.was = crossEffect{}, false, 0, 0
		return
	}
	n.known.add(n.newest)
	n.newest = crossEffect{}
	for _, m := range s.matches {
		n.infused = n.infused || m.factor == ix.mag && s.Kind == KindMedication
		if m.on && m.factor == ix.acknowledged {
			n.newest.acknowledged = s.order
		}
	}
	n.known.infused = n.known.infused || n.infused && s.Status == SignalEnded
	if s.Status != SignalActive || concept == 0 {
		return
	}
	reached := slices.ContainsFunc(s.matches, isOn)
	switch {
	case concept == ix.obesity && reached:
		n.below, n.was = 0, n.below
	case reached:
	case concept == ix.obesity:
		n.below = s.order
	case concept == ix.catIII:
		n.newest.categoryI = s.order
	case concept == ix.mews:
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

func isOn(m match) bool { return m.on }

// hasCrossEffect reports whether a match can have an effect on other sources.
func (ix *index) hasCrossEffect(m match) bool {
	return m.factor == ix.mag || m.factor == ix.acknowledged
}

// refused reports whether a signal does not count for its factor. Oxytocin also runs
// after birth, where it is no induction (C11): the primary by ADT or census says where
// the patient is (scoring-decisions 59).
func (f *evidenceBuilder) refused(r *assertion) bool {
	if r.f != f.c.index.induction || r.from.Kind != KindMedication || r.by.kind == ByManual {
		return false
	}
	return slices.ContainsFunc(f.e.primaries, func(p Evidence) bool {
		section := f.c.Spec(p.Factor).Section
		return section == sectionPostpartum || section == sectionCesarean
	})
}

// named adds who assigned a primary to its evidence.
func (f *evidenceBuilder) named(e Evidence) Evidence {
	if f.c.Spec(e.Factor).Primary {
		switch e.Kind {
		case ByLocalRule:
			e.AssignedBy = "site"
		case ByManual:
			e.AssignedBy = "manual"
		case ByDiagnosis:
			e.AssignedBy = "diagnosis"
		case BySignal, ByADT, ByCensus:
			e.AssignedBy = "signal"
		}
	}
	return e
}

// foldDiagnoses adds the evidence of the diagnoses that no signal overrules.
func (f *evidenceBuilder) foldDiagnoses() {
	for i := range f.e.diagnoses {
		d := &f.e.diagnoses[i]
		said := f.diagnosis(&d.Diagnosis)
		for _, m := range said.matches {
			if f.overruled(m.factor, d) {
				continue
			}
			f.out = append(f.out, f.named(Evidence{
				Factor:  m.factor,
				Variant: m.variant,
				Count:   m.count,
				Kind:    m.kind,
				Start:   d.Start,
				Last:    max(d.Start, d.Last),
				Source:  Source{Feed: d.Feed, System: said.system, Code: said.code},
			}))
		}
	}
}

// overruled reports whether a signal replaces a diagnosis: a real magnesium infusion for
// good (scoring-decisions 19), a newer Category I (18), a newer early-warning score
// below the limit (61), a newer BMI below the limit (51).
func (f *evidenceBuilder) overruled(factor Factor, d *diagnosed) bool {
	switch factor {
	case f.c.index.mag:
		return f.infused
	case f.c.index.obesity:
		return f.below > d.Start
	}
	return f.cleared(factor) > d.Start
}

// foldListed adds the evidence of the modifiers that the census lists. A warning that
// was listed before its acknowledgement, or before it was cleared, is an old one until a
// census leaves it out once.
func (f *evidenceBuilder) foldListed() {
	for _, l := range f.e.listed {
		if l.Factor == f.c.index.mews && (l.Since <= f.acknowledged || l.Since < f.calm) {
			continue
		}
		f.out = append(f.out, Evidence{
			Factor: l.Factor,
			Kind:   ByCensus,
			Start:  l.Since,
			Last:   max(l.Since, l.Last),
			Source: Source{Feed: ChannelCensus},
		})
	}
}

// sortEvidence sorts evidence. It is nearly in order, mostly a handful, and large, so
// nothing is moved without need.
func sortEvidence(list []Evidence) {
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

// findEvidence returns the index of a piece of evidence in a sorted list, or where it
// would be; false: it is not there.
func findEvidence(list []Evidence, e *Evidence) (int, bool) {
	for i := range list {
		if list[i].Factor < e.Factor {
			continue
		}
		if c := compareEvidence(&list[i], e); c >= 0 {
			return i, c == 0
		}
	}
	return len(list), false
}

// compareEvidence orders evidence by factor, then by source.
func compareEvidence(a, b *Evidence) int {
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
