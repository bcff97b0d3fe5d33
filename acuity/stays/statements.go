package stays

import (
	"cmp"
	"slices"
	"sync"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// Statements stores the clinical statements of a hospital within their caps, and assigns them to their owners.
type Statements struct {
	*registry.Registry
	Names    *identity.Names
	Matcher  *identity.Matcher
	Worklist *identity.Worklist

	Withdrawn WithdrawnRooms

	Kept int // number of statements
	// Restoring holds statements until all records are restored.
	Restoring []StatementRecord

	// The fields below list the pending writes since the last call of WriteDirty.
	changed []StatementRecord // added, or with another owner; in order of the changes
	dropped []int64           // numbers of removed statements, which are never reused

	order   []int                // memory for an order of statements
	settled []evidence.Statement // memory for the settled statements of a room
	written facts.StatementState // memory for a record
}

// Number assigns the next number to a statement.
func (k *Statements) Number(h *evidence.Statement) {
	k.Facts.Statements++
	k.Kept++
	h.Number = k.Facts.Statements
}

// KeepStatement adds a statement to the list of a room, or of the visit that it names.
func (k *Statements) KeepStatement(l *evidence.Statements, h evidence.Statement, visit string) {
	k.Matcher.RereadAll(l).Keep(h, k.Lose)
	k.changed = append(k.changed, StatementRecord{Statement: h, holder: HolderName{Visit: visit}})
}

// keepResourceStatement adds a statement to the list of a visit or a patient. It first matches the whole list with the
// current mappings of the unit.
func (k *Statements) keepResourceStatement(list *evidence.ResourceStatements, h evidence.ResourceStatement, with HolderName) {
	k.Matcher.Reread(&h.Statement)
	for i := range *list {
		k.Matcher.Reread(&(*list)[i].Statement)
	}
	list.Keep(h, k.DropResourceStatement)
	k.changed = append(k.changed, StatementRecord{Statement: h.Statement, version: h.Version, holder: with})
}

// keepForVisit adds a statement to the list of a visit. It touches nothing.
func (k *Statements) keepForVisit(v *registry.Visit, h *evidence.Statement) {
	h.Owner = evidence.Owner{ID: v.Whole().Slot, Kind: registry.ToVisit}
	h.Settled = true
	k.Matcher.Reread(h)
	k.KeepStatement(&v.Statements, *h, v.ID)
}

// AddToVisit adds a statement that permanently belongs to the visit.
func (k *Statements) AddToVisit(v *registry.Visit, h evidence.Statement) {
	k.keepForVisit(v, &h)
	k.touchEvidence(&h)
}

// AddStatement adds a statement to a holder.
func (k *Statements) AddStatement(to identity.Holder, h evidence.ResourceStatement) {
	k.Work.RecountWaiting = k.Work.RecountWaiting || to.V == nil || to.V.IsName()
	switch v := to.V; {
	case v == nil:
		h.Owner = registry.Undecided
		h.Settled = false
		k.keepResourceStatement(&to.Unassigned.Statements, h, HolderName{Named: &to.Unassigned.SubjectName})
		k.Work.TouchUnassigned(to.Unassigned)
	case h.Version == nil:
		k.AddToVisit(v, h.Statement)
	default:
		h.Owner = evidence.Owner{ID: v.Whole().Slot, Kind: registry.ToVisit}
		h.Settled = true
		k.keepResourceStatement(&v.ResourceStatements, h, HolderName{Visit: v.ID})
		if h.Version.Subject != nil {
			k.Names.AddUndecided(v, h.Version.Subject)
		}
		k.TouchRoomOf(v)
	}
}

// Lose drops the record of a statement, and touches the room of its owner.
func (k *Statements) Lose(h *evidence.Statement) {
	k.dropRecord(h)
	k.touchEvidence(h)
}

// dropRecord drops the record of a statement.
func (k *Statements) dropRecord(h *evidence.Statement) {
	k.Kept--
	k.dropped = append(k.dropped, h.Number)
}

// DropResourceStatement drops the record of a resource statement.
func (k *Statements) DropResourceStatement(h *evidence.ResourceStatement) { k.dropRecord(&h.Statement) }

// FinalizeStatements makes the owners of 24 h old statements of a room final. The owners do not change, so nothing else
// does.
func (k *Statements) FinalizeStatements(r *registry.Room, now acuity.Instant) {
	if at := r.Statements.Unsettled; at == 0 || at.Add(registry.SettleAfter) > now {
		return
	}
	list := k.settled[:0]
	r.Statements.Unsettled = 0
	r.Statements.Remove(func(h *evidence.Statement) bool {
		switch {
		case h.Settled:
			return false
		case h.ReceivedAt.Add(registry.SettleAfter) > now, h.Owner.Kind == registry.ToOccupant: // the occupant may still be identified as a visit
			r.Statements.Unsettled = codes.Soonest(r.Statements.Unsettled, h.ReceivedAt)
			return false
		case h.Owner.Kind == registry.ToRoom:
			h.Settled = true
			k.changed = append(k.changed, StatementRecord{Statement: *h})
			return false
		}
		list = append(list, *h)
		return true
	})
	slices.SortFunc(list, evidence.CompareArrival)
	for i := range list {
		h := &list[i]
		if v := k.VisitOfStatement(h); v != nil {
			k.keepForVisit(v, h) // the visit already owned it, so no evidence changes
		} else {
			k.Lose(h)
		}
	}
	k.settled = facts.Emptied(list)
}

// Collect stores the record of a statement until all records are read.
func (k *Statements) Collect(s *facts.StatementState) {
	r := StatementRecord{version: evidence.VersionOf(&s.Signal), holder: HolderName{Visit: s.Visit}, Statement: evidence.Statement{
		MatchedSignal: k.Matcher.Share(terminology.TextOf(&s.Signal, s.Feed)), Number: s.Number,
		ReceivedAt: s.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Settled: s.Settled,
		Owner: registry.Undecided,
	}}
	if name := (registry.SubjectName{Patient: s.Patient, Subject: s.Subject}); name != (registry.SubjectName{}) {
		r.holder.Named = &name
		if s.Visit != "" && r.version != nil {
			r.version.Subject = &evidence.Subject{Patient: s.Patient, Subject: s.Subject}
		}
	}
	if k.Restoring == nil {
		k.Restoring = *statementRecords.Get().(*[]StatementRecord) //nolint:errcheck // no other type is stored
	}
	k.Restoring = append(k.Restoring, r)
}

// WriteDirty writes the statements that were added, removed or settled. A statement that changed several times is
// written once, in its current state.
func (k *Statements) WriteDirty(write func(key []byte, s facts.Record)) {
	dropped := k.dropped
	slices.Sort(dropped)
	for _, n := range dropped {
		write(k.Keys.Statement(n), nil)
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
		write(k.Keys.Statement(r.Number), &k.written)
	}
	k.changed, k.dropped = facts.Emptied(k.changed), facts.Emptied(k.dropped)
}

// WriteByCode writes the statements of a visit or of a room.
func (k *Statements) WriteByCode(l *evidence.Statements, visit string, write func(key []byte, s facts.Record)) {
	for h := range l.All {
		s := (&StatementRecord{Statement: *h, holder: HolderName{Visit: visit}}).record()
		write(k.Keys.Statement(s.Number), &s)
	}
}

// WriteResourceStatements writes the resource statements of a visit or a patient.
func (k *Statements) WriteResourceStatements(list []evidence.ResourceStatement, with HolderName, write func(key []byte, s facts.Record)) {
	for i := range list {
		s := (&StatementRecord{Statement: list[i].Statement, version: list[i].Version, holder: with}).record()
		write(k.Keys.Statement(s.Number), &s)
	}
}

// StatementRecord is a statement with the fields that only its record needs.
type StatementRecord struct {
	evidence.Statement
	version *evidence.Version // nil: not a version of a resource
	holder  HolderName
}

// HolderName identifies where a statement is stored: with a visit permanently, with the patient whom it names, or with
// its room.
type HolderName struct {
	Visit string
	Named *registry.SubjectName // the patient; nil: the statement names none
}

// patient returns the name of the patient, or the zero value if the statement names none.
func (o *HolderName) patient() registry.SubjectName {
	if o.Named == nil {
		return registry.SubjectName{}
	}
	return *o.Named
}

// record returns the record in the form in which it is written.
func (r *StatementRecord) record() facts.StatementState {
	s := facts.StatementState{Number: r.Number, Signal: r.Signal(), ReceivedAt: r.ReceivedAt, Feed: r.Feed, Settled: r.Settled}
	s.Room, s.ObservedAt, s.StartedAt = r.Room, r.ObservedAt, r.StartedAt
	name := r.holder.patient()
	s.Visit, s.Patient, s.Subject = r.holder.Visit, name.Patient, name.Subject
	if v := r.version; v != nil {
		s.Resource, s.UpdatedAt, s.VersionID, s.ObservedFrom, s.StartedFrom = v.Resource, v.UpdatedAt, v.ID, v.ObservedFrom, v.StartedFrom
		if v.Subject != nil && r.holder.Visit != "" {
			s.Patient, s.Subject = v.Subject.Patient, v.Subject.Subject
		}
	}
	return s
}

// byNumber returns the indexes of statements sorted by number, then by index. It reuses order.
func byNumber(list []StatementRecord, order []int) []int {
	order = order[:0]
	for i := range list {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(list[a].Number, list[b].Number), cmp.Compare(a, b)) })
	return order
}

// statementRecords has memory for the statements of a restore. Few units are restored at the same time.
var statementRecords = sync.Pool{New: func() any { return new([]StatementRecord) }}

// RestoreStatements assigns the restored statements to their owners, in order of arrival. If several records restore
// one statement, the last one applies.
func (k *Statements) RestoreStatements() {
	list := k.Restoring
	order := byNumber(list, k.order)
	for i, at := range order {
		s := &list[at]
		if i+1 < len(order) && list[order[i+1]].Number == s.Number {
			continue
		}
		k.Matcher.Reread(&s.Statement) // its mapping may be in a later record
		if v := k.Visits[s.holder.Visit]; v != nil {
			k.Kept++
			s.Owner = evidence.Owner{ID: v.Slot, Kind: registry.ToVisit}
			if s.version != nil {
				v.ResourceStatements = append(v.ResourceStatements, evidence.ResourceStatement{Statement: s.Statement, Version: s.version})
			} else {
				k.Matcher.RereadAll(&v.Statements).Add(s.Statement)
			}
		} else if s.holder.Visit != "" {
			continue
		} else if s.version != nil || s.holder.patient() != (registry.SubjectName{}) {
			k.restoreUnassigned(s)
		} else if r := k.Room(s.Room); r != nil {
			k.Kept++
			k.Matcher.RereadAll(&r.Statements).Add(s.Statement)
		}
	}
	if k.Restoring = nil; list != nil {
		clear(list)
		list = list[:0]
		statementRecords.Put(&list)
	}
}

// restoreUnassigned assigns a restored statement to the patient whom it names.
func (k *Statements) restoreUnassigned(s *StatementRecord) {
	name := s.holder.patient()
	if name == (registry.SubjectName{}) {
		name.Resource = evidence.WholeResource(s.version.Resource)
	}
	if r := k.Names.FindOrAdd(name); r != nil {
		k.Kept++
		r.Statements = append(r.Statements, evidence.ResourceStatement{Statement: s.Statement, Version: s.version})
	}
}
