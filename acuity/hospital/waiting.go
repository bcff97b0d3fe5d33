package hospital

import (
	"slices"

	"svc/acuity"
)

// waitingStatement is a statement that had no visit when it was taken.
type waitingStatement struct {
	unassigned *unassigned
	at         acuity.Instant // at is its receipt
}

// answerWaiting warns of the statements that still have no visit: it may have come in
// the same request.
func (l *unassignedStatements) answerWaiting(in *intake) {
	for _, n := range in.waitingFor {
		if l.people.visitFor(n.unassigned, n.at) == nil {
			in.warn("reference_waiting", "")
		}
	}
}

// stopWaiting makes the unit count anew if statements waited for a visit that becomes
// more than a name.
func (g *registry) stopWaiting(v *visit) {
	g.work.waits = g.work.waits || v.isName() && v.statements.Len()+len(v.resourceStatements) > 0
}

// countWaiting counts the cancels and statements that wait, at the hour of the clock.
func (t *timelines) countWaiting() {
	if !t.work.waits {
		return
	}
	t.work.waits = false
	hour := t.facts.Clock - t.facts.Clock%hourOf
	cancels, statements := 0, 0
	t.cancels = slices.DeleteFunc(t.cancels, func(v *visit) bool {
		n := v.timeline.CancelsWaiting(hour)
		if t.registry.visits[v.ID] == v {
			cancels += n
		}
		v.cancels = n > 0
		return n == 0
	})
	for v := range t.registry.unknown {
		statements += v.statements.Len() + len(v.resourceStatements)
	}
	for _, r := range t.unassigned.bySubject {
		for i := range r.statements {
			if r.statements[i].Owner.ID == 0 {
				statements++
			}
		}
	}
	t.chart.Unit.CancelsWaiting, t.chart.Unit.StatementsWaiting = int32(cancels), int32(statements)
}
