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

// MaxStatements is the maximum number of statements that a list keeps. A longer list drops the oldest statements,
// first those that a newer statement about the same subject replaces. A list may exceed the maximum by
// spareStatements and then drops many statements at once, because [Fold] must start over after each drop.
const (
	MaxStatements   = 240
	spareStatements = 16
)

// thinWithin is the time span within which equal repetitions of a statement are merged. It is shorter than every window
// in the catalogue, so merging never interrupts an assertion.
const thinWithin = 15 * time.Minute

// Statements is a list of clinical statements, grouped by identity. It has at most about [MaxStatements] statements.
// A new statement affects only the group with its identity.
type Statements struct {
	list []codeStatements
	size int                   // number of statements in all groups
	maps *terminology.Mappings // the mappings with which the statements were matched

	// Unsettled is a lower bound for the time of receipt of the oldest unsettled statement; 0 means that all
	// statements are settled. The code that settles statements sets Unsettled.
	Unsettled acuity.Instant
}

// codeStatements are the statements with one identity, in order of arrival.
type codeStatements struct {
	of         *terminology.MatchedSignal // one of the statements; all have the same identity
	statements []Statement
	newest     acuity.Instant // latest time of all statements, including removed ones
	mixed      bool           // whether the order of arrival differs from the order of time
}

// find returns the statements with the identity of a matched signal, or nil if there are none. The result is valid
// until a statement is added or removed.
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

// All yields all statements, grouped by identity.
func (l *Statements) All(yield func(*Statement) bool) {
	for i := range l.list {
		for j := range l.list[i].statements {
			if !yield(&l.list[i].statements[j]) {
				return
			}
		}
	}
}

// ByArrival returns copies of the statements that satisfy the given predicate, in order of arrival.
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

// Reread matches all statements again with the given mappings, by calling the function match for each text. The
// mappings determine which of a statement's codings counts, and therefore the statement's identity.
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

// Keep adds a statement. If consecutive statements less than thinWithin apart have the same content, only the first
// and the last remain. If the list then exceeds MaxStatements by more than spareStatements, Keep trims it to
// MaxStatements. Keep calls the function lose for each dropped statement before removing it.
func (l *Statements) Keep(h Statement, lose func(*Statement)) {
	if t := l.find(h.MatchedSignal); t != nil {
		if i := t.findRedundant(&h); i >= 0 && !l.hasRelatedStatement(&h) {
			lose(&t.statements[i])
			l.dropAt(t, i)
		}
	}
	if l.Add(h); l.size > MaxStatements+spareStatements {
		l.trim(lose)
	}
}

// Add adds a statement to the list, whatever the length of the list. In contrast to Keep, it never drops a statement.
func (l *Statements) Add(h Statement) {
	t := l.find(h.MatchedSignal)
	if t == nil {
		l.list = append(growTight(l.list, 4), codeStatements{of: h.MatchedSignal})
		t = &l.list[len(l.list)-1]
	}
	if !h.Settled {
		l.Unsettled = codes.Soonest(l.Unsettled, h.ReceivedAt)
	}
	t.statements = growTight(t.statements, 4)
	at := h.OrderTime()
	i := len(t.statements)
	if i > 0 && h.Number < t.statements[i-1].Number {
		i, _ = slices.BinarySearchFunc(t.statements, h, CompareArrival)
	}
	t.newest, t.mixed = max(t.newest, at), t.mixed || at < t.newest || i < len(t.statements)
	t.statements = slices.Insert(t.statements, i, h)
	l.size++
}

// Remove removes the statements that satisfy the given predicate. It calls the predicate once for each statement.
func (l *Statements) Remove(which func(*Statement) bool) {
	l.size = 0
	for i := range l.list {
		t := &l.list[i]
		from, to := 0, 0 // the remaining statements are nearly always the last ones, so usually nothing is moved
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

// dropAt removes the i-th statement of t. To remove the first statement, it only moves the start of the slice.
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

// findRedundant returns the index of the statement that h makes redundant, or -1. Of three statements with the same
// content within thinWithin, the middle one is redundant.
func (t *codeStatements) findRedundant(h *Statement) int {
	before, first := -1, -1 // the two latest statements before h about the same subject
	at := h.OrderTime()
	ordered := !t.mixed && at >= t.newest // nearly always true
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
		if ordered && !hasSameContent(&t.statements[before], h) {
			return -1
		}
	}
	if first >= 0 && hasSameContent(&t.statements[before], h) && hasSameContent(&t.statements[first], h) &&
		at < t.statements[first].OrderTime().Add(thinWithin) && !t.contradicts(first) {
		return before
	}
	return -1
}

// contradicts reports whether another statement about the same subject, with the same time as the i-th statement, has
// different content. If that other statement counts instead of the i-th, the run of equal statements begins only with
// the first equal statement after the i-th.
func (t *codeStatements) contradicts(i int) bool {
	h := &t.statements[i]
	for j := range t.statements {
		if o := &t.statements[j]; o.OrderTime() == h.OrderTime() && sameSubject(o, h) && !hasSameContent(o, h) {
			return true
		}
	}
	return false
}

// hasRelatedStatement reports whether, within thinWithin before h, another code of the same concept has a statement,
// or the early-warning score was acknowledged. If so, the middle one of three equal statements may begin a run and
// must be kept.
func (l *Statements) hasRelatedStatement(h *Statement) bool {
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

// trim drops the least important statements beyond the maximum: the oldest ones that a newer statement about the same
// subject and patient replaces or, if there are too few, the oldest of all. The list of a room contains statements about
// patients who have left the room.
func (l *Statements) trim(lose func(*Statement)) {
	var old []int64
	for i := range l.list {
		list := l.list[i].statements
		eachSuperseded(len(list), func(j int) (uint64, bool) { return list[j].SubjectHash, true },
			func(j, k int) bool { return list[j].Owner == list[k].Owner && sameSubject(&list[j], &list[k]) },
			func(j int) acuity.Instant { return list[j].OrderTime() },
			func(j int) { old = append(old, list[j].Number) })
	}
	slices.Sort(old)
	isOld := func(h *Statement) bool { _, found := slices.BinarySearch(old, h.Number); return found }
	if excess := l.size - MaxStatements; len(old) >= excess {
		old = old[:excess]
	} else {
		newest := l.ByArrival(func(h *Statement) bool { return !isOld(h) })
		for i := range newest[:excess-len(old)] {
			old = append(old, newest[i].Number)
		}
		slices.Sort(old)
	}
	l.Remove(func(h *Statement) bool {
		if isOld(h) {
			lose(h)
			return true
		}
		return false
	})
}

// growTight grows the capacity of a full list by one more than its length divided by part. Doubling would leave up to
// half of the memory of a hospital's lists unused.
func growTight[T any](list []T, part int) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/part+1), list...)
}

// sameSubject reports whether two statements are about the same subject (docs/decisions.md#signal-identity): they
// have the same code, display name and fetus, both or neither are about a medication, and both or neither are
// settled.
func sameSubject(a, b *Statement) bool {
	if a.MatchedSignal == b.MatchedSignal { // the usual case, which is quick to decide
		return a.Settled == b.Settled
	}
	return a.SubjectHash == b.SubjectHash && (a.Kind == catalogue.KindMedication) == (b.Kind == catalogue.KindMedication) &&
		a.System == b.System && a.Code == b.Code && a.Display == b.Display && a.Fetus == b.Fetus && a.Settled == b.Settled
}

// hasSameContent reports whether two statements about the same subject have the same content.
func hasSameContent(a, b *Statement) bool {
	if a.MatchedSignal == b.MatchedSignal { // the usual case, which is quick to decide
		return a.StartedAt == b.StartedAt
	}
	return a.Status == b.Status && a.Value == b.Value && a.StartedAt == b.StartedAt && a.Feed == b.Feed
}
