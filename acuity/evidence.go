package acuity

import (
	"cmp"
	"slices"
)

// episode is everything that is said about one patient, or about one room that
// only clinical ingest knows: what evidence is made of. The order within each
// list means nothing.
type episode struct {
	from      []*threads  // where the clinical statements are
	of        binding     // whose of them count
	filed     []*filed    // statements of resources, and those that name a patient, of whom it is about
	diagnoses []diagnosed // still standing, of all feeds
	listed    []Listed    // modifiers that the newest census lists
	primaries []Evidence  // by ADT, census and site map; with those of the newborns
	babies    uint8       // of a multiple birth, as ADT says; 0 unknown

	folds *folds // what the statements of this patient amounted to last; nil: not kept

	scratch folds // of a patient for whom nothing is kept
	sifted
	sorted []statement   // memory of the statements that are folded
	said   [][]statement // of them, those of each identity
	out    []Evidence
}

// settled returns what the statements about one patient amount to: one piece of
// evidence for each source that runs, in order of factor and source. It settles
// everything that needs no clock: which statement is the newest, where a run
// began, what contradicts what. Birth, windows and steps are for the verdict. It
// is a function of the set: the order of the lists means nothing. What it
// returns is part of the memory of the episode.
func (c *Catalogue) settled(e *episode, r *reader) []Evidence {
	f := folder{reader: r, e: e, out: e.out[:0]}
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

// folder makes the evidence of one episode.
type folder struct {
	*reader
	e   *episode
	out []Evidence

	said [][]statement // of this turn, by place in the folds

	noted
}

// noted is what statements mean for other sources than their own.
type noted struct {
	infused      bool    // a magnesium infusion is known, running or not
	acknowledged Instant // newest acknowledgement of an early warning; 0: none
	categoryI    Instant // newest Category I; 0: none
	calm         Instant // newest early-warning score below the limit; 0: none
	below        Instant // newest BMI, if it is below the limit; else 0
}

func (n *noted) add(o noted) {
	n.infused = n.infused || o.infused
	n.acknowledged = max(n.acknowledged, o.acknowledged)
	n.categoryI = max(n.categoryI, o.categoryI)
	n.calm = max(n.calm, o.calm)
	n.below = max(n.below, o.below)
}

// foldSignals makes the evidence of the statements, identity by identity: first
// what they mean to others, then what they say themselves.
func (f *folder) foldSignals() {
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
	f.hear(kept)
	for i := range kept.list {
		f.add(kept.list[i].noting.sum())
	}
	f.foldCourses()
	for i := range kept.list {
		d := &kept.list[i]
		f.follow(kept, i)
		for j := range d.runs {
			if e, ok := d.runs[j].evidence(); ok && !f.refused(&d.runs[j]) {
				f.out = append(f.out, f.named(e))
			}
		}
	}
	f.clear()
	// These also clear what was said under another identity.
	f.out = slices.DeleteFunc(f.out, func(o Evidence) bool { return o.Last < f.cleared(o.Factor) })
}

// clearedBy returns when a factor was last said not to be, whatever the source that said
// it to be: by a Category I, or by an early-warning score below the limit
// (scoring-decisions 61); 0: never.
func (n *noted) clearedBy(ix *index, factor Factor) Instant {
	switch {
	case ix.isCategory(factor):
		return n.categoryI
	case factor != 0 && factor == ix.mews:
		return n.calm
	}
	return 0
}

func (f *folder) cleared(factor Factor) Instant { return f.clearedBy(f.c.index, factor) }

// clear lets go of the statements of this turn.
func (f *folder) clear() {
	clear(f.e.sorted)
	clear(f.said)
	f.e.sorted = f.e.sorted[:0]
}

func (ix *index) isCategory(factor Factor) bool {
	return factor != 0 && (factor == ix.catII || factor == ix.catIII)
}

// step moves a run on by one statement of its identity, after the one before and
// its time; nil: it is the first. A statement that says nothing of the factor
// has no say, unless it ends all that the code stands for.
func (f *folder) step(r *run, before *matchedSignal, beforeAt Instant, s *statement) {
	if before != nil && f.c.index.becoming.has(r.f) {
		f.silence(r, before, beforeAt, s.order)
	}
	if r.f == f.c.index.mews && s.order <= f.acknowledged {
		return
	}
	for _, m := range s.matches {
		if m.factor == r.f {
			r.take(f.c, s, m)
			return
		}
	}
	if s.Status != SignalActive && len(s.takes) == 0 {
		r.take(f.c, s, match{factor: r.f})
	}
}

// silence asserts the factor that silence about a graver one makes of it, if it
// lasted until the next statement: a Category III that nobody repeats within
// 60 min is as if a Category II had been received (scoring-decisions 17).
func (f *folder) silence(r *run, before *matchedSignal, at, now Instant) {
	for _, m := range before.matches {
		e := f.c.effect(m.factor, m.variant)
		if m.on && e.becomes == r.f && e.silent > 0 && now-at >= e.silent {
			r.assume(f.c, at+e.silent, before, m)
		}
	}
}

// noting is what the statements of one identity so far mean for other sources. A
// retraction takes back the statement before it, unless its value says that it means
// another one; of an infusion the whole run.
type noting struct {
	known, newest noted
	infused       bool
	below, was    Instant // see noted; was: before a statement that ended it
}

// take goes on by one statement of the identity.
func (n *noting) take(ix *index, concept Factor, s *statement) {
	if s.Status == SignalRetracted {
		if concept != 0 && slices.ContainsFunc(s.takes, isOn) {
			n.below, n.was = max(n.below, n.was), 0
			return
		}
		n.newest, n.infused, n.below, n.was = noted{}, false, 0, 0
		return
	}
	n.known.add(n.newest)
	n.newest = noted{}
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

// sum returns what all that was said means.
func (n *noting) sum() noted {
	if n == nil {
		return noted{}
	}
	all := n.known
	all.add(n.newest)
	all.add(noted{infused: n.infused, below: n.below})
	return all
}

func isOn(m match) bool { return m.on }

// isNoted reports whether a match can mean something for other sources.
func (ix *index) isNoted(m match) bool { return m.factor == ix.mag || m.factor == ix.acknowledged }

// refused reports whether a signal does not count for what it stands for.
// Oxytocin also runs after birth, where it is no induction (C11): the primary by
// ADT or census says where the patient is (scoring-decisions 59).
func (f *folder) refused(r *run) bool {
	if r.f != f.c.index.induction || r.from.Kind != KindMedication || r.by.kind == ByManual {
		return false
	}
	return slices.ContainsFunc(f.e.primaries, func(p Evidence) bool {
		section := f.c.Spec(p.Factor).Section
		return section == SectionPostpartum || section == SectionCesarean
	})
}

// named adds to evidence of a primary who assigned it.
func (f *folder) named(e Evidence) Evidence {
	if f.c.Spec(e.Factor).Primary {
		switch e.Kind {
		case BySite:
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
func (f *folder) foldDiagnoses() {
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

// overruled reports whether a signal takes the place of a diagnosis: the real
// infusion of magnesium for good (scoring-decisions 19), a newer Category I (18) or
// early-warning score below the limit (61), a newer BMI below the limit (51).
func (f *folder) overruled(factor Factor, d *diagnosed) bool {
	switch factor {
	case f.c.index.mag:
		return f.infused
	case f.c.index.obesity:
		return f.below > d.Start
	}
	return f.cleared(factor) > d.Start
}

// foldListed adds the evidence of the modifiers that the census lists. A warning
// that was listed before it was acknowledged, or cleared, is an old one until the
// census has once left it out.
func (f *folder) foldListed() {
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

// sortEvidence puts evidence in order. It comes nearly in order, mostly a handful, and
// a piece of it is large: none is moved or copied that need not be.
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

// findEvidence returns the place of a piece of evidence among others in order, or where
// it would be; false: it is not there.
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

// compareEvidence is the order of evidence: by factor, then by source.
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
