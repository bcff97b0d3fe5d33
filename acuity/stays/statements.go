package stays

import (
	"maps"
	"slices"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// Statements stores a limited number of a hospital's clinical statements, and assigns them to their owners.
type Statements struct {
	*registry.Registry
	Names    *identity.Names
	Matcher  *identity.Matcher
	Worklist *identity.Worklist

	Withdrawn WithdrawnRooms

	Kept int // number of statements

	// pending contains the records that WriteDirty must write, by number. A nil record means that the statement was
	// removed. During a restore, pending contains the records read so far.
	pending map[int64]*statementRecord

	settled []evidence.Statement // buffer for a room's settled statements
	written facts.StatementState // buffer for a record
}

// AssignNumber assigns the next number to a statement.
func (k *Statements) AssignNumber(h *evidence.Statement) {
	k.Facts.Statements++
	k.Kept++
	h.Number = k.Facts.Statements
}

// KeepStatement adds a statement to l, which is the list of the given visit or, if visit is empty, of a room.
func (k *Statements) KeepStatement(l *evidence.Statements, h evidence.Statement, visit string) {
	k.Matcher.RereadAll(l).Keep(h, k.DropStatement)
	k.queueRecord(statementRecord{Statement: h, holder: HolderName{Visit: visit}})
}

// keepResourceStatement adds a statement to the list of a visit or a patient. It first matches the whole list with the
// current mappings of the unit.
func (k *Statements) keepResourceStatement(list *evidence.ResourceStatements, h evidence.ResourceStatement, with HolderName) {
	k.Matcher.Reread(&h.Statement)
	for i := range *list {
		k.Matcher.Reread(&(*list)[i].Statement)
	}
	list.Keep(h, k.DropResourceStatement)
	k.queueRecord(statementRecord{Statement: h.Statement, version: h.Version, holder: with})
}

// keepForVisit adds a statement to the list of a visit. It does not touch any room.
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

// MoveToVisits moves the statements about a room that belong to visits to these visits, permanently.
func (k *Statements) MoveToVisits(r *registry.Room) {
	isOfVisit := func(h *evidence.Statement) bool { return k.VisitOfStatement(h) != nil }
	list := r.Statements.ByArrival(isOfVisit)
	r.Statements.Remove(isOfVisit)
	for i := range list {
		k.AddToVisit(k.VisitOfStatement(&list[i]), list[i])
	}
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

// DropStatement drops the record of a statement, and touches the room of its owner.
func (k *Statements) DropStatement(h *evidence.Statement) {
	k.dropRecord(h)
	k.touchEvidence(h)
}

// dropRecord drops the record of a statement.
func (k *Statements) dropRecord(h *evidence.Statement) {
	k.Kept--
	k.list(h.Number, nil)
}

// queueRecord adds the record of a statement to the records to write, unless the statement was removed. A number is
// never reused, so removing a statement is final.
func (k *Statements) queueRecord(r statementRecord) {
	if before, listed := k.pending[r.Number]; !listed || before != nil {
		k.list(r.Number, &r)
	}
}

func (k *Statements) list(number int64, r *statementRecord) {
	if k.pending == nil {
		k.pending = map[int64]*statementRecord{}
	}
	k.pending[number] = r
}

// reset empties the list of pending records. It keeps the memory if the list is short.
func (k *Statements) reset() {
	if len(k.pending) > 256 {
		k.pending = nil
	}
	clear(k.pending)
}

// DropResourceStatement drops the record of a resource statement.
func (k *Statements) DropResourceStatement(h *evidence.ResourceStatement) { k.dropRecord(&h.Statement) }

// FinalizeStatements makes the current owners of a room's statements final once the statements are 24 h old.
// Statements of the current occupant without a visit remain undecided. Other statements that belong neither to a
// visit nor to the room are dropped.
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
		case h.ReceivedAt.Add(registry.SettleAfter) > now, h.Owner.Kind == registry.ToOccupant: // a feed may still report the occupant's visit
			r.Statements.Unsettled = codes.Soonest(r.Statements.Unsettled, h.ReceivedAt)
			return false
		case h.Owner.Kind == registry.ToRoom:
			h.Settled = true
			k.queueRecord(statementRecord{Statement: *h})
			return false
		}
		list = append(list, *h)
		return true
	})
	slices.SortFunc(list, evidence.CompareArrival)
	for i := range list {
		h := &list[i]
		if v := k.VisitOfStatement(h); v != nil {
			k.keepForVisit(v, h) // the visit already owned the statement, so no evidence changes
		} else {
			k.DropStatement(h)
		}
	}
	k.settled = facts.Emptied(list)
}

// Collect stores the record of a statement until all records have been read. It replaces an earlier record of the
// same statement.
func (k *Statements) Collect(s *facts.StatementState) {
	r := statementRecord{version: evidence.VersionOf(&s.Signal), holder: HolderName{Visit: s.Visit}, Statement: evidence.Statement{
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
	k.list(s.Number, &r)
}

// Erase removes the collected record of a statement.
func (k *Statements) Erase(number int64) { delete(k.pending, number) }

// WriteDirty writes the statements that were added, removed or settled. A statement that changed several times is
// written once, in its current state.
func (k *Statements) WriteDirty(write func(key []byte, s facts.Record)) {
	for _, n := range slices.Sorted(maps.Keys(k.pending)) {
		if r := k.pending[n]; r == nil {
			write(k.Keys.Statement(n), nil)
		} else {
			k.written = r.record()
			write(k.Keys.Statement(n), &k.written)
		}
	}
	k.reset()
}

// WriteByCode writes the statements of a visit or of a room.
func (k *Statements) WriteByCode(l *evidence.Statements, visit string, write func(key []byte, s facts.Record)) {
	for h := range l.All {
		s := (&statementRecord{Statement: *h, holder: HolderName{Visit: visit}}).record()
		write(k.Keys.Statement(s.Number), &s)
	}
}

// WriteResourceStatements writes the resource statements of a visit or a patient.
func (k *Statements) WriteResourceStatements(list []evidence.ResourceStatement, with HolderName, write func(key []byte, s facts.Record)) {
	for i := range list {
		s := (&statementRecord{Statement: list[i].Statement, version: list[i].Version, holder: with}).record()
		write(k.Keys.Statement(s.Number), &s)
	}
}

// statementRecord is a statement with the fields that only its record needs.
type statementRecord struct {
	evidence.Statement
	version *evidence.Version // nil: the statement is not a version of a resource
	holder  HolderName
}

// HolderName identifies where a statement is stored: permanently with a visit, with the patient whom the statement
// names, or with the statement's room.
type HolderName struct {
	Visit string
	Named *registry.SubjectName // nil: the statement is not stored with a patient
}

// patient returns the name of the patient with whom the statement is stored, or the zero value if there is none.
func (o *HolderName) patient() registry.SubjectName {
	if o.Named == nil {
		return registry.SubjectName{}
	}
	return *o.Named
}

// record returns the record in the form in which it is written.
func (r *statementRecord) record() facts.StatementState {
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

// RestoreStatements adds the collected statements to the lists in which they are stored, in order of arrival. It
// ignores the statements of visits and rooms that no longer exist.
func (k *Statements) RestoreStatements() {
	for _, n := range slices.Sorted(maps.Keys(k.pending)) {
		s := k.pending[n]
		k.Matcher.Reread(&s.Statement) // the statement's mapping may be in a later record
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
	k.reset()
}

// restoreUnassigned adds a restored statement to the unassigned statements of the patient whom it names or, if it
// names no patient, to those of its resource.
func (k *Statements) restoreUnassigned(s *statementRecord) {
	name := s.holder.patient()
	if name == (registry.SubjectName{}) {
		name.Resource = evidence.WholeResource(s.version.Resource)
	}
	if r := k.Names.FindOrAdd(name); r != nil {
		k.Kept++
		r.Statements = append(r.Statements, evidence.ResourceStatement{Statement: s.Statement, Version: s.version})
	}
}
