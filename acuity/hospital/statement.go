package hospital

import (
	"cmp"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// statement is one clinical statement that is kept, in 56 bytes. There are very many, so
// statements with equal words share a matchedSignal.
type statement struct {
	*terminology.MatchedSignal // what it says

	number     int64 // see HeardState
	ReceivedAt acuity.Instant
	ObservedAt acuity.Instant
	StartedAt  acuity.Instant
	slot       int32 // with to: the owner, see slots
	Room       int32
	to         bindingKind
	Settled    bool
}

// isOf reports whether a binding owns the statement.
func (h *statement) isOf(b binding) bool { return h.to == b.kind && h.slot == b.v.inSlot() }

// bind gives the statement an owner.
func (h *statement) bind(b binding) { h.slot, h.to = b.v.inSlot(), b.kind }

// slots numbers the visits of a unit. A statement holds the number of its visit instead
// of a pointer: a hospital keeps thousands of statements, and the garbage collector
// follows each pointer in them. Slot 0 is no visit's.
type slots struct {
	visits []*visit
	vacant []int32
}

// assign gives a visit a slot.
func (s *slots) assign(v *visit) {
	if n := len(s.vacant); n > 0 {
		v.slot, s.vacant = s.vacant[n-1], s.vacant[:n-1]
		s.visits[v.slot] = v
		return
	}
	if len(s.visits) == 0 {
		s.visits = append(s.visits, nil)
	}
	v.slot = int32(len(s.visits)) //nolint:gosec // the visits of a week
	s.visits = append(tight(s.visits, 4), v)
}

// release frees the slot of a visit. No statement may hold its number any more.
func (s *slots) release(v *visit) {
	s.visits[v.slot] = nil
	s.vacant = append(s.vacant, v.slot)
	v.slot = 0
}

// inSlot returns the number of a visit; 0: v is nil.
func (v *visit) inSlot() int32 {
	if v == nil {
		return 0
	}
	return v.slot
}

// statementRecord is a statement with what only its record needs.
type statementRecord struct {
	statement
	version *version // nil: of no resource
	owner   owner
}

// owner is whom a statement is kept with: a visit, for good; the patient whom it names;
// or its room.
type owner struct {
	visit string
	named *subjectName // the patient; nil: the statement names none
}

// name returns the name of the patient; the zero value: the statement names none.
func (o *owner) name() subjectName {
	if o.named == nil {
		return subjectName{}
	}
	return *o.named
}

// record returns the record as it is written.
func (r *statementRecord) record() StatementState {
	s := StatementState{Number: r.number, Signal: r.Signal(), ReceivedAt: r.ReceivedAt, Feed: r.Feed, Settled: r.Settled}
	s.Room, s.ObservedAt, s.StartedAt = r.Room, r.ObservedAt, r.StartedAt
	name := r.owner.name()
	s.Visit, s.Patient, s.Subject = r.owner.visit, name.patient, name.subject
	if v := r.version; v != nil {
		s.Resource, s.UpdatedAt = v.resource, v.updatedAt
	}
	return s
}

// orderTime is the time that orders statements: the observation, else the receipt. For
// anything but a medication the start counts as the observation. No time lies after the
// receipt (scoring-decisions 26).
func (h *statement) orderTime() acuity.Instant {
	if h.Kind != catalogue.KindMedication {
		return h.firstOf(h.ObservedAt, h.StartedAt)
	}
	return h.firstOf(h.ObservedAt, 0)
}

// clockStart is the time at which the clock of the statement starts.
func (h *statement) clockStart() acuity.Instant {
	if h.Kind == catalogue.KindMedication {
		return h.firstOf(h.StartedAt, h.ObservedAt)
	}
	return h.firstOf(h.ObservedAt, h.StartedAt)
}

// firstOf returns a, else b, else the receipt; never later than the receipt.
func (h *statement) firstOf(a, b acuity.Instant) acuity.Instant {
	switch {
	case a != 0:
		return min(a, h.ReceivedAt)
	case b != 0:
		return min(b, h.ReceivedAt)
	}
	return h.ReceivedAt
}

// orderedStatement is one clinical statement with its order and clock times.
type orderedStatement struct {
	*statement
	order, clock acuity.Instant
	drug         bool // a medication by identity, not by a concept
}

// compareStatements orders statements of one identity by time, then receipt, then
// weight. Content breaks the last ties, so the order within a request means nothing.
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
	return compareContent(a.statement, b.statement)
}

// compareContent orders statements by what they say.
func compareContent(a, b *statement) int {
	return cmp.Or(
		cmp.Compare(a.Feed, b.Feed),
		cmp.Compare(a.System, b.System),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Display, b.Display),
		cmp.Compare(a.Value.Kind, b.Value.Kind),
		cmp.Compare(a.Value.Op, b.Value.Op),
		cmp.Compare(a.Value.Number, b.Value.Number),
		cmp.Compare(a.Value.Unit, b.Value.Unit),
		cmp.Compare(a.Value.Words, b.Value.Words),
		cmp.Compare(a.StartedAt, b.StartedAt),
		cmp.Compare(a.ObservedAt, b.ObservedAt),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
