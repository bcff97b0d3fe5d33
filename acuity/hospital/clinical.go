package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/registry"
	"svc/acuity/stays"
	"svc/acuity/terminology"
)

// clinicalIntake applies the clinical statements in requests.
type clinicalIntake struct {
	*registry.Registry
	names      *identity.Names
	matcher    *identity.Matcher
	worklist   *identity.Worklist
	statements *stays.Statements
	capacity   *capacity

	spare []evidence.Statement // buffer for the statements in a request
	older olderStatements
}

// applySignals applies the clinical statements in a request.
func (k *clinicalIntake) applySignals(in *registry.Intake) {
	if ref := in.Observation.Room; ref != nil {
		if in.Room = k.namedRoom(in, *ref); in.Room == nil {
			in.Outcome, in.Reason = acuity.Ignored, reasonRooms
			return
		}
	}
	in.Statements = k.spare[:0]
	k.older.begin(k)
	for i := range in.Observation.Signals {
		s := &in.Observation.Signals[i]
		h := evidence.Statement{
			MatchedSignal: k.matcher.Share(terminology.TextOf(s, in.Observation.Channel)),
			ReceivedAt:    in.Observation.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Owner: registry.Undecided,
		}
		if s.ObservedAt > h.ReceivedAt.Add(adt.ClockSlack) || s.StartedAt > h.ReceivedAt.Add(adt.ClockSlack) {
			in.Warn("time_in_future", "")
		}
		in.Statements = append(in.Statements, h)
		if in.SignalExists(i) {
			in.Warn(facts.ReasonExists, registry.ItemPath("signals", i))
			continue
		}
		if k.statements.Kept >= k.Limits.Statements {
			in.Refuse(reasonStatements, registry.ItemPath("signals", i))
			continue
		}
		if s.Visit != "" || s.Patient != "" || s.Subject != "" || s.Resource != "" {
			stated := evidence.ResourceStatement{Statement: h, Version: evidence.VersionOf(s)}
			k.older.add(k, i, s, stated)
			k.storeStatement(in, i, s, stated)
			continue
		}
		r := in.Room
		if r == nil || r.ID != s.Room {
			r = k.namedRoom(in, acuity.RoomRef{ID: s.Room})
		}
		if r == nil {
			continue
		}
		k.older.add(k, i, s, evidence.ResourceStatement{Statement: h})
		k.statements.AssignNumber(&h)
		in.Statements[i].Number = h.Number
		k.statements.KeepStatement(&r.Statements, h, "")
		k.Work.MarkRoom(r, registry.Touched|registry.Named)
	}
	k.spare = in.Statements
	if o := in.Observation; in.Refused > 0 && in.Refused == len(o.Signals) && o.Room == nil && len(o.Events)+len(o.References) == 0 {
		in.Outcome, in.Reason = acuity.Ignored, in.Warnings[len(in.Warnings)-1].Code
	}
	k.worklist.AddUnmappedSignals(in)
}

// namedRoom returns the room that a clinical request names, and adds the room if it is unknown. It returns nil if the
// room is refused.
func (k *clinicalIntake) namedRoom(in *registry.Intake, ref acuity.RoomRef) *registry.Room {
	r := k.Room(ref.ID)
	if !k.capacity.allowsRoom(in, ref.ID) {
		in.Refuse(reasonRooms, "roomId")
		return nil
	}
	if r == nil {
		r = k.AddRoom(facts.RoomState{ID: ref.ID, Label: ref.Label})
		k.Work.Relabel = true
	}
	switch {
	case ref.Label == "" || ref.Label == r.Label:
	case r.Label == "":
		r.Label = ref.Label
		k.Work.MarkRoom(r, registry.Unsaved|registry.Touched)
		k.Work.Relabel = true
	default:
		in.Warn("room_label_differs", "roomLabel") // the label in a census has priority (docs/decisions.md#room-id-first)
	}
	if !r.Listed && !r.Clinical && in.Observation.ReceivedAt >= k.Facts.CensusAt { // a newer census has already removed the room
		r.Clinical = true
		k.Work.MarkRoom(r, registry.Unsaved|registry.Touched)
	}
	k.Work.MarkRoom(r, registry.Named)
	return r
}

// storeStatement adds a statement that names a visit, a patient or a resource to the statements of the visit or
// patient to which it belongs. It refuses the statement if a limit is reached.
func (k *clinicalIntake) storeStatement(in *registry.Intake, i int, s *acuity.Signal, h evidence.ResourceStatement) {
	to := k.subjectOf(s)
	if h.Version != nil && !h.Version.IsDescribed() {
		to = k.statements.HolderOfResource(&h, to)
	}
	if to == (identity.Holder{}) || !k.capacity.allowsWaiting(in, to) {
		in.Refuse(reasonReferences, registry.ItemPath("signals", i))
		return
	}
	k.statements.AssignNumber(&h.Statement)
	if h.Version != nil && s.Patient != "" && to.V != nil {
		in.Subjects = append(in.Subjects, registry.StatedSubject{Signal: i, V: to.V, Version: h.Version})
	}
	k.statements.AddStatement(to, h)
	if v := to.V; v != nil {
		k.RecordFact(v)
		k.Work.MarkVisit(v, registry.Unsaved)
		if r := k.WhereIs(v); r != nil {
			k.Work.MarkRoom(r, registry.Named)
		}
		if v.IsName() {
			in.WaitingFor = append(in.WaitingFor, registry.WaitingStatement{Signal: i, V: v})
		}
		return
	}
	if v := k.names.VisitFor(to.Unassigned, h.ReceivedAt); v == nil {
		in.WaitingFor = append(in.WaitingFor, registry.WaitingStatement{Signal: i, Unassigned: to.Unassigned, At: h.ReceivedAt})
	} else if r := k.WhereIs(v); r != nil {
		k.Work.MarkRoom(r, registry.Named)
	}
}

// warnOfBirths warns about signals that have no effect because the patient had already given birth. It must be called
// after the charts are built.
func (k *clinicalIntake) warnOfBirths(in *registry.Intake) {
	for i := range in.Statements {
		if h := &in.Statements[i]; h.Status == acuity.SignalActive && !in.SignalExists(i) {
			if p := k.chartOf(&in.Observation.Signals[i], h); p != nil && k.isAfterBirth(h, p) {
				in.Warn("after_birth", registry.ItemPath("signals", i))
			}
		}
	}
}

// isAfterBirth reports whether a statement is from after the birth and asserts only factors that the birth has ended.
func (k *clinicalIntake) isAfterBirth(h *evidence.Statement, p *acuity.PatientChart) bool {
	at, is := h.OrderTime(), false
	s := catalogue.Situation{Birth: p.Birth, Unborn: p.Unborn}
	for _, m := range h.Matches {
		if !m.On {
			continue
		}
		a := catalogue.Asserted{Start: at, Last: at, ByDiagnosis: m.Kind == acuity.ByDiagnosis, Fetus: h.Fetus}
		end := k.matcher.Cat.Requirement(m.Factor, m.Variant).BirthEnd(&s, &a)
		if is = end != 0 && at >= end; !is {
			return false
		}
	}
	return is
}

// chartOf returns the chart of the patient whom a signal concerns, or nil if the signal does not identify one patient,
// or the patient is a newborn or in no room. h is the statement of the signal.
func (k *clinicalIntake) chartOf(s *acuity.Signal, h *evidence.Statement) *acuity.PatientChart {
	if s.Visit == "" && s.Patient == "" && s.Subject == "" && s.Resource == "" {
		if r := k.Room(s.Room); r != nil && len(r.Chart.Patients) == 1 && h.OrderTime() >= r.Chart.Patients[0].Arrived {
			return &r.Chart.Patients[0]
		}
		return nil
	}
	v := k.names.VisitCalled(s.Visit)
	if u := k.names.BySubject[subjectName(s)]; s.Visit == "" && u != nil {
		v = k.names.VisitFor(u, h.ReceivedAt)
	}
	if v = v.Whole(); v == nil {
		return nil
	}
	r := k.WhereIs(v)
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Chart.Patients, func(p acuity.PatientChart) bool { return p.Visit == v.ID })
	if i < 0 {
		return nil // a newborn
	}
	return &r.Chart.Patients[i]
}

// subjectOf returns the holder for a signal, and adds the holder if it is unknown. It returns a zero holder if a
// limit is reached.
func (k *clinicalIntake) subjectOf(s *acuity.Signal) identity.Holder {
	if s.Visit != "" {
		if v := k.names.VisitCalled(s.Visit); v != nil {
			return identity.Holder{V: v}
		}
		if k.isFullOfUnknown() || !k.capacity.allowsVisit() {
			return identity.Holder{}
		}
		return identity.Holder{V: k.Visit(s.Visit)}
	}
	if r := k.names.FindOrAdd(subjectName(s)); r != nil {
		return identity.Holder{Unassigned: r}
	}
	return identity.Holder{}
}

// subjectName returns the name of the subject of a signal that names no visit.
func subjectName(s *acuity.Signal) registry.SubjectName {
	name := registry.SubjectName{Patient: s.Patient, Subject: s.Subject}
	if name == (registry.SubjectName{}) {
		name.Resource = evidence.WholeResource(s.Resource)
	}
	return name
}

// isFullOfUnknown reports whether the hospital has reached the limit on visits that are known only from statements. A
// visit that was later identified as a known visit does not count.
func (k *clinicalIntake) isFullOfUnknown() bool {
	if len(k.Unknown) < k.Limits.Unknown {
		return false
	}
	n := 0
	for v := range k.Unknown {
		if v.Joined.Head == nil {
			n++
		}
	}
	return n >= k.Limits.Unknown
}
