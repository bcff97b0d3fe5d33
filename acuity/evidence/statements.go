package evidence

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// MaxStatements is the number of statements that one list keeps. Beyond it the oldest are
// dropped that have a newer one of the same identity.
const MaxStatements = 240

// thinWithin is the span within which repeats of one statement that say the same are one.
// It is shorter than every window of the catalogue, so no run breaks by it.
const thinWithin = 15 * time.Minute

// Statements are clinical statements by identity, at most [MaxStatements]. A new
// statement only concerns its own identity.
type Statements struct {
	list []codeStatements
	size int                   // of all statements
	maps *terminology.Mappings // the mappings that read them

	// Unsettled is the receipt of the oldest statement that is not settled, or earlier; 0:
	// all are. Who settles statements sets it.
	Unsettled acuity.Instant
}

// codeStatements are the statements of one identity, in order of arrival.
type codeStatements struct {
	of         *terminology.MatchedSignal // one of them: it has the identity
	statements []Statement
	newest     acuity.Instant // latest time of all, also of removed ones
	mixed      bool           // the order of arrival is not the order of time
}

// find returns the statements with the identity of a matched signal; nil: there are
// none. The result is valid until a statement is added or removed.
func (l *Statements) find(r *terminology.MatchedSignal) *codeStatements {
	for i := range l.list {
		if l.list[i].of.Is(r) {
			return &l.list[i]
		}
	}
	return nil
}

// Len returns the number of statements.
func (l *Statements) Len() int { return l.size }

// All yields all statements, one identity after the other.
func (l *Statements) All(yield func(*Statement) bool) {
	for i := range l.list {
		for j := range l.list[i].statements {
			if !yield(&l.list[i].statements[j]) {
				return
			}
		}
	}
}

// ByCode yields the statements of each identity, in order of arrival.
func (l *Statements) ByCode(yield func([]Statement) bool) {
	for i := range l.list {
		if !yield(l.list[i].statements) {
			return
		}
	}
}

// ByArrival returns copies of the statements for which which is true, in order of
// arrival.
func (l *Statements) ByArrival(which func(*Statement) bool) []Statement {
	var list []Statement
	for h := range l.All {
		if which(h) {
			list = append(list, *h)
		}
	}
	slices.SortFunc(list, CompareArrival)
	return list
}

// CompareArrival orders statements by their numbers.
func CompareArrival(a, b Statement) int { return cmp.Compare(a.Number, b.Number) }

// Reread reads all statements with other mappings: match reads one text. Mappings decide
// which of several codings counts, and so the identity.
func (l *Statements) Reread(maps *terminology.Mappings, match func(terminology.SignalText) *terminology.MatchedSignal) {
	if l.maps == maps {
		return
	}
	list := l.ByArrival(func(*Statement) bool { return true })
	*l = Statements{maps: maps}
	for i := range list {
		list[i].MatchedSignal = match(list[i].SignalText)
		l.Add(list[i])
	}
}

// Keep adds a statement. If a run of statements says the same within minutes, only its
// first and last stay. A full list loses the oldest statement that a newer one of the same
// identity replaces, else the oldest. Each goes to lose before it is removed.
func (l *Statements) Keep(h Statement, lose func(*Statement)) {
	if t := l.find(h.MatchedSignal); t != nil {
		if i := t.thinned(&h); i >= 0 && !l.saidOtherwise(&h) {
			lose(&t.statements[i])
			l.dropAt(t, i)
		}
	}
	for l.size >= MaxStatements {
		t, i := l.leastMissed()
		lose(&t.statements[i])
		l.dropAt(t, i)
	}
	l.Add(h)
}

// Add adds a statement that was kept before: no other makes room for it.
func (l *Statements) Add(h Statement) {
	t := l.find(h.MatchedSignal)
	if t == nil {
		l.list = append(tight(l.list, 4), codeStatements{of: h.MatchedSignal})
		t = &l.list[len(l.list)-1]
	}
	if !h.Settled {
		l.Unsettled = codes.Soonest(l.Unsettled, h.ReceivedAt)
	}
	t.statements = tight(t.statements, 4)
	at := h.OrderTime()
	i := len(t.statements)
	if i > 0 && h.Number < t.statements[i-1].Number {
		i, _ = slices.BinarySearchFunc(t.statements, h, CompareArrival)
	}
	t.newest, t.mixed = max(t.newest, at), t.mixed || at < t.newest || i < len(t.statements)
	t.statements = slices.Insert(t.statements, i, h)
	l.size++
}

// Remove removes the statements for which which is true. It calls which once for each.
func (l *Statements) Remove(which func(*Statement) bool) {
	l.size = 0
	for i := range l.list {
		t := &l.list[i]
		from, to := 0, 0 // those that stay are nearly always the last, so nothing is moved
		for j := range t.statements {
			switch {
			case !which(&t.statements[j]):
				if to < j {
					t.statements[to] = t.statements[j]
				}
				to++
			case from == to:
				from, to = j+1, j+1
			}
		}
		clear(t.statements[:from])
		clear(t.statements[to:])
		t.statements = t.statements[from:to]
		l.size += len(t.statements)
	}
	l.list = slices.DeleteFunc(l.list, func(t codeStatements) bool { return len(t.statements) == 0 })
}

// dropAt removes the i-th statement. Statements of one identity that are at the cap lose
// the first each time: then nothing is moved.
func (l *Statements) dropAt(t *codeStatements, i int) {
	if i == 0 {
		t.statements[0] = Statement{}
		t.statements = t.statements[1:]
	} else {
		t.statements = slices.Delete(t.statements, i, i+1)
	}
	if l.size--; len(t.statements) == 0 {
		l.list = slices.DeleteFunc(l.list, func(t codeStatements) bool { return len(t.statements) == 0 })
	}
}

// thinned returns the index of the statement that h makes superfluous: the middle one of
// three that say the same within minutes; -1: none.
func (t *codeStatements) thinned(h *Statement) int {
	before, first := -1, -1 // the two latest before h about the same
	at := h.OrderTime()
	ordered := !t.mixed && at >= t.newest // nearly always
	for i := len(t.statements) - 1; i >= 0 && (first < 0 || !ordered); i-- {
		o := &t.statements[i]
		if !sameSubject(o, h) {
			continue
		}
		switch when := o.OrderTime(); {
		case when > at:
			return -1 // h is not the newest
		case before < 0 || when > t.statements[before].OrderTime():
			before, first = i, before
		case first < 0 || when > t.statements[first].OrderTime():
			first = i
		}
		if ordered && !saysTheSame(&t.statements[before], h) {
			return -1
		}
	}
	if first >= 0 && saysTheSame(&t.statements[before], h) && saysTheSame(&t.statements[first], h) &&
		at < t.statements[first].OrderTime().Add(thinWithin) && !t.contradicts(first) {
		return before
	}
	return -1
}

// contradicts reports whether the i-th statement has another one about the same at its
// instant that says otherwise. The other one may win, and then the next begins the run.
func (t *codeStatements) contradicts(i int) bool {
	h := &t.statements[i]
	for j := range t.statements {
		if o := &t.statements[j]; o.OrderTime() == h.OrderTime() && sameSubject(o, h) && !saysTheSame(o, h) {
			return true
		}
	}
	return false
}

// saidOtherwise reports whether another code of the same concept has a statement within
// minutes, or the score was acknowledged: then the middle one of three may begin the run.
func (l *Statements) saidOtherwise(h *Statement) bool {
	if h.Concept == 0 {
		return false
	}
	since, score := h.OrderTime().Add(-thinWithin), h.Concept == terminology.CatalogueIndex().EarlyWarning
	for i := range l.list {
		t := &l.list[i]
		if t.of.Is(h.MatchedSignal) {
			continue
		}
		for j := len(t.statements) - 1; j >= 0 && (t.mixed || t.statements[j].OrderTime() > since); j-- {
			if o := &t.statements[j]; o.OrderTime() > since && (o.Concept == h.Concept || score && slices.ContainsFunc(o.Matches, acknowledges)) {
				return true
			}
		}
	}
	return false
}

// superseded returns the index of the oldest statement that has a newer one about the
// same; -1: none.
func (t *codeStatements) superseded() int {
	subjects := func(i int) (uint64, bool) { return t.statements[i].SubjectHash, true }
	return superseded(len(t.statements), subjects,
		func(i, j int) bool { return sameSubject(&t.statements[i], &t.statements[j]) },
		func(i int) acuity.Instant { return t.statements[i].OrderTime() })
}

// leastMissed returns the statement that matters least: the oldest that has a newer one
// of the same subject, else the oldest of all.
func (l *Statements) leastMissed() (of *codeStatements, at int) {
	oldest := &l.list[0]
	for i := range l.list {
		t := &l.list[i]
		if t.statements[0].Number < oldest.statements[0].Number {
			oldest = t
		}
		if j := t.superseded(); j >= 0 && (of == nil || t.statements[j].Number < of.statements[at].Number) {
			of, at = t, j
		}
	}
	if of == nil {
		return oldest, 0
	}
	return of, at
}

// tight makes room in a full list for one more, and for a part of its length. A hospital
// keeps much, and lists that double their capacity leave half of it unused.
func tight[T any](list []T, part int) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/part+1), list...)
}

// sameSubject reports whether two statements are about the same thing
// (docs/decisions.md#signal-identity), as far as their codes say.
func sameSubject(a, b *Statement) bool {
	if a.MatchedSignal == b.MatchedSignal { // the usual case, without work
		return a.Settled == b.Settled
	}
	return a.SubjectHash == b.SubjectHash && (a.Kind == catalogue.KindMedication) == (b.Kind == catalogue.KindMedication) &&
		a.System == b.System && a.Code == b.Code && a.Display == b.Display && a.Fetus == b.Fetus && a.Settled == b.Settled
}

// saysTheSame reports whether two statements about one thing say the same.
func saysTheSame(a, b *Statement) bool {
	if a.MatchedSignal == b.MatchedSignal { // the usual case, without work
		return a.StartedAt == b.StartedAt
	}
	return a.Status == b.Status && a.Value == b.Value && a.StartedAt == b.StartedAt && a.Feed == b.Feed
}
