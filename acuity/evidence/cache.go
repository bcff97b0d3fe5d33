package evidence

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// Cache stores the result of folding the statements of one patient, code by code, from the last fold. A new statement
// advances its code by one step. A code is folded again if the statement is not the newest, or if a statement was
// removed. The whole cache is rebuilt if the owner of the statements changed, or the mappings with which they are
// matched.
type Cache struct {
	known bool // false: the cache is empty
	cat   *catalogue.Catalogue
	maps  *terminology.Mappings
	owner Owner // owner of the statements
	apart bool  // the statements about each fetus are folded separately

	members []member
	list    []codeFold
}

// member is an identity with statements.
type member struct {
	of      *terminology.MatchedSignal // one of its statements
	concept catalogue.Factor           // the concept that has the code as one of many; 0: none
}

// codeFold is the result of folding the statements of one identity. If many codes belong to one concept, it is the
// result for all of them.
type codeFold struct {
	of        *terminology.MatchedSignal // has the identity; nil: a concept
	concept   catalogue.Factor
	apart     bool           // only the statements about one fetus, or those that name none
	fetus     string         // that fetus; "": none is named, or all are folded together
	stale     bool           // must be folded again, because a statement was removed
	more      bool           // there are new statements
	retracted bool           // there is a retraction among the statements
	droppedAt acuity.Instant // time of the latest removed statement, if none was added since; 0: none

	upTo       int64                      // number of the last statement
	newest     acuity.Instant             // latest time of a statement
	last       *terminology.MatchedSignal // last statement that counts; nil: none
	lastAt     acuity.Instant             // time of that statement
	heedsAck   bool                       // the assertions depend on the newest acknowledgement of all statements
	acked      acuity.Instant             // the acknowledgement with which they were folded
	effects    *crossEffects              // nil: no effect on other codes
	assertions []assertion                // one for each factor of the statements
}

// Forget makes the next fold start from scratch. A nil cache is allowed.
func (c *Cache) Forget() {
	if c != nil {
		c.known = false
	}
}

// Invalidate records that a statement was added or removed. It reports whether that can change the evidence.
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

// refresh updates the cache with the statements. The assertions are updated later, when all cross effects are known.
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

// holds reports whether the cache belongs to this patient and was built with the current mappings.
func (f *builder) holds(cache *Cache) bool {
	return cache.known && cache.cat == f.Catalogue && cache.maps == f.Mappings && cache.owner == f.e.Owner && cache.apart == f.apart
}

// conceptsHold reports whether each code still belongs to the same concept after statements were removed.
func (f *builder) conceptsHold(cache *Cache) bool {
	for i := range cache.list {
		if d := &cache.list[i]; !d.stale && d.droppedAt == 0 {
			continue
		}
		for j := range cache.members {
			m := &cache.members[j]
			// No statement has a greater concept, see Invalidate.
			if cache.list[i].has(m) && m.concept != 0 && !f.saysConcept(cache, m) {
				return false
			}
		}
	}
	return true
}

// saysConcept reports whether a statement of the member's code still has its concept, whatever fetus it names.
func (f *builder) saysConcept(cache *Cache, m *member) bool {
	return slices.ContainsFunc(cache.members, func(o member) bool {
		said := func(l *Statements) bool { return f.hasConcept(l.find(o.of), m.concept) }
		return o.of.HasCodeOf(m.of) && slices.ContainsFunc(f.e.Statements, said)
	})
}

// groupByCode groups the statements by identity. A code belongs to a concept if any statement with the code does, even
// where other statements lack the display that implies it.
func (f *builder) groupByCode(cache *Cache) {
	*cache = Cache{
		known: true, cat: f.Catalogue, maps: f.Mappings, owner: f.e.Owner, apart: f.apart,
		members: cache.members[:0], list: cache.list[:0],
	}
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

// open appends an empty fold, reusing the memory of an old one.
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

// conceptOf returns the concept of the patient's statements of one identity, or false if the patient has no such
// statements.
func (f *builder) conceptOf(t *codeStatements) (concept catalogue.Factor, said bool) {
	for i := range t.statements {
		if h := &t.statements[i]; h.Owner == f.e.Owner {
			concept, said = max(concept, h.Concept), true
		}
	}
	return concept, said
}

// hasConcept reports whether a statement of the patient has a concept. t may be nil.
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
