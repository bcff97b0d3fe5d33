package evidence

import (
	"math"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// In a multiple gestation, a statement about one fetus does not apply to the others, so the statements about each fetus
// are folded separately. Statements that do not name a fetus are also folded separately, because they could be about
// any of the fetuses. In a singleton pregnancy, all statements are about the same fetus, whether or not they name it.

// gestation is what is known about the number of fetuses.
type gestation struct {
	apart    bool     // whether there are several fetuses, so that the statements about each are folded separately
	fetuses  []string // names of the fetuses
	babies   int      // number of babies according to a diagnosis or a feed; 0: unknown
	tracings []tracing
}

// tracing summarizes the heart rate tracings of one fetus.
type tracing struct {
	fetus             string         // "": the tracings do not name a fetus
	categoryI, newest acuity.Instant // times of the newest Category I tracing and of the newest tracing of any category; 0: none
}

// countFetuses determines the number of fetuses from everything except signals that state the number.
func (f *builder) countFetuses() {
	f.babies, f.fetuses = int(f.e.Babies), f.e.fetuses[:0]
	name := func(fetus string) {
		if fetus != "" && !slices.Contains(f.fetuses, fetus) {
			f.fetuses = append(f.fetuses, fetus)
		}
	}
	for _, l := range f.e.Statements {
		for i := range l.list {
			if t := &l.list[i]; t.of.Identity.Fetus != "" && t.namesFetus(f.e.Owner) {
				name(t.of.Identity.Fetus)
			}
		}
	}
	multiples := terminology.CatalogueIndex().Multiples
	for i := range f.e.Diagnoses {
		d := &f.e.Diagnoses[i]
		said := f.Diagnosis(&d.Diagnosis)
		name(d.fetus(said.Fetus))
		for _, m := range said.Matches {
			if m.Factor == multiples {
				f.babies = max(f.babies, int(m.Count), 2)
			}
		}
	}
	if slices.ContainsFunc(f.e.Listed, func(l Listed) bool { return l.Factor == multiples }) {
		f.babies = max(f.babies, 2)
	}
	f.e.fetuses = f.fetuses
}

// namesFetus reports whether at least one of the statements is about the patient, counts, and is not a retraction.
// The identity of the statements must name a fetus.
func (t *codeStatements) namesFetus(owner Owner) bool {
	return slices.ContainsFunc(t.statements, func(h Statement) bool {
		return h.Owner == owner && h.Counts() && h.Status != acuity.SignalRetracted
	})
}

// fetus returns the fetus that a diagnosis concerns: the one that the feed names or, if there is none, the one in the
// code or display.
func (d *Diagnosis) fetus(said string) string {
	if d.Fetus != "" {
		return d.Fetus
	}
	return said
}

// isMultiple reports whether there is more than one fetus. The evidence found so far may also imply several fetuses.
func (f *builder) isMultiple() bool {
	return f.babies >= 2 || len(f.fetuses) >= 2 || slices.ContainsFunc(f.out, func(o acuity.Evidence) bool {
		return o.Factor == terminology.CatalogueIndex().Multiples
	})
}

// recordTracings records the tracing categories of each fetus.
func (f *builder) recordTracings(cache *Cache) {
	f.tracings = f.e.tracings[:0]
	for i := range cache.list {
		if d := &cache.list[i]; d.concept == terminology.CatalogueIndex().CategoryIII {
			n := d.effects.total()
			f.tracings = append(f.tracings, tracing{d.fetus, n.categoryI, n.traced})
		}
	}
	f.e.tracings = f.tracings
}

// categoryI returns when the tracing of a fetus was last Category I, or 0 if it never was. A tracing that does not
// name a fetus is replaced once all fetuses have newer tracings.
func (f *builder) categoryI(fetus string) (at acuity.Instant) {
	if !f.apart {
		fetus = "" // there is only one fetus, so all tracings are about it
	}
	for i := range f.tracings {
		if f.tracings[i].fetus == fetus {
			at = f.tracings[i].categoryI
		}
	}
	if fetus == "" && f.apart {
		at = max(at, f.allTraced())
	}
	return at
}

// allTraced returns the latest instant at or after which every fetus has a tracing that names it, or 0 if some fetus
// has no such tracing.
func (f *builder) allTraced() acuity.Instant {
	since, named := acuity.Instant(math.MaxInt64), 0
	for i := range f.tracings {
		if t := &f.tracings[i]; t.fetus != "" && t.newest != 0 {
			since, named = min(since, t.newest), named+1
		}
	}
	if named < max(2, f.babies, len(f.fetuses)) {
		return 0
	}
	return since
}

// cleared returns when a factor was last denied, whatever source had asserted it, or 0 if it was never denied. A
// Category I tracing denies Categories II and III for the same fetus. An early-warning score below the limit denies the
// warning (docs/decisions.md#mews-below-limit).
func (f *builder) cleared(factor catalogue.Factor, fetus string) acuity.Instant {
	ix := terminology.CatalogueIndex()
	switch {
	case factor == 0:
	case isCategory(ix, factor):
		return f.categoryI(fetus)
	case factor == ix.EarlyWarning:
		return f.calm
	}
	return 0
}

// findUnnamed records whether, in a multiple gestation, several statements with the same code or concept are about a
// fetus that they do not name. Only the newest of these statements counts, although they may be about different
// fetuses. Statements that are older than a tracing of every fetus are ignored.
func (f *builder) findUnnamed(cache *Cache) {
	f.e.UnnamedFetus = false
	if !f.apart {
		return
	}
	ix, replaced := terminology.CatalogueIndex(), f.allTraced()
	for i := range cache.list {
		d := &cache.list[i]
		fetal := d.concept == ix.CategoryIII || slices.ContainsFunc(d.assertions, func(r assertion) bool { return ix.Fetal.Has(r.f) })
		if d.fetus != "" || !fetal || d.lastAt < replaced {
			continue
		}
		n := 0
		for j := range cache.members {
			if !d.has(&cache.members[j]) {
				continue
			}
			for _, l := range f.e.Statements {
				n += f.countStated(l.find(cache.members[j].of))
			}
		}
		f.e.UnnamedFetus = f.e.UnnamedFetus || n >= 2
	}
}

// countStated returns the number of statements about the patient, less the number of retractions.
func (f *builder) countStated(t *codeStatements) (n int) {
	if t == nil {
		return 0
	}
	for i := range t.statements {
		switch h := &t.statements[i]; {
		case h.Owner != f.e.Owner || !h.Counts():
		case h.Status == acuity.SignalRetracted:
			n--
		default:
			n++
		}
	}
	return n
}
