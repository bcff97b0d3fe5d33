package acuity

import "slices"

// shed brings an identity up to the loss of its oldest statements: lists that are
// full lose one of them for each that comes, and folding all the others anew would
// be most of the work of a long stay. After a statement that says where every run
// stands, only the clock of a run tells that it was not the first: one that was on
// before it begins with it now. It returns false if more may have changed; then all
// of the identity are to be folded anew.
func (f *folder) shed(kept *folds, d *folded) bool {
	lost := d.shed
	d.shed = 0
	first, alone := f.first(kept, d)
	if !alone || first.order <= lost || first.Status != SignalActive || d.noting.isOlder(first.order) {
		return false
	}
	for i := range d.runs {
		r := &d.runs[i]
		if !slices.ContainsFunc(first.matches, func(m match) bool { return m.factor == r.f }) {
			return false
		}
		if r.on && r.began < first.order {
			r.began, r.start = first.order, first.clock
		}
	}
	return true
}

// first returns the earliest statement of an identity that counts; false if there
// is none, if another has the same time, or if it need not have the earliest clock,
// as that of a medication.
func (f *folder) first(kept *folds, d *folded) (first statement, alone bool) {
	for i := range kept.members {
		m := &kept.members[i]
		if !d.has(m) {
			continue
		}
		if m.of.identity.medication {
			return statement{}, false
		}
		for _, l := range f.e.from {
			t := l.of(m.of)
			if t == nil {
				continue
			}
			for j := range t.said {
				h := &t.said[j]
				if !h.isOf(f.e.of) || !h.counts() {
					continue
				}
				s := f.statement(d, h)
				if first.Heard == nil || s.order < first.order {
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

// isOlder reports whether something of what statements before the newest mean for
// other sources was said before an instant.
func (n *noting) isOlder(than Instant) bool {
	if n == nil {
		return false
	}
	older := func(at Instant) bool { return at != 0 && at < than }
	return older(n.known.acknowledged) || older(n.known.categoryI)
}
