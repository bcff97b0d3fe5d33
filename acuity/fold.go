package acuity

import "slices"

// statements are those of one episode, told apart by identity. The memory is
// used again by the next.
type statements struct {
	groups []group
	places []int32          // the group of each signal of the episode
	other  map[int]*readout // of signals that no unit has read
	sorted []statement      // of the groups that are folded
	folds  folds            // of a patient for whom nothing is kept
	out    []Evidence
}

// group is the statements of one identity.
type group struct {
	identity identity
	key      *identity // of a readout in it
	hash     uint64
	concept  Factor // that one of its statements stands for
	into     int    // the group that it became part of; itself

	size  int32  // how many statements
	sum   uint64 // tells sets of as many statements apart
	fold  int    // index in folds
	again bool   // folded anew
	said  []statement
}

// nowhereInList is the group of a statement that is left out.
const nowhereInList = -1

// count adds a statement by its number.
func (g *group) count(number int64) {
	x := uint64(number) * 0x9E3779B97F4A7C15 //nolint:gosec // the bits are mixed, not counted
	x = (x ^ x>>32) * 0xD6E8FEB86659FD93
	g.size++
	g.sum += x ^ x>>32
}

func (l *statements) reset() {
	clear(l.groups)
	clear(l.other)
	clear(l.sorted)
	l.groups, l.places, l.sorted = l.groups[:0], l.places[:0], l.sorted[:0]
}

// read keeps the readout of a signal that no unit has read.
func (l *statements) read(signal int, r *readout) {
	if l.other == nil {
		l.other = map[int]*readout{}
	}
	l.other[signal] = r
}

// groupOf returns the place of the group of the statements with a readout.
func (l *statements) groupOf(r *readout) int {
	if r.key != nil {
		for i := range l.groups {
			if l.groups[i].key == r.key {
				return i
			}
		}
	}
	at := l.group(&r.identity, r.identityHash)
	l.groups[at].key = r.key
	return at
}

// group returns the place of the group of an identity.
func (l *statements) group(id *identity, hash uint64) int {
	for i := range l.groups {
		if g := &l.groups[i]; g.hash == hash && g.identity == *id {
			return i
		}
	}
	l.groups = append(l.groups, group{identity: *id, hash: hash, into: len(l.groups)})
	return len(l.groups) - 1
}

// merge joins the groups of one concept. A code is one of many of a concept if
// any statement of it is, also where another came without the display that tells.
func (l *statements) merge() {
	merged := false
	for i := range len(l.groups) {
		if concept := l.groups[i].concept; concept != 0 {
			to := l.group(&identity{concept: concept}, uint64(concept)) // may be a new one, at the end
			l.groups[i].into, merged = to, true
			l.groups[to].size += l.groups[i].size
			l.groups[to].sum += l.groups[i].sum
		}
	}
	if !merged {
		return
	}
	for i, g := range l.places {
		if g != nowhereInList {
			l.places[i] = int32(l.groups[g].into) //nolint:gosec // no more than statements
		}
	}
}

// fill returns the statements of a group in order. The groups of one episode are
// filled at most once each.
func (l *statements) fill(e *episode, group int) []statement {
	l.sorted = slices.Grow(l.sorted, int(l.groups[group].size))
	from, drug := len(l.sorted), l.groups[group].identity.medication
	for i, g := range l.places {
		if int(g) != group {
			continue
		}
		h := e.signals[i]
		r := h.readout
		if o := l.other[i]; o != nil {
			r = o
		}
		l.sorted = append(l.sorted, statement{Heard: h, readout: r, order: h.orderTime(), clock: h.clockStart(), drug: drug})
	}
	list := l.sorted[from:]
	if !slices.IsSortedFunc(list, compareStatements) {
		slices.SortFunc(list, compareStatements)
	}
	return list
}

// folds is what the statements of one patient amounted to when her evidence was
// last made, identity by identity.
type folds struct {
	maps *mappings // by which they were read
	list []folded
}

// folded is what the statements of one identity amount to.
type folded struct {
	identity identity
	hash     uint64
	size     int32
	sum      uint64 // with size, of which statements
	used     bool   // in this turn

	noted
	heeds  bool    // it depends on the acknowledgement that noted has from all
	acked  Instant // that it was folded with
	pieces []piece
}

// piece is evidence before it is known what others say.
type piece struct {
	Evidence
	drug bool // by a medication
}

func (d *folds) begin() {
	for i := range d.list {
		d.list[i].used = false
	}
}

// find returns the place of what a group amounts to, and whether it is of the
// same statements.
func (d *folds) find(g *group) (int, bool) {
	at := 0
	for at < len(d.list) && (d.list[at].hash != g.hash || d.list[at].identity != g.identity) {
		at++
	}
	if at == len(d.list) {
		if at < cap(d.list) {
			d.list = d.list[:at+1]
			d.list[at] = folded{pieces: d.list[at].pieces[:0]}
		} else {
			d.list = append(d.list, folded{})
		}
	}
	f := &d.list[at]
	same := f.size == g.size && f.sum == g.sum
	f.identity, f.hash, f.size, f.sum, f.used = g.identity, g.hash, g.size, g.sum, true
	return at, same
}

// end drops what nothing is said of any more.
func (d *folds) end() {
	for i := range d.list {
		if !d.list[i].used {
			d.list = slices.DeleteFunc(d.list, func(f folded) bool { return !f.used })
			return
		}
	}
}
