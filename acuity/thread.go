package acuity

import (
	"cmp"
	"slices"
)

// threads are the clinical statements of a room, or those settled with a visit,
// told apart by identity: a new one has to do with those of its thread alone.
type threads struct {
	list []thread
	size int       // statements of all
	maps *mappings // by which they were read
	// unsettled: no statement that is not settled was received earlier; 0: there is none.
	unsettled Instant
}

// thread is the statements of one identity, in order of arrival.
type thread struct {
	of     *matchedSignal // one of theirs: it has the identity
	said   []Heard
	newest Instant // no statement has a later time
	mixed  bool    // the order of arrival is not that of time
}

// of returns the thread of the statements with the identity of a matched signal; nil if
// there is none. It is valid until a statement comes or goes.
func (l *threads) of(r *matchedSignal) *thread {
	for i := range l.list {
		if l.list[i].of.is(r) {
			return &l.list[i]
		}
	}
	return nil
}

// each yields all statements.
func (l *threads) each(yield func(*Heard) bool) {
	for i := range l.list {
		for j := range l.list[i].said {
			if !yield(&l.list[i].said[j]) {
				return
			}
		}
	}
}

// byArrival returns copies of those statements that which holds for, in order of
// arrival.
func (l *threads) byArrival(which func(*Heard) bool) []Heard {
	var list []Heard
	for h := range l.each {
		if which(h) {
			list = append(list, *h)
		}
	}
	slices.SortFunc(list, compareArrival)
	return list
}

func compareArrival(a, b Heard) int { return cmp.Compare(a.number, b.number) }

// add adds a statement.
func (l *threads) add(h Heard) {
	t := l.of(h.matchedSignal)
	if t == nil {
		l.list = append(tight(l.list, 4), thread{of: h.matchedSignal})
		t = &l.list[len(l.list)-1]
	}
	if !h.Settled {
		l.unsettled = Soonest(l.unsettled, h.ReceivedAt)
	}
	t.said = tight(t.said, 4)
	at := h.orderTime()
	i := len(t.said)
	if i > 0 && h.number < t.said[i-1].number {
		i, _ = slices.BinarySearchFunc(t.said, h, compareArrival)
	}
	t.newest, t.mixed = max(t.newest, at), t.mixed || at < t.newest || i < len(t.said)
	t.said = slices.Insert(t.said, i, h)
	l.size++
}

// remove takes out those statements that which holds for. It asks of each once.
func (l *threads) remove(which func(*Heard) bool) {
	l.size = 0
	for i := range l.list {
		t := &l.list[i]
		from, to := 0, 0 // those that stay: nearly always the last ones, so nothing is moved
		for j := range t.said {
			switch {
			case !which(&t.said[j]):
				if to < j {
					t.said[to] = t.said[j]
				}
				to++
			case from == to:
				from, to = j+1, j+1
			}
		}
		clear(t.said[:from])
		clear(t.said[to:])
		t.said = t.said[from:to]
		l.size += len(t.said)
	}
	l.list = slices.DeleteFunc(l.list, func(t thread) bool { return len(t.said) == 0 })
}

// drop takes the i-th statement out of a thread. A thread that is at its cap loses
// the first one each time: then nothing is moved.
func (l *threads) drop(t *thread, i int) {
	if i == 0 {
		t.said[0] = Heard{}
		t.said = t.said[1:]
	} else {
		t.said = slices.Delete(t.said, i, i+1)
	}
	if l.size--; len(t.said) == 0 {
		l.list = slices.DeleteFunc(l.list, func(t thread) bool { return len(t.said) == 0 })
	}
}

// between returns the place of the statement that h makes superfluous: the one
// in the middle of three that say the same within minutes; -1: there is none.
func (t *thread) between(h *Heard) int {
	before, first := -1, -1 // those that precede h, and before it, about the same
	at := h.orderTime()
	ordered := !t.mixed && at >= t.newest // as nearly always: the last ones are the newest
	for i := len(t.said) - 1; i >= 0 && (first < 0 || !ordered); i-- {
		o := &t.said[i]
		if !sameSubject(o, h) {
			continue
		}
		switch when := o.orderTime(); {
		case when > at:
			return -1 // h is not the newest
		case before < 0 || when > t.said[before].orderTime():
			before, first = i, before
		case first < 0 || when > t.said[first].orderTime():
			first = i
		}
		if ordered && !saysTheSame(&t.said[before], h) {
			return -1
		}
	}
	if first >= 0 && saysTheSame(&t.said[before], h) && saysTheSame(&t.said[first], h) &&
		at < t.said[first].orderTime().Add(thinWithin) {
		return before
	}
	return -1
}

// superseded returns the place of the oldest statement that has a newer one
// about the same; -1: there is none.
func (t *thread) superseded() int {
	subjects := func(i int) (uint64, bool) { return t.said[i].subjectHash, true }
	return superseded(len(t.said), subjects,
		func(i, j int) bool { return sameSubject(&t.said[i], &t.said[j]) },
		func(i int) Instant { return t.said[i].orderTime() })
}

// least returns the statement that is missed least: of those that have a newer
// one of the same subject the oldest, else the oldest of all.
func (l *threads) least() (of *thread, at int) {
	oldest := &l.list[0]
	for i := range l.list {
		t := &l.list[i]
		if t.said[0].number < oldest.said[0].number {
			oldest = t
		}
		if j := t.superseded(); j >= 0 && (of == nil || t.said[j].number < of.said[at].number) {
			of, at = t, j
		}
	}
	if of == nil {
		return oldest, 0
	}
	return of, at
}

// tight makes room in a full list for a part of what is in it, and for one: a
// hospital remembers much, and lists that double leave half of it empty.
func tight[T any](list []T, part int) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/part+1), list...)
}

// sameSubject reports whether two statements are about the same thing
// (scoring-decisions 25), as far as their codes tell.
func sameSubject(a, b *Heard) bool {
	if a.matchedSignal == b.matchedSignal { // the usual case, without work
		return a.Settled == b.Settled
	}
	return a.subjectHash == b.subjectHash && (a.Kind == KindMedication) == (b.Kind == KindMedication) && a.System == b.System && a.Code == b.Code &&
		a.Display == b.Display && a.Settled == b.Settled
}

// saysTheSame reports whether two statements about one thing say the same.
func saysTheSame(a, b *Heard) bool {
	if a.matchedSignal == b.matchedSignal { // the usual case, without work
		return a.StartedAt == b.StartedAt
	}
	return a.Status == b.Status && a.Value == b.Value && a.StartedAt == b.StartedAt && a.Feed == b.Feed
}
