package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/terminology"
)

// clinicalIntake takes the clinical statements of a request.
type clinicalIntake struct {
	*registry
	names      *names
	matcher    *matcher
	worklist   *worklist
	statements *statements
	capacity   *capacity

	spare []evidence.Statement // memory for the statements of a request
}

// takeSignals takes the clinical statements of a request.
func (k *clinicalIntake) takeSignals(in *intake) {
	if ref := in.o.Room; ref != nil {
		if in.room = k.namedRoom(in, *ref); in.room == nil {
			in.Outcome, in.Reason = acuity.Ignored, reasonRooms
			return
		}
	}
	in.statements = k.spare[:0]
	for i := range in.o.Signals {
		s := &in.o.Signals[i]
		h := evidence.Statement{
			MatchedSignal: k.matcher.share(terminology.TextOf(s, in.o.Channel)),
			ReceivedAt:    in.o.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Owner: undecided,
		}
		if s.ObservedAt > h.ReceivedAt.Add(adt.ClockSlack) || s.StartedAt > h.ReceivedAt.Add(adt.ClockSlack) {
			in.warn("time_in_future", "")
		}
		in.statements = append(in.statements, h)
		if in.signalExists(i) {
			in.warn(ReasonExists, itemPath("signals", i))
			continue
		}
		if k.statements.kept >= k.limits.statements {
			in.refuse(reasonStatements, itemPath("signals", i))
			continue
		}
		if s.Visit != "" || s.Patient != "" || s.Subject != "" || s.Resource != "" {
			k.takeStatement(in, i, s, evidence.ResourceStatement{Statement: h, Version: evidence.VersionOf(s)})
			continue
		}
		r := in.room
		if r == nil || r.ID != s.Room {
			r = k.namedRoom(in, acuity.RoomRef{ID: s.Room})
		}
		if r == nil {
			continue
		}
		k.statements.number(&h)
		k.statements.keepStatement(&r.statements, h, "")
		k.work.markRoom(r, touched|named)
	}
	k.spare = in.statements
	if o := in.o; in.refused > 0 && in.refused == len(o.Signals) && o.Room == nil && len(o.Events)+len(o.References) == 0 {
		in.Outcome, in.Reason = acuity.Ignored, in.Warnings[len(in.Warnings)-1].Code
	}
	k.worklist.noteUnmappedSignals(in)
}

// namedRoom returns the room that a clinical request names, and makes it known if it is
// not; nil: refused.
func (k *clinicalIntake) namedRoom(in *intake, ref acuity.RoomRef) *room {
	r := k.room(ref.ID)
	if !k.capacity.roomForRoom(in, ref.ID) {
		in.refuse(reasonRooms, "roomId")
		return nil
	}
	if r == nil {
		r = k.addRoom(RoomState{ID: ref.ID, Label: ref.Label})
		k.work.relabel = true
	}
	switch {
	case ref.Label == "" || ref.Label == r.Label:
	case r.Label == "":
		r.Label = ref.Label
		k.work.markRoom(r, unsaved|touched)
		k.work.relabel = true
	default:
		in.warn("room_label_differs", "roomLabel") // a census says what a room is called (docs/decisions.md#room-id-first)
	}
	if !r.Listed && !r.Clinical {
		r.Clinical = true
		k.work.markRoom(r, unsaved|touched)
	}
	k.work.markRoom(r, named)
	return r
}

// answerClinical adds what the sender of a clinical request must know about its room.
func (in *intake) answerClinical() {
	if in.room == nil {
		return
	}
	if in.room.chart.Status == acuity.RoomEmpty || in.room.chart.Status == acuity.RoomBlocked {
		in.warn("room_not_occupied", "roomId")
	}
}

// takeStatement takes a statement about a visit, a patient, or a known resource.
func (k *clinicalIntake) takeStatement(in *intake, i int, s *acuity.Signal, h evidence.ResourceStatement) {
	to := k.subjectOf(s)
	if h.Version != nil && !h.Version.IsDescribed() {
		to = k.statements.holderOfResource(&h, to)
	}
	if to == (holder{}) || !k.capacity.roomToWait(in, to) {
		in.refuse(reasonReferences, itemPath("signals", i))
		return
	}
	k.statements.number(&h.Statement)
	k.statements.addStatement(to, h)
	if v := to.v; v != nil {
		k.recordFact(v)
		k.work.markVisit(v, unsaved)
		if r := k.whereIs(v); r != nil {
			k.work.markRoom(r, named)
		}
		if v.isName() {
			in.waitingFor = append(in.waitingFor, waitingStatement{v: v})
		}
		return
	}
	if v := k.names.visitFor(to.unassigned, h.ReceivedAt); v == nil {
		in.waitingFor = append(in.waitingFor, waitingStatement{unassigned: to.unassigned, at: h.ReceivedAt})
	} else if r := k.whereIs(v); r != nil {
		k.work.markRoom(r, named)
	}
}

// subjectOf returns the holder for a signal, and makes it known if it is not. The zero
// holder: the cap is reached.
func (k *clinicalIntake) subjectOf(s *acuity.Signal) holder {
	if s.Visit != "" {
		if v := k.names.visitCalled(s.Visit); v != nil {
			return holder{v: v}
		}
		if k.isFullOfUnknown() || !k.capacity.roomForVisit() {
			return holder{}
		}
		return holder{v: k.visit(s.Visit)}
	}
	name := subjectName{patient: s.Patient, subject: s.Subject}
	if name == (subjectName{}) {
		name.resource = evidence.WholeResource(s.Resource)
	}
	if r := k.names.findOrAdd(name); r != nil {
		return holder{unassigned: r}
	}
	return holder{}
}

// isFullOfUnknown reports whether as many visits as may be are named by statements alone. One
// that turned out to be another name of a visit is none of them.
func (k *clinicalIntake) isFullOfUnknown() bool {
	if len(k.unknown) < k.limits.unknown {
		return false
	}
	n := 0
	for v := range k.unknown {
		if v.joined.head == nil {
			n++
		}
	}
	return n >= k.limits.unknown
}

// waitingStatement is a statement that had no visit when it was taken.
type waitingStatement struct {
	v          *visit // the visit that it names; nil: it names a patient
	unassigned *unassigned
	at         acuity.Instant // at is its receipt
}

// answerWaiting warns of the statements that still have no visit: it may have come in
// the same request.
func (ns *names) answerWaiting(in *intake) {
	for _, n := range in.waitingFor {
		if n.v != nil && n.v.whole().isName() || n.v == nil && ns.visitFor(n.unassigned, n.at) == nil {
			in.warn("reference_waiting", "")
		}
	}
}

// warnOfSubjects warns of statements whose subject is not the patient of the visit that they name. They
// count for the visit. A fetus or child may be the subject of a statement about one fetus.
func (ns *names) warnOfSubjects(in *intake) {
	for i := range in.o.Signals {
		s := &in.o.Signals[i]
		if s.Visit == "" || s.Patient == "" || in.signalExists(i) || s.Fetus != "" && isFetal(s) {
			continue
		}
		if v := ns.visitCalled(s.Visit).whole(); v != nil && ns.isOfAnother(s, v) {
			in.warn("subject_differs", itemPath("signals", i))
		}
	}
}

// isFetal reports whether a rule reads one of the codes of a signal for a factor of one fetus.
func isFetal(s *acuity.Signal) bool {
	return terminology.IsFetal(s.System, s.Code) ||
		slices.ContainsFunc(s.Also, func(c acuity.Coding) bool { return terminology.IsFetal(c.System, c.Code) })
}

// isOfAnother reports whether a signal names another patient than a visit has. As in bornOf, names
// distinguish patients only if they are of one kind.
func (ns *names) isOfAnother(s *acuity.Signal, v *visit) bool {
	hers := v.allNames()
	if slices.Contains(hers, s.Patient) || len(hers) == 0 {
		return false
	}
	named := []string{s.Patient}
	if s.Subject != "" {
		named = append(named, s.Subject)
	}
	named, hers = ns.namesOf(named), ns.namesOf(hers)
	if len(v.timeline.Subjects) == 0 && len(named) == 1 && len(hers) == 1 {
		return false // one may be a number, the other a reference
	}
	return !slices.ContainsFunc(named, func(n string) bool { return slices.Contains(hers, n) })
}
