package acuity

import "cmp"

// Heard is one clinical statement that is kept. There are very many: it shares
// its words with all that say the same, and takes 56 bytes.
type Heard struct {
	*matchedSignal // what it says

	number     int64 // see HeardState
	ReceivedAt Instant
	ObservedAt Instant
	StartedAt  Instant
	slot       int32 // with to: whose it is, see slots
	Room       int32
	to         bindingKind
	Settled    bool
}

// isOf reports whether the statement is somebody's.
func (h *Heard) isOf(b binding) bool { return h.to == b.kind && h.slot == b.v.inSlot() }

// bind makes the statement somebody's.
func (h *Heard) bind(b binding) { h.slot, h.to = b.v.inSlot(), b.kind }

// slots are the visits of a unit by number. A statement has the number of its visit
// instead of a pointer: a hospital keeps thousands of statements, and the garbage
// collector follows each pointer in them. The first slot is nobody's.
type slots struct {
	visits []*visit
	vacant []int32
}

// take gives a visit a slot.
func (s *slots) take(v *visit) {
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

// leave gives the slot of a visit free: no statement has its number any more.
func (s *slots) leave(v *visit) {
	s.visits[v.slot] = nil
	s.vacant = append(s.vacant, v.slot)
	v.slot = 0
}

// inSlot returns the number of a visit; 0 of nobody.
func (v *visit) inSlot() int32 {
	if v == nil {
		return 0
	}
	return v.slot
}

// visitOfHeard returns the visit whose a statement is; nil: it is no visit's.
func (u *Unit) visitOfHeard(h *Heard) *visit {
	if h.slot == 0 {
		return nil
	}
	return u.slots.visits[h.slot]
}

// bindingOf returns whose a statement is.
func (u *Unit) bindingOf(h *Heard) binding { return binding{u.visitOfHeard(h), h.to} }

// heardRecord is a statement as its record has it.
type heardRecord struct {
	Heard
	version *version // nil: of no resource
	owner   owner
}

// owner is whom a statement is kept with: a visit, for good; the patient that it
// names; or its room.
type owner struct {
	visit string
	named *referralName // of the patient; nil: it names none
}

// name returns the name of the patient; the zero value: it names none.
func (o *owner) name() referralName {
	if o.named == nil {
		return referralName{}
	}
	return *o.named
}

// record returns it as it is written.
func (r *heardRecord) record() HeardState {
	s := HeardState{Number: r.number, Signal: r.signal(), ReceivedAt: r.ReceivedAt, Feed: r.Feed, Settled: r.Settled}
	s.Room, s.ObservedAt, s.StartedAt = r.Room, r.ObservedAt, r.StartedAt
	name := r.owner.name()
	s.Visit, s.Patient, s.Subject = r.owner.visit, name.patient, name.subject
	if v := r.version; v != nil {
		s.Resource, s.UpdatedAt = v.resource, v.updatedAt
	}
	return s
}

// identity says which statements replace each other: the newest of them wins.
// FHR category, MEWS and BMI are one each over all their codes, see folded; of
// all others the code decides, and whether it is a medication. Display and start
// are no part of it (scoring-decisions 25).
type identity struct {
	medication bool
	system     System
	code       string
}

// newIdentity returns the identity by code alone.
func newIdentity(s *Signal) *identity {
	return &identity{
		medication: s.Kind == KindMedication,
		system:     s.System,
		code:       normalCode(s.System, s.Code),
	}
}

// orderTime is the time by which statements are put in order: when it was
// observed, else when it was received. Only of something else than a medication does the
// start say when it was observed. No time lies after the receipt (scoring-decisions 26).
func (h *Heard) orderTime() Instant {
	if h.Kind != KindMedication {
		return h.firstOf(h.ObservedAt, h.StartedAt)
	}
	return h.firstOf(h.ObservedAt, 0)
}

// clockStart is the time from which the clock of what is said runs.
func (h *Heard) clockStart() Instant {
	if h.Kind == KindMedication {
		return h.firstOf(h.StartedAt, h.ObservedAt)
	}
	return h.firstOf(h.ObservedAt, h.StartedAt)
}

func (h *Heard) firstOf(a, b Instant) Instant {
	switch {
	case a != 0:
		return min(a, h.ReceivedAt)
	case b != 0:
		return min(b, h.ReceivedAt)
	}
	return h.ReceivedAt
}

// statement is one clinical statement, read.
type statement struct {
	*Heard
	order, clock Instant
	drug         bool // a medication by identity, not one of a concept
}

// graver returns how grave a statement is: of two with the same time in one
// request the graver wins (scoring-decisions 27).
func (c *Catalogue) graver(s *Signal, matches []match) uint8 {
	switch s.Status {
	case SignalRetracted:
		return 0
	case SignalEnded:
		return 1
	case SignalOnHold:
		return 2
	case SignalActive:
	}
	weight := uint8(3)
	for _, m := range matches {
		if m.on {
			_, class, _ := c.effect(m.factor, m.variant).need.At(0, 0)
			weight = max(weight, 4+class)
		}
	}
	return weight
}

// compareStatements orders statements of one identity by time, then receipt,
// then weight; what is equal so far is ordered by content, so that the order of
// arrival within a request means nothing.
func compareStatements(a, b statement) int {
	if a.order != b.order {
		return cmp.Compare(a.order, b.order)
	}
	if c := cmp.Or(
		cmp.Compare(a.ReceivedAt, b.ReceivedAt),
		cmp.Compare(a.weight, b.weight),
		cmp.Compare(b.clock, a.clock), // the earlier start wins
	); c != 0 {
		return c
	}
	return compareContent(a.Heard, b.Heard)
}

func compareContent(a, b *Heard) int {
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
