package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// statements keeps the clinical statements of a hospital within their caps.
type statements struct {
	registry    *registry
	assignments *assignments
	matcher     *matcher
	keys        *stateKeys
	facts       *UnitState
	work        *work

	kept int // number of statements
	// restoring holds statements until Restored has read all records.
	restoring []statementRecord

	// What must be written since the last call of Dirty.
	changed []statementRecord // added, or with another owner; in the order in which it happened
	lost    []int64           // numbers of statements, which never come again

	order   []int          // memory for an order of statements
	written StatementState // memory for a record
}

// number gives a statement the next number.
func (k *statements) number(h *statement) {
	k.facts.Statements++
	k.kept++
	h.number = k.facts.Statements
}

// keepStatement adds a statement to those of a room, or of the visit named.
func (k *statements) keepStatement(l *statementsByCode, h statement, visit string) {
	k.matcher.rereadAll(l).keep(h, k.lose)
	k.changed = append(k.changed, statementRecord{statement: h, holder: holderName{visit: visit}})
}

// keepResourceStatement adds a statement to those of a visit or a patient. It first reads
// all of them with the present mappings of the unit.
func (k *statements) keepResourceStatement(list *resourceStatements, h resourceStatement, with holderName) {
	k.matcher.reread(&h.statement)
	for i := range *list {
		k.matcher.reread(&(*list)[i].statement)
	}
	list.keep(h, k.dropResourceStatement)
	k.changed = append(k.changed, statementRecord{statement: h.statement, version: h.version, holder: with})
}

// keepForVisit adds a statement to those of a visit. It invalidates nothing.
func (k *statements) keepForVisit(v *visit, h *statement) {
	h.owner = binding{v, toVisit}.owner()
	h.Settled = true
	k.matcher.reread(h)
	k.keepStatement(&v.statements, *h, v.ID)
}

// addToVisit adds a statement that belongs to the visit for good.
func (k *statements) addToVisit(v *visit, h statement) {
	k.keepForVisit(v, &h)
	k.assignments.invalidateEvidence(&h, false)
}

// addStatement adds a statement to a holder.
func (k *statements) addStatement(to holder, h resourceStatement) {
	k.work.waits = k.work.waits || to.v == nil || to.v.isName()
	switch v := to.v; {
	case v == nil:
		h.owner = binding{kind: notBound}.owner()
		h.Settled = false
		k.keepResourceStatement(&to.unassigned.statements, h, holderName{named: &to.unassigned.subjectName})
		k.work.markUnassigned(to.unassigned)
	case h.version == nil:
		k.addToVisit(v, h.statement)
	default:
		h.owner = binding{v, toVisit}.owner()
		h.Settled = true
		k.keepResourceStatement(&v.resourceStatements, h, holderName{visit: v.ID})
		k.registry.invalidateChart(k.registry.bindingOf(&h.statement))
	}
}

// lose drops the record of a statement, and invalidates the evidence of its
// owner.
func (k *statements) lose(h *statement) {
	k.dropRecord(h)
	k.assignments.invalidateEvidence(h, true)
}

// dropRecord drops the record of a statement.
func (k *statements) dropRecord(h *statement) {
	k.kept--
	k.lost = append(k.lost, h.number)
}

// dropResourceStatement drops the record of a resource statement.
func (k *statements) dropResourceStatement(h *resourceStatement) { k.dropRecord(&h.statement) }

// settleStatements makes the owners of 24 h old statements of a room final. Owners stay
// the same, so nothing else changes.
func (k *statements) settleStatements(r *room, now acuity.Instant) {
	if at := r.statements.unsettled; at == 0 || at.Add(settleAfter) > now {
		return
	}
	list := k.work.settled[:0]
	r.statements.unsettled = 0
	r.statements.remove(func(h *statement) bool {
		switch {
		case h.Settled:
			return false
		case h.ReceivedAt.Add(settleAfter) > now, h.owner.Kind == toOccupant: // the occupant may still turn out to be a visit
			r.statements.unsettled = codes.Soonest(r.statements.unsettled, h.ReceivedAt)
			return false
		case h.owner.Kind == toRoom:
			h.Settled = true
			k.changed = append(k.changed, statementRecord{statement: *h})
			return false
		}
		list = append(list, *h)
		return true
	})
	slices.SortFunc(list, compareArrival)
	for i := range list {
		h := &list[i]
		if v := k.registry.visitOfStatement(h); v != nil {
			k.keepForVisit(v, h) // it was the visit's already: no evidence changes
		} else {
			k.lose(h)
		}
	}
	k.work.settled = emptied(list)
}

// reread reads a statement with the mappings of the unit, if others read it.
func (m *matcher) reread(h *statement) {
	if h.Mappings != m.maps {
		h.MatchedSignal = m.share(h.SignalText)
	}
}

// rereadAll reads statements with the mappings of the unit, if others read them.
func (m *matcher) rereadAll(l *statementsByCode) *statementsByCode {
	l.reread(m.maps, m.share)
	return l
}

// collect keeps the record of a statement until all records are there.
func (k *statements) collect(s *StatementState) {
	r := statementRecord{version: versionOf(&s.Signal), holder: holderName{visit: s.Visit}, statement: statement{
		MatchedSignal: k.matcher.share(terminology.TextOf(&s.Signal, s.Feed)), number: s.Number,
		ReceivedAt: s.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Settled: s.Settled, owner: binding{kind: notBound}.owner(),
	}}
	if name := (subjectName{patient: s.Patient, subject: s.Subject}); name != (subjectName{}) {
		r.holder.named = &name
	}
	if k.restoring == nil {
		k.restoring = *statementRecords.Get().(*[]statementRecord) //nolint:errcheck // nothing else is put there
	}
	k.restoring = append(k.restoring, r)
}

// writeDirty writes the statements that were added, lost or settled. A statement that
// changed several times is written once, as it is now.
func (k *statements) writeDirty(write func(key []byte, s Record)) {
	lost := k.lost
	slices.Sort(lost)
	for _, n := range lost {
		write(k.keys.statement(n), nil)
	}
	list := k.changed
	order := byNumber(list, k.order)
	k.order = order
	for i, at := range order {
		r := &list[at]
		if i+1 < len(order) && list[order[i+1]].number == r.number {
			continue
		}
		if _, gone := slices.BinarySearch(lost, r.number); gone {
			continue
		}
		k.written = r.record()
		write(k.keys.statement(r.number), &k.written)
	}
	k.changed, k.lost = emptied(k.changed), emptied(k.lost)
}

// writeByCode writes the statements of a visit or of a room.
func (k *statements) writeByCode(l *statementsByCode, visit string, write func(key []byte, s Record)) {
	for h := range l.each {
		s := (&statementRecord{statement: *h, holder: holderName{visit: visit}}).record()
		write(k.keys.statement(s.Number), &s)
	}
}

// writeResourceStatements writes the resource statements of a visit or a patient.
func (k *statements) writeResourceStatements(list []resourceStatement, with holderName, write func(key []byte, s Record)) {
	for i := range list {
		s := (&statementRecord{statement: list[i].statement, version: list[i].version, holder: with}).record()
		write(k.keys.statement(s.Number), &s)
	}
}
