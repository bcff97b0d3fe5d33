package hospital

import (
	"cmp"
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

// keepStatement adds a statement to those of a room, or of the visit named. If a run of
// statements says the same within minutes, only its first and last are kept. Beyond the
// cap it drops the oldest statement that a newer one of the same identity replaces, else
// the oldest.
func (k *statements) keepStatement(l *statementsByCode, h statement, visit string) {
	k.matcher.rereadAll(l) // mappings decide the identities
	if t := l.find(h.MatchedSignal); t != nil {
		if i := t.thinned(&h); i >= 0 {
			k.lose(&t.statements[i])
			l.dropAt(t, i)
		}
	}
	for l.size >= capSignals {
		t, i := l.leastMissed()
		k.lose(&t.statements[i])
		l.dropAt(t, i)
	}
	k.changed = append(k.changed, statementRecord{statement: h, owner: owner{visit: visit}})
	l.add(h)
}

// keepResourceStatement adds a statement to those of a visit or a patient. If a run of
// versions says the same within minutes, only its first and last are kept. Beyond the cap
// it drops the statement that matters least. It first reads all statements with the present
// mappings of the unit, because these decide what a statement is about.
func (k *statements) keepResourceStatement(list []resourceStatement, h resourceStatement, of owner) []resourceStatement {
	k.matcher.reread(&h.statement)
	for i := range list {
		k.matcher.reread(&list[i].statement)
	}
	if i := thinned(list, &h); i >= 0 {
		k.dropResourceStatement(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	for len(list) >= capSignals {
		i := leastMissed(list)
		k.dropResourceStatement(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	k.changed = append(k.changed, statementRecord{statement: h.statement, version: h.version, owner: of})
	list = tight(list, 8)
	i, _ := slices.BinarySearchFunc(list, h.number, func(o resourceStatement, number int64) int { return cmp.Compare(o.number, number) })
	return slices.Insert(list, i, h)
}

// keepForVisit adds a statement to those of a visit. It invalidates nothing.
func (k *statements) keepForVisit(v *visit, h *statement) {
	h.bind(binding{v, toVisit})
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
		h.bind(binding{kind: notBound})
		h.Settled = false
		to.unassigned.statements = k.keepResourceStatement(to.unassigned.statements, h, owner{named: &to.unassigned.subjectName})
		k.work.markUnassigned(to.unassigned)
	case h.version == nil:
		k.addToVisit(v, h.statement)
	default:
		h.bind(binding{v, toVisit})
		h.Settled = true
		v.resourceStatements = k.keepResourceStatement(v.resourceStatements, h, owner{visit: v.ID})
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
		case h.ReceivedAt.Add(settleAfter) > now, h.to == toOccupant: // the occupant may still turn out to be a visit
			r.statements.unsettled = codes.Soonest(r.statements.unsettled, h.ReceivedAt)
			return false
		case h.to == toRoom:
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

// collect keeps the record of a statement until all records are there.
func (k *statements) collect(s *StatementState) {
	r := statementRecord{version: versionOf(&s.Signal), owner: owner{visit: s.Visit}, statement: statement{
		MatchedSignal: k.matcher.share(terminology.TextOf(&s.Signal, s.Feed)), number: s.Number,
		ReceivedAt: s.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Settled: s.Settled, to: notBound,
	}}
	if name := (subjectName{patient: s.Patient, subject: s.Subject}); name != (subjectName{}) {
		r.owner.named = &name
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
		s := (&statementRecord{statement: *h, owner: owner{visit: visit}}).record()
		write(k.keys.statement(s.Number), &s)
	}
}

// writeResourceStatements writes the resource statements of a visit or a patient.
func (k *statements) writeResourceStatements(list []resourceStatement, of owner, write func(key []byte, s Record)) {
	for i := range list {
		s := (&statementRecord{statement: list[i].statement, version: list[i].version, owner: of}).record()
		write(k.keys.statement(s.Number), &s)
	}
}
