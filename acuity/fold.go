package acuity

import (
	"math"
	"slices"
)

// folds is what the statements of one patient amounted to when her evidence was
// last made, identity by identity. A statement that came since then moves its
// identity on by a step; only if it is not the newest, or one was lost, all of
// its identity are folded again. It is made anew when whose the statements are,
// or how they are read, has changed.
type folds struct {
	known bool // false: nothing of it holds any more
	cat   *Catalogue
	maps  *mappings
	of    binding // whose they are

	members  []member
	distinct bool // no two of them have the same code of the same system
	list     []folded
}

// member is an identity of which something is said.
type member struct {
	of      *matchedSignal // one of its statements
	concept Factor         // that it is one of many codes of; 0: none
}

// folded is what the statements of one identity amount to, or those of all
// identities of one concept.
type folded struct {
	of      *matchedSignal // of the identity; nil: of a concept
	concept Factor
	stale   bool    // to be folded anew: a statement was lost
	more    bool    // statements came
	shed    Instant // time of the latest that was lost, if since then none came; 0: none was

	upTo   int64          // number of the last statement
	newest Instant        // latest time of one
	last   *matchedSignal // of the last that counts; nil: none
	lastAt Instant        // its time
	heeds  bool           // runs depend on the acknowledgement that all statements together tell
	acked  Instant        // that they were folded with
	noting *noting        // nil: nothing that matters to others
	runs   []run          // one for each factor that is spoken of
}

// forget has all of it made anew.
func (d *folds) forget() {
	if d != nil {
		d.known = false
	}
}

// stir notes that a statement came, or is lost. It returns whether that can
// matter.
func (d *folds) stir(h *Heard, lost bool) bool {
	r := h.matchedSignal
	if r.concept == 0 && !r.counts() {
		return false
	}
	if d == nil {
		return true
	}
	for i := range d.members {
		m := &d.members[i]
		if !m.of.is(r) {
			continue
		}
		if r.concept != 0 && r.concept != m.concept {
			d.known = false
			return true
		}
		for j := range d.list {
			switch f := &d.list[j]; {
			case !f.has(m):
			case lost && !f.stale && !f.more:
				f.shed = max(f.shed, h.orderTime())
			default:
				f.stale, f.more = f.stale || lost || f.shed != 0 || h.number <= f.upTo, true
			}
		}
		return true
	}
	d.known = false // a new identity
	return true
}

// has reports whether an identity is part of it.
func (f *folded) has(m *member) bool {
	if f.of == nil {
		return f.concept == m.concept
	}
	return m.concept == 0 && f.of.is(m.of)
}

// hear brings what is kept up to the statements. The runs of what changed follow
// when it is known what all of it means.
func (f *folder) hear(kept *folds) {
	if !f.holds(kept) || !f.areApart(kept) {
		f.tellApart(kept)
	}
	f.said = f.e.said[:0]
	for i := range kept.list {
		f.said = append(f.said, nil)
		if d := &kept.list[i]; d.stale || d.shed != 0 && !f.shed(kept, d) || d.more && !f.hearMore(kept, i) {
			f.hearAll(kept, i)
		}
	}
	f.e.said = f.said
}

// holds reports whether what is kept is of this patient, read as now.
func (f *folder) holds(kept *folds) bool {
	return kept.known && kept.cat == f.c && kept.maps == f.maps && kept.of == f.e.of
}

// areApart reports whether codes are still those of the same concepts, after
// statements were lost.
func (f *folder) areApart(kept *folds) bool {
	for i := range kept.list {
		if d := &kept.list[i]; !d.stale && d.shed == 0 {
			continue
		}
		for j := range kept.members {
			m := &kept.members[j]
			if !kept.list[i].has(m) {
				continue
			}
			// No statement is of a greater concept: see stir.
			if m.concept != 0 && !slices.ContainsFunc(f.e.from, func(l *threads) bool { return f.tells(l.of(m.of), m.concept) }) {
				return false
			}
		}
	}
	return true
}

// tellApart tells the statements apart by identity. A code is one of many of a
// concept if any statement of it is, also where another came without the display
// that tells.
func (f *folder) tellApart(kept *folds) {
	*kept = folds{known: true, cat: f.c, maps: f.maps, of: f.e.of, members: kept.members[:0], list: kept.list[:0]}
	for _, l := range f.e.from {
		for i := range l.list {
			t := &l.list[i]
			concept, said := f.conceptOf(t)
			if !said {
				continue
			}
			at := slices.IndexFunc(kept.members, func(m member) bool { return m.of.is(t.of) })
			if at < 0 {
				at = len(kept.members)
				kept.members = append(tight(kept.members, 4), member{of: t.of})
			}
			kept.members[at].concept = max(kept.members[at].concept, concept)
		}
	}
	kept.distinct = true
	for i := range kept.members {
		m := &kept.members[i]
		kept.distinct = kept.distinct && !slices.ContainsFunc(kept.members[:i], func(o member) bool {
			return o.of.identity.code == m.of.identity.code && o.of.identity.system == m.of.identity.system
		})
		if slices.ContainsFunc(kept.list, func(d folded) bool { return d.has(m) }) {
			continue
		}
		d := kept.open()
		d.concept, d.stale = m.concept, true
		if m.concept == 0 {
			d.of = m.of
		}
	}
}

// open appends an empty entry in the memory of an old one.
func (d *folds) open() *folded {
	n := len(d.list)
	if n < cap(d.list) {
		d.list = d.list[:n+1]
		d.list[n] = folded{runs: d.list[n].runs[:0]}
	} else {
		d.list = append(tight(d.list, 4), folded{})
	}
	return &d.list[n]
}

// conceptOf returns the concept of the patient's statements in a thread; false if
// there are none.
func (f *folder) conceptOf(t *thread) (concept Factor, said bool) {
	for i := range t.said {
		if h := &t.said[i]; h.isOf(f.e.of) {
			concept, said = max(concept, h.concept), true
		}
	}
	return concept, said
}

// tells reports whether a statement of the patient in a thread is of a concept; nil:
// there is no thread.
func (f *folder) tells(t *thread, concept Factor) bool {
	if t == nil {
		return false
	}
	for i := range t.said {
		if h := &t.said[i]; h.concept == concept && h.isOf(f.e.of) {
			return true
		}
	}
	return false
}

// hearMore takes the statements of the i-th identity that came; false: they are
// not all later than those known, or speak of something new.
func (f *folder) hearMore(kept *folds, i int) bool {
	d := &kept.list[i]
	said := f.statements(kept, d, d.upTo)
	if len(said) > 0 && (said[0].order <= d.newest || !d.follows(said)) {
		return false
	}
	f.take(d, i, said)
	return true
}

// hearAll takes all statements of the i-th identity, from the first on.
func (f *folder) hearAll(kept *folds, i int) {
	d := &kept.list[i]
	*d = folded{of: d.of, concept: d.concept, stale: true, runs: d.runs[:0]}
	f.take(d, i, f.statements(kept, d, math.MinInt64))
}

// take takes what statements of the i-th identity mean, in order.
func (f *folder) take(d *folded, i int, said []statement) {
	if n := len(said); n > 0 {
		d.newest = said[n-1].order
	}
	said = winners(said)
	for j := range said {
		s := &said[j]
		if d.noting == nil && (d.concept != 0 || slices.ContainsFunc(s.matches, f.c.index.isNoted)) {
			d.noting = &noting{}
		}
		if d.noting != nil {
			d.noting.take(f.c.index, d.concept, s)
		}
	}
	f.said[i] = said
}

// follows reports whether all that statements speak of has a run.
func (f *folded) follows(said []statement) bool {
	for i := range said {
		for _, m := range said[i].matches {
			if !slices.ContainsFunc(f.runs, func(r run) bool { return r.f == m.factor }) {
				return false
			}
		}
	}
	return true
}

// follow moves the runs of the i-th identity on by the statements of this turn;
// all over again, if they heed an acknowledgement that is another by now.
func (f *folder) follow(kept *folds, i int) {
	d := &kept.list[i]
	if d.heeds && d.acked != f.acknowledged && !d.stale {
		f.hearAll(kept, i)
	}
	if !d.stale && !d.more {
		return
	}
	said := f.said[i]
	if d.stale {
		f.begin(d, said)
	}
	for j := range said {
		s := &said[j]
		for k := range d.runs {
			f.step(&d.runs[k], d.last, d.lastAt, s)
		}
		d.last, d.lastAt = s.matchedSignal, s.order
	}
	d.stale, d.more, d.acked = false, false, f.acknowledged
}

// begin gives each factor that statements speak of a run.
func (f *folder) begin(d *folded, said []statement) {
	for i := range said {
		for _, m := range said[i].matches {
			if !slices.ContainsFunc(d.runs, func(r run) bool { return r.f == m.factor }) {
				d.runs = append(tight(d.runs, 4), run{f: m.factor})
			}
		}
	}
	d.heeds = slices.ContainsFunc(d.runs, func(r run) bool { return r.f == f.c.index.mews })
}

// statement reads a statement as one of those of an identity.
func (f *folder) statement(d *folded, h *Heard) statement {
	return statement{Heard: h, order: h.orderTime(), clock: h.clockStart(), drug: d.of != nil && d.of.identity.medication}
}

// statements returns the statements of an identity that count and have a number
// above after, in order of time.
func (f *folder) statements(kept *folds, d *folded, after int64) []statement {
	list := f.e.sorted
	first := len(list)
	for i := range kept.members {
		m := &kept.members[i]
		if !d.has(m) {
			continue
		}
		for _, l := range f.e.from {
			t := l.of(m.of)
			if t == nil {
				continue
			}
			begin := len(t.said)
			for begin > 0 && t.said[begin-1].number > after {
				begin--
			}
			for j := begin; j < len(t.said); j++ {
				if h := &t.said[j]; h.isOf(f.e.of) && h.counts() {
					list = append(list, f.statement(d, h))
					d.upTo = max(d.upTo, h.number)
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

// winners returns, in place, one statement for each time: the last in order that no
// later one of that time takes back. What was taken back was never said, so that what
// was said before holds again; a drug that was entered in error simply does not run.
func winners(all []statement) []statement {
	kept := all[:0]
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].order == all[i].order {
			n++
		}
		switch last := winner(all[i:n]); {
		case last < 0:
		case len(kept) == n-1:
			kept = all[:n] // it is there already
		default:
			kept = append(kept, all[i+last])
		}
		i = n
	}
	return kept
}

// winner returns the place of the statement that holds of those of one time; -1: none
// does.
func winner(same []statement) int {
	last := len(same) - 1
	if same[last].Status != SignalRetracted || same[last].drug {
		return last
	}
	told := false
	for i := last; i >= 0; i-- {
		if same[i].Status == SignalRetracted {
			continue
		}
		told = true
		if !slices.ContainsFunc(same[i+1:], func(s statement) bool { return s.Status == SignalRetracted && s.takesBack(same[i].matchedSignal) }) {
			return i
		}
	}
	if told {
		return -1
	}
	return last
}
