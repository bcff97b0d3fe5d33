package evidence

import (
	"slices"

	"svc/acuity"
	"svc/acuity/terminology"
)

// dropOldest updates a folded code after its oldest statements were lost, without
// folding the rest. Full lists lose one statement for each new one, and folding the
// others anew would be most of the work of a long stay. Only the clock of an assertion
// depends on what was before a statement that decides every assertion. An assertion that
// began earlier now begins with it. It returns false if more may have changed; then the
// code must be folded anew.
func (f *builder) dropOldest(kept *Cache, d *codeFold) bool {
	lost := d.droppedAt
	d.droppedAt = 0
	first, alone := f.first(kept, d)
	if !alone || first.order <= lost || first.Status != acuity.SignalActive || d.effects.isOlder(first.order) {
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
func (f *builder) first(kept *Cache, d *codeFold) (first orderedStatement, alone bool) {
	for i := range kept.members {
		m := &kept.members[i]
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

// isOlder reports whether an effect on other codes comes from a statement before an
// instant.
func (n *crossEffects) isOlder(than acuity.Instant) bool {
	if n == nil {
		return false
	}
	older := func(at acuity.Instant) bool { return at != 0 && at < than }
	return older(n.known.acknowledged) || older(n.known.categoryI) || older(n.known.calm) || older(n.below) || older(n.was)
}
