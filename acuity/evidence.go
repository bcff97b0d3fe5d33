package acuity

import (
	"cmp"
	"slices"
)

// episode is everything that is said about one patient, or about one room that
// only clinical ingest knows: what evidence is made of. The order within each
// list means nothing.
type episode struct {
	signals   []*Heard    // clinical statements
	diagnoses []diagnosed // still standing, of all feeds
	listed    []Listed    // modifiers that the newest census lists
	primaries []Evidence  // by ADT, census and site map; with those of the newborns
	babies    uint8       // of a multiple birth, as ADT says; 0 unknown

	statements statements // memory that the next evidence uses again
	folds      *folds     // what the statements of this patient amounted to last; nil: not kept
}

// evidence returns what the statements about one patient amount to: one piece of
// evidence for each source that runs, in order of factor and source. It settles
// everything that needs no clock: which statement is the newest, where a run
// began, what contradicts what. Birth, windows and steps are for the verdict. It
// is a function of the set: the order of the lists means nothing.
func (c *Catalogue) evidence(e *episode, maps *mappings) []Evidence {
	return slices.Clone(c.settled(e, &reader{c: c, maps: maps}))
}

// settled is evidence by a reader that remembers. What it returns is part of the
// memory of the episode.
func (c *Catalogue) settled(e *episode, r *reader) []Evidence {
	f := folder{reader: r, e: e, out: e.statements.out[:0]}
	f.read()
	f.foldSignals()
	f.foldDiagnoses()
	f.foldListed()
	f.out = append(f.out, e.primaries...)
	for i := range f.out {
		if o := &f.out[i]; o.Factor == c.index.multiples {
			o.Count = max(o.Count, e.babies, 2)
		}
	}
	slices.SortFunc(f.out, compareEvidence)
	e.statements.out = f.out
	return slices.Compact(f.out)
}

// folder makes the evidence of one episode.
type folder struct {
	*reader
	e   *episode
	out []Evidence

	noted
}

// noted is what statements mean for other sources than their own.
type noted struct {
	infused      bool    // a magnesium infusion is known, running or not
	acknowledged Instant // newest acknowledgement of an early warning; 0: none
	categoryI    Instant // newest Category I; 0: none
	below        Instant // newest BMI, if it is below the limit; else 0
}

func (n *noted) add(o noted) {
	n.infused = n.infused || o.infused
	n.acknowledged = max(n.acknowledged, o.acknowledged)
	n.categoryI = max(n.categoryI, o.categoryI)
	n.below = max(n.below, o.below)
}

// read reads the statements and tells them apart by identity. Those that say
// nothing readable change nothing and are left out.
func (f *folder) read() {
	list := &f.e.statements
	list.reset()
	for i, h := range f.e.signals {
		r := h.readout
		if r == nil || r.maps != f.maps {
			r = f.c.readout(h.wording, f.maps)
			list.read(i, r)
		}
		group := list.groupOf(r)
		if r.concept != 0 {
			list.groups[group].concept = r.concept
		}
		if h.Status == SignalActive && r.state != matched {
			group = nowhereInList
		} else {
			list.groups[group].count(h.number)
		}
		list.places = append(list.places, int32(group))
	}
	for _, l := range f.e.listed {
		if l.Factor == f.c.index.acknowledged {
			f.acknowledged = max(f.acknowledged, l.Since)
		}
	}
	list.merge()
}

// foldSignals makes the evidence of the statements, identity by identity: first
// what they mean to others, then what they say themselves. An identity of which
// there are the same statements as last time leaves what it left then.
func (f *folder) foldSignals() {
	list, kept := &f.e.statements, f.e.folds
	if kept == nil {
		kept = &list.folds
		kept.list = kept.list[:0]
	} else if kept.maps != f.maps {
		kept.list, kept.maps = kept.list[:0], f.maps
	}
	kept.begin()
	for i := range list.groups {
		g := &list.groups[i]
		if g.into != i || g.size == 0 {
			continue
		}
		at, same := kept.find(g)
		if g.fold = at; !same {
			said := winners(list.fill(f.e, i))
			g.said, g.again = said, true
			kept.list[at].noted = f.note(g.identity, said)
		}
		f.add(kept.list[at].noted)
	}
	for i := range list.groups {
		g := &list.groups[i]
		if g.into != i || g.size == 0 {
			continue
		}
		d := &kept.list[g.fold]
		switch {
		case g.again:
			f.foldIdentity(d, g.said)
		case d.heeds && d.acked != f.acknowledged:
			f.foldIdentity(d, winners(list.fill(f.e, i)))
		}
		for j := range d.pieces {
			if p := &d.pieces[j]; !f.refused(p) {
				f.out = append(f.out, p.Evidence)
			}
		}
	}
	kept.end()
	// A newer Category I also clears what was said under another identity.
	f.out = slices.DeleteFunc(f.out, func(o Evidence) bool {
		return f.isCategory(o.Factor) && o.Last < f.categoryI
	})
}

func (f *folder) isCategory(factor Factor) bool {
	return factor != 0 && (factor == f.c.index.catII || factor == f.c.index.catIII)
}

// winners returns, in place, one statement for each time: the last in order. A
// retraction of something that was observed at that time takes it back as if it
// had never been said, so that what was said before holds again; a drug that
// was entered in error simply does not run.
func winners(all []statement) []statement {
	kept := all[:0]
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].order == all[i].order {
			n++
		}
		last := all[n-1]
		takesBack := last.Status == SignalRetracted && !last.drug &&
			slices.ContainsFunc(all[i:n], func(s statement) bool { return s.Status != SignalRetracted })
		switch {
		case takesBack:
		case len(kept) == n-1:
			kept = all[:n] // it is there already
		default:
			kept = append(kept, last)
		}
		i = n
	}
	return kept
}

// foldIdentity makes the evidence that the statements of one identity leave, in
// order of time.
func (f *folder) foldIdentity(d *folded, said []statement) {
	var few [8]Factor
	factors := few[:0]
	for i := range said {
		for _, m := range said[i].matches {
			if !slices.Contains(factors, m.factor) {
				factors = append(factors, m.factor)
			}
		}
	}
	d.pieces, d.heeds, d.acked = d.pieces[:0], slices.Contains(factors, f.c.index.mews), f.acknowledged
	for _, factor := range factors {
		r := run{c: f.c, f: factor}
		for i := range said {
			f.step(&r, said, i)
		}
		if e, ok := r.evidence(); ok {
			d.pieces = append(d.pieces, piece{f.named(e), r.from.Kind == KindMedication})
		}
	}
}

// step moves a run on by one statement of its identity. A statement that says
// nothing of the factor has no say, unless it ends all that the code stands for.
func (f *folder) step(r *run, said []statement, i int) {
	s := &said[i]
	if i > 0 && f.c.index.becoming.has(r.f) {
		f.silence(r, &said[i-1], s.order)
	}
	if r.f == f.c.index.mews && s.order <= f.acknowledged {
		return
	}
	for _, m := range s.matches {
		if m.factor == r.f {
			r.take(s, m)
			return
		}
	}
	if s.Status != SignalActive {
		r.take(s, match{factor: r.f})
	}
}

// silence asserts the factor that silence about a graver one makes of it, if it
// lasted until the next statement: a Category III that nobody repeats within
// 60 min is as if a Category II had been received (scoring-decisions 17).
func (f *folder) silence(r *run, before *statement, now Instant) {
	for _, m := range before.matches {
		e := f.c.effect(m.factor, m.variant)
		if m.on && e.becomes == r.f && e.silent > 0 && now-before.order >= e.silent {
			r.assume(before.order+e.silent, before, m)
		}
	}
}

// note returns what the statements of one identity mean for other sources. A
// retraction takes back the statement before it, of an infusion the whole run.
func (f *folder) note(id identity, said []statement) noted {
	ix := f.c.index
	var known, newest noted
	infused, below := false, Instant(0)
	for i := range said {
		s := &said[i]
		if s.Status == SignalRetracted {
			newest, infused, below = noted{}, false, 0
			continue
		}
		known.add(newest)
		newest = noted{}
		matches := s.matches
		for _, m := range matches {
			infused = infused || m.factor == ix.mag && s.Kind == KindMedication
			if m.on && m.factor == ix.acknowledged {
				newest.acknowledged = s.order
			}
		}
		known.infused = known.infused || infused && s.Status == SignalEnded
		if s.Status != SignalActive {
			continue
		}
		reached := slices.ContainsFunc(matches, isOn)
		if id.concept == ix.catIII && !reached {
			newest.categoryI = s.order
		}
		if id.concept == ix.obesity {
			if below = 0; !reached {
				below = s.order
			}
		}
	}
	known.add(newest)
	known.add(noted{infused: infused, below: below})
	return known
}

func isOn(m match) bool { return m.on }

// refused reports whether a signal does not count for what it stands for.
// Oxytocin also runs after birth, where it is no induction (C11): the primary by
// ADT or census says where the patient is (scoring-decisions 59).
func (f *folder) refused(e *piece) bool {
	if e.Factor != f.c.index.induction || !e.drug || e.Kind == ByManual {
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
// infusion of magnesium for good (scoring-decisions 19), a newer Category I (18),
// a newer BMI below the limit (51).
func (f *folder) overruled(factor Factor, d *diagnosed) bool {
	switch {
	case factor == f.c.index.mag:
		return f.infused
	case f.isCategory(factor):
		return f.categoryI > d.Start
	case factor == f.c.index.obesity:
		return f.below > d.Start
	}
	return false
}

// foldListed adds the evidence of the modifiers that the census lists. A warning
// that was listed before it was acknowledged is an old one until the census
// has once left it out.
func (f *folder) foldListed() {
	for _, l := range f.e.listed {
		if l.Factor == f.c.index.mews && l.Since <= f.acknowledged {
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

// compareEvidence is the order of evidence: by factor, then by source.
func compareEvidence(a, b Evidence) int {
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
