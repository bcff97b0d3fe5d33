package evidence

import (
	"math"
	"slices"

	"svc/acuity"
	"svc/acuity/terminology"
)

// foldNew folds the new statements of the i-th identity. It returns false if they are not all later than the known
// statements, or have a factor without an assertion.
func (f *builder) foldNew(cache *Cache, i int) bool {
	d := &cache.list[i]
	said := f.statements(cache, d, d.upTo)
	if len(said) > 0 && (said[0].order <= d.newest || !d.follows(said)) {
		return false
	}
	if slices.ContainsFunc(said, isRetraction) {
		return false // it retracts a statement that is already folded
	}
	f.foldStatements(d, i, said)
	return true
}

// refold folds all statements of the i-th identity.
func (f *builder) refold(cache *Cache, i int) {
	d := &cache.list[i]
	*d = codeFold{of: d.of, concept: d.concept, apart: d.apart, fetus: d.fetus, stale: true, assertions: d.assertions[:0]}
	f.foldStatements(d, i, f.statements(cache, d, math.MinInt64))
}

// foldStatements keeps the winners of the i-th identity, and adds their cross effects.
func (f *builder) foldStatements(d *codeFold, i int, said []orderedStatement) {
	if n := len(said); n > 0 {
		d.newest = said[n-1].order
	}
	d.retracted = d.retracted || slices.ContainsFunc(said, isRetraction)
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
	f.said[i] = said
}

// follows reports whether every factor of the statements has an assertion.
func (f *codeFold) follows(said []orderedStatement) bool {
	for i := range said {
		for _, m := range said[i].Matches {
			if !slices.ContainsFunc(f.assertions, func(r assertion) bool { return r.f == m.Factor }) {
				return false
			}
		}
	}
	return true
}

// moveAssertions updates the assertions of the i-th identity with the statements of this step. If the assertions depend
// on an acknowledgement that changed, it folds them again.
func (f *builder) moveAssertions(cache *Cache, i int) {
	d := &cache.list[i]
	if d.heedsAck && d.acked != f.acknowledged && !d.stale {
		f.refold(cache, i)
	}
	if !d.stale && !d.more {
		return
	}
	said := f.said[i]
	if d.stale {
		f.beginAssertions(d, said)
	}
	for j := range said {
		s := &said[j]
		for k := range d.assertions {
			f.step(&d.assertions[k], d.last, d.lastAt, s)
		}
		d.last, d.lastAt = s.MatchedSignal, s.order
	}
	d.stale, d.more, d.acked = false, false, f.acknowledged
}

// beginAssertions adds an assertion for each factor of the statements.
func (f *builder) beginAssertions(d *codeFold, said []orderedStatement) {
	for i := range said {
		for _, m := range said[i].Matches {
			if !slices.ContainsFunc(d.assertions, func(r assertion) bool { return r.f == m.Factor }) {
				d.assertions = append(tight(d.assertions, 4), assertion{f: m.Factor})
			}
		}
	}
	d.heedsAck = slices.ContainsFunc(d.assertions, func(r assertion) bool { return r.f == terminology.CatalogueIndex().EarlyWarning })
}

// statement returns a statement with its times.
func (f *builder) statement(d *codeFold, h *Statement) orderedStatement {
	return orderedStatement{Statement: h, order: h.OrderTime(), clock: h.clockStart(), drug: d.of != nil && d.of.Identity.Medication}
}

// statements returns the statements of an identity that count and have a number above after, in order of time.
func (f *builder) statements(cache *Cache, d *codeFold, after int64) []orderedStatement {
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
			begin := len(t.statements)
			for begin > 0 && t.statements[begin-1].Number > after {
				begin--
			}
			for j := begin; j < len(t.statements); j++ {
				if h := &t.statements[j]; h.Owner == f.e.Owner && h.Counts() {
					list = append(list, f.statement(d, h))
					d.upTo = max(d.upTo, h.Number)
				}
			}
		}
	}
	f.e.sorted = list
	said := list[first:len(list):len(list)]
	if !slices.IsSortedFunc(said, compareStatements) {
		slices.SortFunc(said, compareStatements)
	}
	return said
}

// dropOldest updates a folded code after its oldest statements were lost, without folding the rest. Full lists drop one
// statement for each new one, and folding the others again would be most of the work of a long stay. After a statement
// that decides every assertion, only the clock of an assertion depends on earlier statements; an assertion that began
// earlier now begins with that statement. dropOldest returns false if more may have changed; then the code must be
// folded again.
func (f *builder) dropOldest(cache *Cache, d *codeFold) bool {
	lost := d.droppedAt
	d.droppedAt = 0
	first, alone := f.first(cache, d)
	if !alone || d.retracted || first.order <= lost || first.Status != acuity.SignalActive || d.effects.isOlder(first.order) {
		return false
	}
	for i := range d.assertions {
		r := &d.assertions[i]
		if !slices.ContainsFunc(first.Matches, func(m terminology.Match) bool { return m.Factor == r.f }) {
			return false
		}
		if r.on && r.began < first.order {
			r.began, r.start = first.order, first.clock
		}
	}
	return true
}

// first returns the earliest statement of an identity that counts. alone is false if there is none, or if another
// statement has the same time. It is also false for a medication, because the earliest statement need not have the
// earliest clock.
func (f *builder) first(cache *Cache, d *codeFold) (first orderedStatement, alone bool) {
	for i := range cache.members {
		m := &cache.members[i]
		if !d.has(m) {
			continue
		}
		if m.of.Identity.Medication {
			return orderedStatement{}, false
		}
		for _, l := range f.e.Statements {
			t := l.find(m.of)
			if t == nil {
				continue
			}
			for j := range t.statements {
				h := &t.statements[j]
				if h.Owner != f.e.Owner || !h.Counts() {
					continue
				}
				s := f.statement(d, h)
				if first.Statement == nil || s.order < first.order {
					first, alone = s, true
				} else if s.order == first.order {
					alone = false
				} else if !t.mixed {
					break // all others are later
				}
			}
		}
	}
	return first, alone
}
