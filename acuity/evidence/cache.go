package evidence

import (
	"math"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// Cache keeps what the statements of one patient amounted to, code by code, when her
// evidence was last made. A new statement moves its code on by one step. A code is
// folded anew if the statement is not the newest, or if one was lost. The whole cache is
// made anew if the owner of the statements changed, or how they are read.
type Cache struct {
	known bool // false: the cache holds nothing
	cat   *catalogue.Catalogue
	maps  *terminology.Mappings
	owner Owner // of the statements
	apart bool  // the statements of each fetus are folded apart

	members []member
	list    []codeFold
}

// member is an identity with statements.
type member struct {
	of      *terminology.MatchedSignal // one of its statements
	concept catalogue.Factor           // the concept that the code is one of many codes of; 0: none
}

// codeFold is what the statements of one identity amount to. If many codes stand for one
// concept, it is what the statements of all of them amount to.
type codeFold struct {
	of        *terminology.MatchedSignal // has the identity; nil: a concept
	concept   catalogue.Factor
	apart     bool           // of the statements about one fetus alone, or that name none
	fetus     string         // that fetus; "": none is named, or those of all are folded together
	stale     bool           // must be folded anew: a statement was lost
	more      bool           // there are new statements
	retracted bool           // a retraction is among the statements
	droppedAt acuity.Instant // time of the latest lost statement, if none was added since; 0: none was lost

	upTo       int64                      // number of the last statement
	newest     acuity.Instant             // latest time of one
	last       *terminology.MatchedSignal // of the last statement that counts; nil: none
	lastAt     acuity.Instant             // its time
	heedsAck   bool                       // the assertions depend on the newest acknowledgement of all statements
	acked      acuity.Instant             // the acknowledgement that they were folded with
	effects    *crossEffects              // nil: no effect on other codes
	assertions []assertion                // one for each factor that the statements are about
}

// Forget makes the next fold start anew; a nil cache is left alone.
func (c *Cache) Forget() {
	if c != nil {
		c.known = false
	}
}

// Invalidate records that a statement was added or lost. It reports whether that can
// change the evidence.
func (c *Cache) Invalidate(h *Statement, lost bool) bool {
	r := h.MatchedSignal
	if r.Concept == 0 && !r.Counts() {
		return false
	}
	if c == nil {
		return true
	}
	for i := range c.members {
		m := &c.members[i]
		if !m.of.Is(r) {
			continue
		}
		if r.Concept != 0 && r.Concept != m.concept {
			c.known = false
			return true
		}
		for j := range c.list {
			switch f := &c.list[j]; {
			case !f.has(m):
			case lost && !f.stale && !f.more:
				f.droppedAt = max(f.droppedAt, h.OrderTime())
			default:
				f.stale, f.more = f.stale || lost || f.droppedAt != 0 || h.Number <= f.upTo, true
			}
		}
		return true
	}
	c.known = false // a new identity
	return true
}

// has reports whether an identity is part of the fold.
func (f *codeFold) has(m *member) bool {
	if f.apart && f.fetus != m.of.Identity.Fetus {
		return false
	}
	if f.of == nil {
		return f.concept == m.concept
	}
	return m.concept == 0 && f.of.HasCodeOf(m.of)
}

// refresh brings the cache up to the statements. Assertions follow later, when all cross
// effects are known.
func (f *builder) refresh(cache *Cache) {
	if !f.holds(cache) || !f.conceptsHold(cache) {
		f.groupByCode(cache)
	}
	f.said = f.e.said[:0]
	for i := range cache.list {
		f.said = append(f.said, nil)
		if d := &cache.list[i]; d.stale || d.droppedAt != 0 && !f.dropOldest(cache, d) || d.more && !f.foldNew(cache, i) {
			f.refold(cache, i)
		}
	}
	f.e.said = f.said
}

// holds reports whether the cache is of this patient, and was read with the present
// rules.
func (f *builder) holds(cache *Cache) bool {
	return cache.known && cache.cat == f.Catalogue && cache.maps == f.Mappings && cache.owner == f.e.Owner && cache.apart == f.apart
}

// conceptsHold reports whether each code still belongs to the same concept after
// statements were lost.
func (f *builder) conceptsHold(cache *Cache) bool {
	for i := range cache.list {
		if d := &cache.list[i]; !d.stale && d.droppedAt == 0 {
			continue
		}
		for j := range cache.members {
			m := &cache.members[j]
			// No statement has a greater concept: see Invalidate.
			if cache.list[i].has(m) && m.concept != 0 && !f.saysConcept(cache, m) {
				return false
			}
		}
	}
	return true
}

// saysConcept reports whether a statement of the member's code still has its concept,
// whatever fetus it names.
func (f *builder) saysConcept(cache *Cache, m *member) bool {
	return slices.ContainsFunc(cache.members, func(o member) bool {
		return o.of.HasCodeOf(m.of) && slices.ContainsFunc(f.e.Statements, func(l *Statements) bool { return f.hasConcept(l.find(o.of), m.concept) })
	})
}

// groupByCode sorts the statements by identity. A code belongs to a concept if any
// statement of it does, even where other statements lack the display that says so.
func (f *builder) groupByCode(cache *Cache) {
	*cache = Cache{known: true, cat: f.Catalogue, maps: f.Mappings, owner: f.e.Owner, apart: f.apart, members: cache.members[:0], list: cache.list[:0]}
	for _, l := range f.e.Statements {
		for i := range l.list {
			t := &l.list[i]
			concept, said := f.conceptOf(t)
			if !said {
				continue
			}
			at := slices.IndexFunc(cache.members, func(m member) bool { return m.of.Is(t.of) })
			if at < 0 {
				at = len(cache.members)
				cache.members = append(tight(cache.members, 4), member{of: t.of})
			}
			cache.members[at].concept = max(cache.members[at].concept, concept)
		}
	}
	for i := range cache.members {
		for j := range cache.members {
			if m, o := &cache.members[i], &cache.members[j]; o.concept > m.concept && o.of.HasCodeOf(m.of) {
				m.concept = o.concept
			}
		}
	}
	for i := range cache.members {
		m := &cache.members[i]
		if slices.ContainsFunc(cache.list, func(d codeFold) bool { return d.has(m) }) {
			continue
		}
		d := cache.open()
		d.concept, d.stale, d.apart = m.concept, true, f.apart
		if f.apart {
			d.fetus = m.of.Identity.Fetus
		}
		if m.concept == 0 {
			d.of = m.of
		}
	}
}

// open appends an empty fold, in the memory of an old one.
func (c *Cache) open() *codeFold {
	n := len(c.list)
	if n < cap(c.list) {
		c.list = c.list[:n+1]
		c.list[n] = codeFold{assertions: c.list[n].assertions[:0]}
	} else {
		c.list = append(tight(c.list, 4), codeFold{})
	}
	return &c.list[n]
}

// conceptOf returns the concept of the patient's statements of one identity; false: she
// has none.
func (f *builder) conceptOf(t *codeStatements) (concept catalogue.Factor, said bool) {
	for i := range t.statements {
		if h := &t.statements[i]; h.Owner == f.e.Owner {
			concept, said = max(concept, h.Concept), true
		}
	}
	return concept, said
}

// hasConcept reports whether a statement of the patient has a concept; nil: there are no
// statements.
func (f *builder) hasConcept(t *codeStatements, concept catalogue.Factor) bool {
	if t == nil {
		return false
	}
	for i := range t.statements {
		if h := &t.statements[i]; h.Concept == concept && h.Owner == f.e.Owner {
			return true
		}
	}
	return false
}

// foldNew folds the new statements of the i-th identity. It returns false if they are
// not all later than the known ones, or are about a factor without an assertion.
func (f *builder) foldNew(cache *Cache, i int) bool {
	d := &cache.list[i]
	said := f.statements(cache, d, d.upTo)
	if len(said) > 0 && (said[0].order <= d.newest || !d.follows(said)) {
		return false
	}
	if slices.ContainsFunc(said, isRetraction) {
		return false // it takes back a statement that is folded
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

// moveAssertions moves the assertions of the i-th identity on by the statements of this
// step. If they depend on an acknowledgement that changed, it folds them anew.
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

// statements returns the statements of an identity that count and have a number above
// after, in order of time.
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

// dropOldest updates a folded code after its oldest statements were lost, without
// folding the rest. Full lists lose one statement for each new one, and folding the
// others anew would be most of the work of a long stay. Only the clock of an assertion
// depends on what was before a statement that decides every assertion. An assertion that
// began earlier now begins with it. It returns false if more may have changed; then the
// code must be folded anew.
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

// first returns the earliest statement of an identity that counts. alone is false if
// there is none, or if another has the same time. It is false for a medication too: the
// earliest statement need not have the earliest clock.
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
