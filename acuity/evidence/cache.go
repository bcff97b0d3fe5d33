package evidence

import (
	"math"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// Cache stores the result of the last fold for one patient, code by code. If a code has only gained statements that
// are later than the old ones, the new statements are added to the code's result; after any other change, the code is
// folded again. Each fold detects such changes, so callers never have to invalidate a cache.
type Cache struct {
	cat   *catalogue.Catalogue
	maps  *terminology.Mappings
	apart bool // whether the statements about each fetus are folded separately

	members []member
	list    []codeFold
}

// member is an identity that has statements.
type member struct {
	of      *terminology.MatchedSignal // any statement with the identity
	concept catalogue.Factor           // the concept that the code belongs to; 0: none
}

// codeFold is the result of folding the statements of one identity. If several codes belong to one concept, it is the
// result for all of them.
type codeFold struct {
	of      *terminology.MatchedSignal // a statement with the identity; nil: the fold of a concept
	concept catalogue.Factor
	apart   bool   // whether the fold is limited to the statements with the fetus named below
	fetus   string // name of that fetus; "": the statements that do not name one

	upTo       int64                      // highest number of any statement in the fold; math.MinInt64: none
	folded     uint64                     // sum of mixNumber over the statements
	newest     acuity.Instant             // latest time of any statement
	last       *terminology.MatchedSignal // last statement that counts; nil: none
	lastAt     acuity.Instant             // time of the last statement that counts
	heedsAck   bool                       // whether the assertions depend on the newest acknowledgment among all statements
	acked      acuity.Instant             // value of crossEffect.acknowledged when the statements were folded
	effects    *crossEffects              // nil: no effect on other codes
	assertions []assertion                // one for each factor of the statements
}

// has reports whether a member's identity is part of the fold.
func (d *codeFold) has(m *member) bool {
	if d.apart && d.fetus != m.of.Identity.Fetus {
		return false
	}
	if d.of == nil {
		return d.concept == m.concept
	}
	return m.concept == 0 && d.of.HasCodeOf(m.of)
}

// refresh adds the new statements about the patient to the cache. The caller updates the assertions later, once all
// cross effects are known.
func (f *builder) refresh(cache *Cache) {
	f.findMembers()
	same := func(a, b member) bool { return a.concept == b.concept && a.of.Is(b.of) }
	if cache.cat != f.Catalogue || cache.maps != f.Mappings || cache.apart != f.apart || !slices.EqualFunc(cache.members, f.e.members, same) {
		f.groupByCode(cache)
	}
	f.said = f.e.said[:0]
	for i := range cache.list {
		f.said = append(f.said, f.foldCode(cache, &cache.list[i]))
	}
	f.e.said = f.said
}

// findMembers lists the identities that have statements about the patient. A code belongs to a concept if any statement
// with that code does, even if other statements lack the display name that implies the concept.
func (f *builder) findMembers() {
	members := f.e.members[:0]
	for _, l := range f.e.Statements {
		for i := range l.list {
			t := &l.list[i]
			concept, said := f.conceptOf(t)
			if !said {
				continue
			}
			at := slices.IndexFunc(members, func(m member) bool { return m.of.Is(t.of) })
			if at < 0 {
				at = len(members)
				members = append(members, member{of: t.of})
			}
			members[at].concept = max(members[at].concept, concept)
		}
	}
	for i := range members {
		for j := range members {
			if m, o := &members[i], &members[j]; o.concept > m.concept && o.of.HasCodeOf(m.of) {
				m.concept = o.concept
			}
		}
	}
	f.e.members = members
}

// groupByCode empties the cache, and groups the identities by code or concept.
func (f *builder) groupByCode(cache *Cache) {
	members := append(cache.members[:0], f.e.members...)
	*cache = Cache{cat: f.Catalogue, maps: f.Mappings, apart: f.apart, members: members, list: cache.list[:0]}
	for i := range cache.members {
		m := &cache.members[i]
		if slices.ContainsFunc(cache.list, func(d codeFold) bool { return d.has(m) }) {
			continue
		}
		d := codeFold{concept: m.concept, apart: f.apart, upTo: math.MinInt64}
		if f.apart {
			d.fetus = m.of.Identity.Fetus
		}
		if m.concept == 0 {
			d.of = m.of
		}
		cache.list = append(growTight(cache.list, 4), d)
	}
}

// conceptOf returns the concept of the patient's statements with one identity, and reports whether the patient has
// such statements.
func (f *builder) conceptOf(t *codeStatements) (concept catalogue.Factor, known bool) {
	for i := range t.statements {
		if h := &t.statements[i]; h.Owner == f.e.Owner {
			concept, known = max(concept, h.Concept), true
		}
	}
	return concept, known
}
