package hospital

import (
	"cmp"
	"slices"
	"sync"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/terminology"
)

// statements takes the clinical statements of a hospital, keeps them within their caps, and
// gives them to their owners.
type statements struct {
	*registry
	names    *names
	matcher  *matcher
	worklist *worklist

	withdrawn withdrawnRooms

	kept int // number of statements
	// restoring holds statements until Restored has read all records.
	restoring []statementRecord

	// What must be written since the last call of Dirty.
	changed []statementRecord // added, or with another owner; in the order in which it happened
	dropped []int64           // numbers of statements, which never come again

	order   []int                // memory for an order of statements
	settled []evidence.Statement // memory for those of a room
	written StatementState       // memory for a record
}

// number gives a statement the next number.
func (k *statements) number(h *evidence.Statement) {
	k.facts.Statements++
	k.kept++
	h.Number = k.facts.Statements
}

// keepStatement adds a statement to those of a room, or of the visit named.
func (k *statements) keepStatement(l *evidence.Statements, h evidence.Statement, visit string) {
	k.matcher.rereadAll(l).Keep(h, k.lose)
	k.changed = append(k.changed, statementRecord{Statement: h, holder: holderName{visit: visit}})
}

// keepResourceStatement adds a statement to those of a visit or a patient. It first reads
// all of them with the present mappings of the unit.
func (k *statements) keepResourceStatement(list *evidence.ResourceStatements, h evidence.ResourceStatement, with holderName) {
	k.matcher.reread(&h.Statement)
	for i := range *list {
		k.matcher.reread(&(*list)[i].Statement)
	}
	list.Keep(h, k.dropResourceStatement)
	k.changed = append(k.changed, statementRecord{Statement: h.Statement, version: h.Version, holder: with})
}

// keepForVisit adds a statement to those of a visit. It touches nothing.
func (k *statements) keepForVisit(v *visit, h *evidence.Statement) {
	h.Owner = evidence.Owner{ID: v.whole().slot, Kind: toVisit}
	h.Settled = true
	k.matcher.reread(h)
	k.keepStatement(&v.statements, *h, v.ID)
}

// addToVisit adds a statement that belongs to the visit for good.
func (k *statements) addToVisit(v *visit, h evidence.Statement) {
	k.keepForVisit(v, &h)
	k.touchEvidence(&h, false)
}

// addStatement adds a statement to a holder.
func (k *statements) addStatement(to holder, h evidence.ResourceStatement) {
	k.work.recountWaiting = k.work.recountWaiting || to.v == nil || to.v.isName()
	switch v := to.v; {
	case v == nil:
		h.Owner = undecided
		h.Settled = false
		k.keepResourceStatement(&to.unassigned.statements, h, holderName{named: &to.unassigned.subjectName})
		k.work.touchUnassigned(to.unassigned)
	case h.Version == nil:
		k.addToVisit(v, h.Statement)
	default:
		h.Owner = evidence.Owner{ID: v.whole().slot, Kind: toVisit}
		h.Settled = true
		k.keepResourceStatement(&v.resourceStatements, h, holderName{visit: v.ID})
		k.touchRoomOf(v)
	}
}

// lose drops the record of a statement, and touches the room of its owner.
func (k *statements) lose(h *evidence.Statement) {
	k.dropRecord(h)
	k.touchEvidence(h, true)
}

// dropRecord drops the record of a statement.
func (k *statements) dropRecord(h *evidence.Statement) {
	k.kept--
	k.dropped = append(k.dropped, h.Number)
}

// dropResourceStatement drops the record of a resource statement.
func (k *statements) dropResourceStatement(h *evidence.ResourceStatement) { k.dropRecord(&h.Statement) }

// settleStatements makes the owners of 24 h old statements of a room final. Owners stay
// the same, so nothing else changes.
func (k *statements) settleStatements(r *room, now acuity.Instant) {
	if at := r.statements.Unsettled; at == 0 || at.Add(settleAfter) > now {
		return
	}
	list := k.settled[:0]
	r.statements.Unsettled = 0
	r.statements.Remove(func(h *evidence.Statement) bool {
		switch {
		case h.Settled:
			return false
		case h.ReceivedAt.Add(settleAfter) > now, h.Owner.Kind == toOccupant: // the occupant may still turn out to be a visit
			r.statements.Unsettled = codes.Soonest(r.statements.Unsettled, h.ReceivedAt)
			return false
		case h.Owner.Kind == toRoom:
			h.Settled = true
			k.changed = append(k.changed, statementRecord{Statement: *h})
			return false
		}
		list = append(list, *h)
		return true
	})
	slices.SortFunc(list, evidence.CompareArrival)
	for i := range list {
		h := &list[i]
		if v := k.visitOfStatement(h); v != nil {
			k.keepForVisit(v, h) // it was the visit's already: no evidence changes
		} else {
			k.lose(h)
		}
	}
	k.settled = emptied(list)
}

// collect keeps the record of a statement until all records are there.
func (k *statements) collect(s *StatementState) {
	r := statementRecord{version: evidence.VersionOf(&s.Signal), holder: holderName{visit: s.Visit}, Statement: evidence.Statement{
		MatchedSignal: k.matcher.share(terminology.TextOf(&s.Signal, s.Feed)), Number: s.Number,
		ReceivedAt: s.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Settled: s.Settled,
		Owner: undecided,
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
	dropped := k.dropped
	slices.Sort(dropped)
	for _, n := range dropped {
		write(k.keys.statement(n), nil)
	}
	list := k.changed
	order := byNumber(list, k.order)
	k.order = order
	for i, at := range order {
		r := &list[at]
		if i+1 < len(order) && list[order[i+1]].Number == r.Number {
			continue
		}
		if _, isDropped := slices.BinarySearch(dropped, r.Number); isDropped {
			continue
		}
		k.written = r.record()
		write(k.keys.statement(r.Number), &k.written)
	}
	k.changed, k.dropped = emptied(k.changed), emptied(k.dropped)
}

// writeByCode writes the statements of a visit or of a room.
func (k *statements) writeByCode(l *evidence.Statements, visit string, write func(key []byte, s Record)) {
	for h := range l.All {
		s := (&statementRecord{Statement: *h, holder: holderName{visit: visit}}).record()
		write(k.keys.statement(s.Number), &s)
	}
}

// writeResourceStatements writes the resource statements of a visit or a patient.
func (k *statements) writeResourceStatements(list []evidence.ResourceStatement, with holderName, write func(key []byte, s Record)) {
	for i := range list {
		s := (&statementRecord{Statement: list[i].Statement, version: list[i].Version, holder: with}).record()
		write(k.keys.statement(s.Number), &s)
	}
}

// statementRecord is a statement with what only its record needs.
type statementRecord struct {
	evidence.Statement
	version *evidence.Version // nil: of no resource
	holder  holderName
}

// holderName names whom a statement is kept with: a visit, for good; the patient whom it
// names; or its room.
type holderName struct {
	visit string
	named *subjectName // the patient; nil: the statement names none
}

// patient returns the name of the patient; the zero value: the statement names none.
func (o *holderName) patient() subjectName {
	if o.named == nil {
		return subjectName{}
	}
	return *o.named
}

// record returns the record as it is written.
func (r *statementRecord) record() StatementState {
	s := StatementState{Number: r.Number, Signal: r.Signal(), ReceivedAt: r.ReceivedAt, Feed: r.Feed, Settled: r.Settled}
	s.Room, s.ObservedAt, s.StartedAt = r.Room, r.ObservedAt, r.StartedAt
	name := r.holder.patient()
	s.Visit, s.Patient, s.Subject = r.holder.visit, name.patient, name.subject
	if v := r.version; v != nil {
		s.Resource, s.UpdatedAt, s.VersionID, s.ObservedFrom = v.Resource, v.UpdatedAt, v.ID, v.ObservedFrom
	}
	return s
}

// byNumber returns the indexes of statements by number, then by index. It reuses order.
func byNumber(list []statementRecord, order []int) []int {
	order = order[:0]
	for i := range list {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(list[a].Number, list[b].Number), cmp.Compare(a, b)) })
	return order
}

// statementRecords have memory for the statements of a restore. Few units are restored
// at once.
var statementRecords = sync.Pool{New: func() any { return new([]statementRecord) }}

// restoreStatements gives the restored statements to their owners, in order of arrival.
// If several records restore one statement, the last counts.
func (k *statements) restoreStatements() {
	list := k.restoring
	order := byNumber(list, k.order)
	for i, at := range order {
		s := &list[at]
		if i+1 < len(order) && list[order[i+1]].Number == s.Number {
			continue
		}
		k.matcher.reread(&s.Statement) // its mapping may be a later record
		if v := k.visits[s.holder.visit]; v != nil {
			k.kept++
			s.Owner = evidence.Owner{ID: v.slot, Kind: toVisit}
			if s.version != nil {
				v.resourceStatements = append(v.resourceStatements, evidence.ResourceStatement{Statement: s.Statement, Version: s.version})
			} else {
				k.matcher.rereadAll(&v.statements).Add(s.Statement)
			}
		} else if s.holder.visit != "" {
			continue
		} else if s.version != nil || s.holder.patient() != (subjectName{}) {
			k.restoreUnassigned(s)
		} else if r := k.room(s.Room); r != nil {
			k.kept++
			k.matcher.rereadAll(&r.statements).Add(s.Statement)
		}
	}
	if k.restoring = nil; list != nil {
		clear(list)
		list = list[:0]
		statementRecords.Put(&list)
	}
}

// restoreUnassigned gives a restored statement to the patient whom it names.
func (k *statements) restoreUnassigned(s *statementRecord) {
	name := s.holder.patient()
	if name == (subjectName{}) {
		name.resource = evidence.WholeResource(s.version.Resource)
	}
	if r := k.names.findOrAdd(name); r != nil {
		k.kept++
		r.statements = append(r.statements, evidence.ResourceStatement{Statement: s.Statement, Version: s.version})
	}
}
