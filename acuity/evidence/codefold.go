package evidence

import (
	"math"
	"slices"

	"svc/acuity/terminology"
)

// foldCode folds the statements with a code, and returns the statements with which to update the code's assertions.
// If the new statements simply follow the statements already folded, it returns only the new ones. Otherwise,
// foldCode starts over and returns all statements.
func (f *builder) foldCode(cache *Cache, d *codeFold) []orderedStatement {
	said, folded := f.statements(cache, d)
	if folded != d.folded || !d.isContinuedBy(said) {
		d.reset()
		said, _ = f.statements(cache, d)
	}
	return f.foldStatements(d, said)
}

// reset removes all statements from the fold.
func (d *codeFold) reset() {
	*d = codeFold{of: d.of, concept: d.concept, apart: d.apart, fetus: d.fetus, upTo: math.MinInt64, assertions: d.assertions[:0]}
}

// isContinuedBy reports whether new statements are later than the folded ones, do not retract any of them, and are
// about the same factors.
func (d *codeFold) isContinuedBy(said []orderedStatement) bool {
	return len(said) == 0 || d.upTo == math.MinInt64 ||
		said[0].order > d.newest && d.hasFactors(said) && !slices.ContainsFunc(said, isRetraction)
}

// foldStatements adds statements and their cross effects to the fold of a code. It returns the statements that remain
// after retractions and ties; see winners.
func (f *builder) foldStatements(d *codeFold, said []orderedStatement) []orderedStatement {
	if n := len(said); n > 0 {
		d.newest = said[n-1].order
	}
	for i := range said {
		d.upTo, d.folded = max(d.upTo, said[i].Number), d.folded+mixNumber(said[i].Number)
	}
	said = winners(said)
	for j := range said {
		s := &said[j]
		if d.effects == nil && (d.concept != 0 || slices.ContainsFunc(s.Matches, hasCrossEffect)) {
			d.effects = &crossEffects{}
		}
		if d.effects != nil {
			d.effects.addStatement(terminology.CatalogueIndex(), d.concept, s)
		}
	}
	return said
}

// mixNumber returns a hash of a statement's number, computed with the mixing function of SplitMix64 (Steele, Lea and
// Flood, 2014). The sum of the hashes identifies a set of statements.
func mixNumber(number int64) uint64 {
	x := uint64(number) + 0x9e3779b97f4a7c15 //nolint:gosec // only the bits matter
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hasFactors reports whether every factor of the statements has an assertion.
func (d *codeFold) hasFactors(said []orderedStatement) bool {
	for i := range said {
		for _, m := range said[i].Matches {
			if !slices.ContainsFunc(d.assertions, func(r assertion) bool { return r.f == m.Factor }) {
				return false
			}
		}
	}
	return true
}

// moveAssertions updates the assertions of the i-th code with the statements that the current pass collected. If the
// assertions depend on an acknowledgment that has changed, it folds all statements again.
func (f *builder) moveAssertions(cache *Cache, i int) {
	d := &cache.list[i]
	if d.heedsAck && d.acked != f.acknowledged {
		d.reset()
		f.said[i] = f.foldCode(cache, d)
	}
	said := f.said[i]
	if d.last == nil {
		f.beginAssertions(d, said)
	}
	for j := range said {
		s := &said[j]
		for k := range d.assertions {
			f.step(&d.assertions[k], d.last, d.lastAt, s)
		}
		d.last, d.lastAt = s.MatchedSignal, s.order
	}
	d.acked = f.acknowledged
}

// beginAssertions adds an assertion for each factor of the statements.
func (f *builder) beginAssertions(d *codeFold, said []orderedStatement) {
	for i := range said {
		for _, m := range said[i].Matches {
			if !slices.ContainsFunc(d.assertions, func(r assertion) bool { return r.f == m.Factor }) {
				d.assertions = append(growTight(d.assertions, 4), assertion{f: m.Factor})
			}
		}
	}
	d.heedsAck = slices.ContainsFunc(d.assertions, func(r assertion) bool { return r.f == terminology.CatalogueIndex().EarlyWarning })
}

// statement returns a statement with its order and clock times.
func (f *builder) statement(d *codeFold, h *Statement) orderedStatement {
	return orderedStatement{Statement: h, order: h.OrderTime(), clock: h.clockStart(), drug: d.of != nil && d.of.Identity.Medication}
}

// statements returns, in time order, the statements with a code whose numbers are greater than d.upTo, and the sum of
// mixNumber over the code's other statements. It ignores statements that do not count.
func (f *builder) statements(cache *Cache, d *codeFold) (said []orderedStatement, others uint64) {
	list := f.e.sorted
	first := len(list)
	for i := range cache.members {
		m := &cache.members[i]
		if !d.has(m) {
			continue
		}
		for _, l := range f.e.Statements {
			t := l.find(m.of)
			if t == nil {
				continue
			}
			for j := range t.statements {
				switch h := &t.statements[j]; {
				case h.Owner != f.e.Owner || !h.Counts():
				case h.Number > d.upTo:
					list = append(list, f.statement(d, h))
				default:
					others += mixNumber(h.Number)
				}
			}
		}
	}
	f.e.sorted = list
	said = list[first:len(list):len(list)]
	if !slices.IsSortedFunc(said, compareStatements) {
		slices.SortFunc(said, compareStatements)
	}
	return said, others
}
