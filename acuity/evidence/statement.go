package evidence

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// Statement is one stored clinical statement, in 56 bytes. There are very many statements, so those with equal text
// share the matched signal.
type Statement struct {
	*terminology.MatchedSignal // content of the statement

	Number     int64 // sequence number by arrival, unique in the hospital
	ReceivedAt acuity.Instant
	ObservedAt acuity.Instant // 0: not sent
	StartedAt  acuity.Instant // 0: not sent
	Owner      Owner
	Room       int32 // as sent, for the caller's use only; evidence does not depend on the room
	Settled    bool  // whether the owner is final, see facts.StatementState.Settled
}

// Owner is the owner of a statement. It is a number, not a pointer: there are thousands of statements, and the garbage
// collector would follow each pointer. The caller defines what the numbers mean. Statements with equal owners are about
// the same patient.
type Owner struct {
	ID   int32
	Kind OwnerKind
}

// OwnerKind distinguishes owners with equal ids.
type OwnerKind uint8

// OrderTime returns the time by which statements are ordered: the time of the observation or, if it is missing, the
// start (except for a medication) or else the receipt. The result is never after the receipt
// (docs/decisions.md#signal-time).
func (h *Statement) OrderTime() acuity.Instant {
	if h.Kind != catalogue.KindMedication {
		return h.firstOf(h.ObservedAt, h.StartedAt)
	}
	return h.firstOf(h.ObservedAt, 0)
}

// clockStart returns the time at which the statement's clock starts.
func (h *Statement) clockStart() acuity.Instant {
	if h.Kind == catalogue.KindMedication {
		return h.firstOf(h.StartedAt, h.ObservedAt)
	}
	return h.firstOf(h.ObservedAt, h.StartedAt)
}

// firstOf returns the first nonzero value among a, b and the receipt, but never a time after the receipt.
func (h *Statement) firstOf(a, b acuity.Instant) acuity.Instant {
	switch {
	case a != 0:
		return min(a, h.ReceivedAt)
	case b != 0:
		return min(b, h.ReceivedAt)
	}
	return h.ReceivedAt
}

// Matters reports whether the statement can change the evidence of its owner.
func (h *Statement) Matters() bool { return h.Concept != 0 || h.Counts() }

// orderedStatement is one clinical statement with its order time and clock time.
type orderedStatement struct {
	*Statement
	order, clock acuity.Instant
	drug         bool // whether the statement is about a medication and its code belongs to no concept
}

// compareStatements orders statements with the same identity by time, then by time of receipt, then by grade.
// Remaining ties are ordered by content, so the order within a request has no effect.
func compareStatements(a, b orderedStatement) int {
	if a.order != b.order {
		return cmp.Compare(a.order, b.order)
	}
	if c := cmp.Or(
		cmp.Compare(a.ReceivedAt, b.ReceivedAt),
		cmp.Compare(a.Grade, b.Grade),
		cmp.Compare(b.clock, a.clock), // the earlier start wins
	); c != 0 {
		return c
	}
	return compareContent(a.Statement, b.Statement)
}

// compareContent orders statements by content.
func compareContent(a, b *Statement) int {
	return cmp.Or(
		cmp.Compare(a.Feed, b.Feed),
		cmp.Compare(a.System, b.System),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Display, b.Display),
		cmp.Compare(a.Fetus, b.Fetus),
		cmp.Compare(a.Value.Kind, b.Value.Kind),
		cmp.Compare(a.Value.Op, b.Value.Op),
		cmp.Compare(a.Value.Number, b.Value.Number),
		cmp.Compare(a.Value.Unit, b.Value.Unit),
		cmp.Compare(a.Value.Words, b.Value.Words),
		cmp.Compare(a.StartedAt, b.StartedAt),
		cmp.Compare(a.ObservedAt, b.ObservedAt),
	)
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// winners returns, in place, one statement for each time: the last one that no later statement with the same time
// retracts. A retraction with a different time removes the last statement before it; a retraction with a value
// removes the last statement with that value. The result is as if a retracted statement had never been sent: the
// statement before it counts again. The retraction of a drug, however, only ends the drug's current run.
func winners(all []orderedStatement) []orderedStatement {
	kept := all[:0]
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].order == all[i].order {
			n++
		}
		switch last := winner(all[i:n]); {
		case last < 0:
		case isRetraction(all[i+last]):
			kept = retract(kept, all[i+last].MatchedSignal)
		case len(kept) == n-1:
			kept = all[:n] // the winner is already in the list
		default:
			kept = append(kept, all[i+last])
		}
		i = n
	}
	return kept
}

// isRetraction reports whether a statement removes an earlier one. The retraction of a drug does not: it only ends
// the drug's current run; see winners.
func isRetraction(s orderedStatement) bool { return s.Status == acuity.SignalRetracted && !s.drug }

// retract removes the last statement to which a retraction refers.
func retract(list []orderedStatement, retraction *terminology.MatchedSignal) []orderedStatement {
	for i, one := range slices.Backward(list) {
		if retraction.Retracts(one.MatchedSignal) {
			return slices.Delete(list, i, i+1)
		}
	}
	return list
}

// winner returns the index of the statement that counts among several with the same time, or -1 if all of them are
// retracted. If there are only retractions, the last one counts.
func winner(same []orderedStatement) int {
	last := len(same) - 1
	if !isRetraction(same[last]) {
		return last
	}
	stated := false
	for i := last; i >= 0; i-- {
		if same[i].Status == acuity.SignalRetracted {
			continue
		}
		stated = true
		if !slices.ContainsFunc(same[i+1:], func(s orderedStatement) bool {
			return s.Status == acuity.SignalRetracted && s.Retracts(same[i].MatchedSignal)
		}) {
			return i
		}
	}
	if stated {
		return -1
	}
	return last
}

// eachSuperseded calls the function found with the index of each statement that a later statement about the same
// subject replaces, from the latest such statement to the earliest. The n statements are in order of arrival; a
// statement replaces another only if its time is not earlier.
//
// The function hash returns a hash of a statement's subject, or false if the statement does not count. The function
// same reports whether two statements have the same subject. The function at returns a statement's time.
func eachSuperseded(n int, hash func(i int) (uint64, bool), same func(i, j int) bool, at func(i int) acuity.Instant, found func(i int)) {
	if n < 2 {
		return
	}
	var array [2 * (MaxStatements + spareStatements)]int32
	places := array[:] // by hash: 1 + the index of the subject's statement with the latest time
	if 2*n > len(places) {
		places = make([]int32, 2*n)
	}
	for i := n - 1; i >= 0; i-- {
		h, counts := hash(i)
		if !counts {
			continue
		}
		p := h % uint64(len(places))
		for places[p] != 0 && !same(i, int(places[p]-1)) {
			if p++; p == uint64(len(places)) {
				p = 0
			}
		}
		if places[p] != 0 && at(i) <= at(int(places[p]-1)) {
			found(i)
		} else {
			places[p] = int32(i + 1) //nolint:gosec // the list has a maximum length
		}
	}
}
