// Package evidence turns the clinical statements about one patient into active evidence.
//
// A [Statement] is one statement by a sender. [Statements] and [ResourceStatements] store a limited number of
// statements. [Fold] builds the evidence from an [Input], which contains all data about a patient. With a [Cache],
// Fold adds a new statement to the previous result instead of starting over.
//
// The caller decides which patient a statement belongs to and identifies the patient by an [Owner]. The package never
// reads the clock.
package evidence

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// Fold returns the evidence about one patient: one piece for each active source, ordered by factor and source. It
// resolves everything that does not depend on the clock: the newest statement, the start of an assertion,
// contradictions. Scoring resolves the rest: births, windows and steps. The reader r matches the diagnoses; it must
// be the reader that matched the statements. The result uses memory of e and is valid until the next Fold.
func Fold(e *Input, r *terminology.Reader) []acuity.Evidence {
	f := builder{Reader: r, e: e, out: e.out[:0]}
	f.countFetuses()
	f.foldSignals()
	f.foldDiagnoses()
	f.foldListed()
	f.out = append(f.out, e.Primaries...)
	for i := range f.out {
		if o := &f.out[i]; o.Factor == terminology.CatalogueIndex().Multiples {
			o.Count = max(o.Count, e.Babies, 2)
		}
	}
	slices.SortFunc(f.out, func(a, b acuity.Evidence) int { return compareEvidence(&a, &b) })
	e.out = f.out
	return slices.Compact(f.out)
}

// builder builds the evidence from one Input.
type builder struct {
	*terminology.Reader
	e   *Input
	out []acuity.Evidence

	said [][]orderedStatement // statements that the current pass collected, by index in the cache

	crossEffect
	gestation
}

// foldSignals builds the evidence from the statements. It first determines the effects of each code's statements on
// other codes, and then the evidence of each code.
func (f *builder) foldSignals() {
	cache := f.e.Cache
	if cache == nil {
		cache = &f.e.scratch
		cache.cat = nil // scratch contains the result for the previous patient
	}
	for _, l := range f.e.Listed {
		if l.Factor == terminology.CatalogueIndex().Acknowledged {
			f.acknowledged = max(f.acknowledged, l.Since)
		}
	}
	f.apart = cache.cat != nil && cache.apart || f.isMultiple()
	f.foldAll(cache)
	if several := f.isMultiple(); several != f.apart { // the new evidence changes whether there are several fetuses, so fold again
		f.apart, f.out = several, f.out[:0]
		f.foldAll(cache)
	}
	// Cross effects also remove evidence from other codes.
	f.out = slices.DeleteFunc(f.out, func(o acuity.Evidence) bool { return o.Last < f.cleared(o.Factor, o.Fetus) })
	f.findUnnamed(cache)
	if f.e.Fetuses = 1; f.apart {
		f.e.Fetuses = max(2, f.babies, len(f.fetuses))
	}
}

// foldAll builds the evidence from the statements. If f.apart is true, it folds the statements about each fetus
// separately; the number of fetuses that it finds does not depend on f.apart.
func (f *builder) foldAll(cache *Cache) {
	acknowledged := f.acknowledged // set by the census
	f.refresh(cache)
	f.crossEffect = crossEffect{acknowledged: acknowledged}
	for i := range cache.list {
		f.add(cache.list[i].effects.total())
	}
	f.recordTracings(cache)
	f.foldInfusions()
	for i := range cache.list {
		d := &cache.list[i]
		f.moveAssertions(cache, i)
		for j := range d.assertions {
			if e, ok := d.assertions[j].evidence(); ok && !f.isRefused(&d.assertions[j]) {
				f.out = append(f.out, f.withAssigner(e))
			}
		}
	}
	f.clear()
}

// clear drops the statements that the current pass collected.
func (f *builder) clear() {
	clear(f.e.sorted)
	clear(f.said)
	f.e.sorted = f.e.sorted[:0]
}

// isRefused reports whether a signal does not count for the factor of r. Oxytocin after the birth is not an induction
// (docs/decisions.md#oxytocin-codes). Whether labor has ended depends on the primary factor from ADT or the census
// (docs/decisions.md#oxytocin-section).
func (f *builder) isRefused(r *assertion) bool {
	if r.f != terminology.CatalogueIndex().Induction || r.from.Kind != catalogue.KindMedication || r.by.Kind == acuity.ByManual {
		return false
	}
	return slices.ContainsFunc(f.e.Primaries, func(p acuity.Evidence) bool {
		return p.Factor.EndsLabor()
	})
}

// withAssigner returns e and, if the factor of e is a primary factor, adds the code of the rule that assigned the
// factor.
func (f *builder) withAssigner(e acuity.Evidence) acuity.Evidence {
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

// foldDiagnoses adds the evidence of the diagnoses that no signal overrides.
func (f *builder) foldDiagnoses() {
	for i := range f.e.Diagnoses {
		d := &f.e.Diagnoses[i]
		said := f.Diagnosis(&d.Diagnosis)
		for _, m := range said.Matches {
			fetus := d.fetus(said.Fetus)
			if f.isOverruled(m.Factor, fetus, d) {
				continue
			}
			f.out = append(f.out, f.withAssigner(acuity.Evidence{
				Factor:  m.Factor,
				Variant: m.Variant,
				Count:   m.Count,
				Kind:    m.Kind,
				Start:   d.Start,
				Last:    max(d.Start, d.Last),
				Source:  acuity.Source{Feed: d.Feed, System: said.System, Code: said.Code},
				Fetus:   fetus,
			}))
		}
	}
}

// isOverruled reports whether a signal overrides a diagnosis. A magnesium infusion overrides the diagnosis of
// magnesium even after the infusion has ended (docs/decisions.md#magnesium-infusion). A newer Category I tracing also
// overrides a diagnosis, and so does a newer early-warning score or BMI below the limit
// (docs/decisions.md#category-i, #mews-below-limit, #bmi-below-limit).
func (f *builder) isOverruled(factor catalogue.Factor, fetus string, d *Diagnosis) bool {
	switch factor {
	case terminology.CatalogueIndex().Magnesium:
		return f.infused
	case terminology.CatalogueIndex().Obesity:
		return f.below > d.Start
	}
	return f.cleared(factor, fetus) > d.Start
}

// foldListed adds the evidence of the modifiers that the census lists. A warning that a census listed before the
// warning was acknowledged or cleared does not count again until a census omits it.
func (f *builder) foldListed() {
	for _, l := range f.e.Listed {
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
		cmp.Compare(a.Fetus, b.Fetus),
	)
}

// Input is the data about one patient. The order within each list has no effect. Reusing an Input saves memory.
type Input struct {
	Statements []*Statements        // lists with statements about this patient and others
	Owner      Owner                // owner of the statements that count
	Resources  []*ResourceStatement // statements that all count, regardless of owner; see SortResources
	Diagnoses  []Diagnosis          // current diagnoses from all feeds
	Listed     []Listed
	Primaries  []acuity.Evidence // primary factors of the patient and her newborns, from ADT, censuses and local settings
	Babies     uint8             // number of babies in a multiple birth, from ADT; 0: unknown

	Cache *Cache // cache of this patient; nil: no cache

	// UnnamedFetus and Fetuses are set by Fold. For UnnamedFetus, see acuity.PatientChart; Fetuses is the known number
	// of fetuses, born or unborn; at least 1.
	UnnamedFetus bool
	Fetuses      int

	scratch Cache // used for a patient without a cache
	sortedResources
	sorted  []orderedStatement   // buffer for the statements being folded
	said    [][]orderedStatement // statements for each code
	members []member             // identities that have statements
	out     []acuity.Evidence

	fetuses  []string // buffer for counting fetuses
	tracings []tracing
}

// Diagnosis is a current diagnosis, asserted by an unbroken run of statements.
type Diagnosis struct {
	acuity.Diagnosis
	Start acuity.Instant // onset in the first statement of the run; if missing, the statement's time (docs/decisions.md#diagnosis-since)
	Last  acuity.Instant // time of the newest statement
	Feed  acuity.Channel
	Fetus string // fetus, if the sender names it outside the code and the display
}

// Listed is a modifier that the newest census lists.
type Listed struct {
	Factor      catalogue.Factor
	Since, Last acuity.Instant // times of the first and the newest census in the unbroken run that lists the modifier
}

// Reset empties the input and sets the owner of the statements that count.
func (e *Input) Reset(owner Owner) {
	e.Statements, e.Owner, e.Cache, e.Babies = e.Statements[:0], owner, nil, 0
	e.Resources, e.infusions, e.conditions = e.Resources[:0], e.infusions[:0], e.conditions[:0]
	e.Diagnoses, e.Listed, e.Primaries = e.Diagnoses[:0], e.Listed[:0], e.Primaries[:0]
}

// Conditions yields the current conditions, each with all its codings. Each resource is a separate condition
// (docs/decisions.md#diagnosis-sets). A condition starts at the onset in the first statement of its run or, without an
// onset, at the time of that statement (docs/decisions.md#diagnosis-since). The caller must call [Input.SortResources]
// first, and must add the conditions that count to the diagnoses.
func (e *Input) Conditions(yield func(Diagnosis, []acuity.Coding) bool) {
	more := true
	eachSubject(e.conditions, func(said []*ResourceStatement) {
		d, on := conditionOf(said)
		if !on || !more {
			return
		}
		newest := said[len(said)-1]
		more = yield(d, append(newest.Also.List(), acuity.Coding{System: newest.System, Code: newest.Code}))
	})
}

// conditionOf returns the condition that results from the ordered statements about one resource, and reports whether
// the condition is current. A statement with a different code replaces the condition with a new one.
func conditionOf(said []*ResourceStatement) (d Diagnosis, on bool) {
	var times versionTimes
	for _, h := range said {
		_, started := times.resolve(h)
		if h.Status != acuity.SignalActive {
			on = false
			continue
		}
		p := h.plain()
		at, id := p.OrderTime(), h.Identity
		if !on || d.System != id.System || d.Code != id.Code {
			d = Diagnosis{Diagnosis: acuity.Diagnosis{System: id.System, Code: id.Code}, Start: at, Feed: h.Feed}
			d.Display = h.Display
			if h.StartedAt != 0 && h.StartedAt <= h.ReceivedAt {
				d.Start = started
			}
			on = true
		}
		d.Last, d.Fetus = max(d.Start, at), h.Fetus
	}
	return d, on
}
