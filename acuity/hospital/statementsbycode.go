package hospital

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// capSignals is the number of statements that one list keeps. Beyond it the oldest are
// dropped that have a newer one of the same identity.
const capSignals = 240

// thinWithin is the span within which repeats of one statement that say the same are one.
// It is shorter than every window of the catalogue, so no run breaks by it.
const thinWithin = 15 * time.Minute

// statementsByCode are clinical statements by identity, at most [capSignals]. A new
// statement only concerns those of its own identity.
type statementsByCode struct {
	list []codeStatements
	size int                   // of all statements
	maps *terminology.Mappings // the mappings that read them

	// unsettled is the receipt of the oldest statement that is not settled, or earlier; 0:
	// all are. Who settles statements sets it.
	unsettled acuity.Instant
}

// codeStatements are the statements of one identity, in order of arrival.
type codeStatements struct {
	of         *terminology.MatchedSignal // one of them: it has the identity
	statements []statement
	newest     acuity.Instant // latest time of all, also of removed ones
	mixed      bool           // the order of arrival is not the order of time
}

// find returns the statements with the identity of a matched signal; nil: there are
// none. The result is valid until a statement is added or removed.
func (l *statementsByCode) find(r *terminology.MatchedSignal) *codeStatements {
	for i := range l.list {
		if l.list[i].of.Is(r) {
			return &l.list[i]
		}
	}
	return nil
}

// count returns the number of statements.
func (l *statementsByCode) count() int { return l.size }

// each yields all statements, one identity after the other.
func (l *statementsByCode) each(yield func(*statement) bool) {
	for i := range l.list {
		for j := range l.list[i].statements {
			if !yield(&l.list[i].statements[j]) {
				return
			}
		}
	}
}

// eachCode yields the statements of each identity, in order of arrival.
func (l *statementsByCode) eachCode(yield func([]statement) bool) {
	for i := range l.list {
		if !yield(l.list[i].statements) {
			return
		}
	}
}

// byArrival returns copies of the statements for which which is true, in order of
// arrival.
func (l *statementsByCode) byArrival(which func(*statement) bool) []statement {
	var list []statement
	for h := range l.each {
		if which(h) {
			list = append(list, *h)
		}
	}
	slices.SortFunc(list, compareArrival)
	return list
}

// compareArrival orders statements by their numbers.
func compareArrival(a, b statement) int { return cmp.Compare(a.number, b.number) }

// reread reads all statements with other mappings: match reads one text. Mappings decide
// which of several codings counts, and so the identity.
func (l *statementsByCode) reread(maps *terminology.Mappings, match func(terminology.SignalText) *terminology.MatchedSignal) {
	if l.maps == maps {
		return
	}
	list := l.byArrival(func(*statement) bool { return true })
	*l = statementsByCode{maps: maps}
	for i := range list {
		list[i].MatchedSignal = match(list[i].SignalText)
		l.add(list[i])
	}
}

// keep adds a statement. If a run of statements says the same within minutes, only its
// first and last stay. A full list loses the oldest statement that a newer one of the same
// identity replaces, else the oldest. lose is called with each statement before it goes.
func (l *statementsByCode) keep(h statement, lose func(*statement)) {
	if t := l.find(h.MatchedSignal); t != nil {
		if i := t.thinned(&h); i >= 0 {
			lose(&t.statements[i])
			l.dropAt(t, i)
		}
	}
	for l.size >= capSignals {
		t, i := l.leastMissed()
		lose(&t.statements[i])
		l.dropAt(t, i)
	}
	l.add(h)
}

// add adds a statement to a list that is not full.
func (l *statementsByCode) add(h statement) {
	t := l.find(h.MatchedSignal)
	if t == nil {
		l.list = append(tight(l.list, 4), codeStatements{of: h.MatchedSignal})
		t = &l.list[len(l.list)-1]
	}
	if !h.Settled {
		l.unsettled = codes.Soonest(l.unsettled, h.ReceivedAt)
	}
	t.statements = tight(t.statements, 4)
	at := h.orderTime()
	i := len(t.statements)
	if i > 0 && h.number < t.statements[i-1].number {
		i, _ = slices.BinarySearchFunc(t.statements, h, compareArrival)
	}
	t.newest, t.mixed = max(t.newest, at), t.mixed || at < t.newest || i < len(t.statements)
	t.statements = slices.Insert(t.statements, i, h)
	l.size++
}

// remove removes the statements for which which is true. It calls which once for each.
func (l *statementsByCode) remove(which func(*statement) bool) {
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
func (l *statementsByCode) dropAt(t *codeStatements, i int) {
	if i == 0 {
		t.statements[0] = statement{}
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
func (t *codeStatements) thinned(h *statement) int {
	before, first := -1, -1 // the two latest before h about the same
	at := h.orderTime()
	ordered := !t.mixed && at >= t.newest // nearly always
	for i := len(t.statements) - 1; i >= 0 && (first < 0 || !ordered); i-- {
		o := &t.statements[i]
		if !sameSubject(o, h) {
			continue
		}
		switch when := o.orderTime(); {
		case when > at:
			return -1 // h is not the newest
		case before < 0 || when > t.statements[before].orderTime():
			before, first = i, before
		case first < 0 || when > t.statements[first].orderTime():
			first = i
		}
		if ordered && !saysTheSame(&t.statements[before], h) {
			return -1
		}
	}
	if first >= 0 && saysTheSame(&t.statements[before], h) && saysTheSame(&t.statements[first], h) &&
		at < t.statements[first].orderTime().Add(thinWithin) {
		return before
	}
	return -1
}

// superseded returns the index of the oldest statement that has a newer one about the
// same; -1: none.
func (t *codeStatements) superseded() int {
	subjects := func(i int) (uint64, bool) { return t.statements[i].SubjectHash, true }
	return superseded(len(t.statements), subjects,
		func(i, j int) bool { return sameSubject(&t.statements[i], &t.statements[j]) },
		func(i int) acuity.Instant { return t.statements[i].orderTime() })
}

// leastMissed returns the statement that matters least: the oldest that has a newer one
// of the same subject, else the oldest of all.
func (l *statementsByCode) leastMissed() (of *codeStatements, at int) {
	oldest := &l.list[0]
	for i := range l.list {
		t := &l.list[i]
		if t.statements[0].number < oldest.statements[0].number {
			oldest = t
		}
		if j := t.superseded(); j >= 0 && (of == nil || t.statements[j].number < of.statements[at].number) {
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

// sameSubject reports whether two statements are about the same thing (scoring-decisions
// 25), as far as their codes say.
func sameSubject(a, b *statement) bool {
	if a.MatchedSignal == b.MatchedSignal { // the usual case, without work
		return a.Settled == b.Settled
	}
	return a.SubjectHash == b.SubjectHash && (a.Kind == catalogue.KindMedication) == (b.Kind == catalogue.KindMedication) && a.System == b.System && a.Code == b.Code &&
		a.Display == b.Display && a.Settled == b.Settled
}

// saysTheSame reports whether two statements about one thing say the same.
func saysTheSame(a, b *statement) bool {
	if a.MatchedSignal == b.MatchedSignal { // the usual case, without work
		return a.StartedAt == b.StartedAt
	}
	return a.Status == b.Status && a.Value == b.Value && a.StartedAt == b.StartedAt && a.Feed == b.Feed
}
