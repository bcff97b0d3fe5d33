package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/charts"
	"svc/acuity/evidence"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// warnOlder is the warning about a statement that changes nothing because a newer one is known.
const warnOlder = "statement_older"

// maxOlder is the maximum number of older statements of one request that are reported; a response lists fewer.
const maxOlder = 101

// olderStatement is a statement in the current request that may be older than those from earlier requests.
type olderStatement struct {
	signal int
	number int64
	before []acuity.Evidence // evidence for its factors before the request
}

// olderStatements reports statements that change nothing because a newer one is known
// (docs/decisions.md#older-statements).
type olderStatements struct {
	first int64 // number of the first statement in the request
	list  []olderStatement
}

// begin prepares for the statements of a request.
func (w *olderStatements) begin(k *clinicalIntake) {
	w.first = k.Facts.Statements + 1
}

// add records a statement that will be stored next, if an earlier request contained a newer one.
func (w *olderStatements) add(k *clinicalIntake, i int, s *acuity.Signal, stated evidence.ResourceStatement) {
	if !stated.Counts() || stated.Status == acuity.SignalRetracted || len(stated.Matches) == 0 || len(w.list) >= maxOlder {
		return
	}
	h := &stated
	p := k.chartOf(s, &h.Statement)
	b, r := k.bindingOf(s, p)
	if r == nil || !w.hasNewer(k, b, r, h) {
		return
	}
	o := olderStatement{signal: i, number: k.Facts.Statements + 1}
	if p != nil {
		o.before = h.Concerning(p.Evidence)
	}
	w.list = append(w.list, o)
}

// hasNewer reports whether the lists that may contain statements about the patient contain one that is newer than h.
func (w *olderStatements) hasNewer(k *clinicalIntake, b registry.Binding, r *registry.Room, h *evidence.ResourceStatement) bool {
	isNewer := func(l *evidence.Statements) bool {
		for o := range k.matcher.RereadAll(l).All {
			if o.Number < w.first && o.IsNewerThan(&h.Statement) {
				return true
			}
		}
		return false
	}
	if isNewer(&r.Statements) {
		return true
	}
	if b.V == nil {
		return false
	}
	for _, v := range append([]*registry.Visit{b.V}, b.V.Joined.Rest()...) {
		if isNewer(&v.Statements) || k.hasNewerResource(v.ResourceStatements, h) {
			return true
		}
	}
	for _, u := range k.names.OfVisit(b.V) {
		if k.hasNewerResource(u.Statements, h) {
			return true
		}
	}
	return false
}

// hasNewerResource reports whether a list of resource statements contains one that is newer than h.
func (k *clinicalIntake) hasNewerResource(list evidence.ResourceStatements, h *evidence.ResourceStatement) bool {
	for i := range list {
		if k.matcher.Reread(&list[i].Statement); list[i].IsNewerThan(&h.Statement) || list[i].IsNewerVersionThan(h) {
			return true
		}
	}
	return false
}

// bindingOf returns the owner of the statements about the patient whom a signal concerns, and her room. The room is nil
// if the signal does not identify one patient. p is the patient's chart; nil means that she has none.
func (k *clinicalIntake) bindingOf(s *acuity.Signal, p *acuity.PatientChart) (registry.Binding, *registry.Room) {
	if p != nil {
		if v := k.names.VisitCalled(p.Visit).Whole(); v != nil {
			return registry.Binding{V: v, Kind: registry.ToVisit}, k.WhereIs(v)
		}
	}
	r := k.Room(s.Room)
	switch {
	case s.Visit != "" || s.Patient != "" || s.Subject != "" || s.Resource != "" || r == nil:
	case r.Anonymous() && p != nil:
		return registry.Binding{Kind: registry.ToOccupant}, r
	case r.Chart.Status == acuity.RoomUnknown:
		return registry.Binding{Kind: registry.ToRoom}, r
	}
	return registry.Binding{}, nil
}

// warn warns about statements that changed nothing because an earlier request contained a newer one. It must be
// called after the charts are built.
func (w *olderStatements) warn(k *clinicalIntake, in *registry.Intake, builder *charts.Builder) {
	var input *evidence.Input
	var owner registry.Binding // owner of the statements in input
	for i := range w.list {
		o := &w.list[i]
		s, h := &in.Observation.Signals[o.signal], &in.Statements[o.signal]
		p := k.chartOf(s, h)
		b, r := k.bindingOf(s, p)
		if r == nil {
			continue
		}
		var now []acuity.Evidence
		if p != nil {
			now = h.Concerning(p.Evidence)
		}
		if !slices.Equal(o.before, now) {
			continue
		}
		if input == nil || b.V == nil || b != owner {
			input, owner = builder.Input(b, r), b
		}
		switch input.Standing(o.number, w.first) {
		case evidence.Older:
			in.Warn(warnOlder, registry.ItemPath("signals", o.signal))
		case evidence.OlderVersion:
			in.Warn("version_older", registry.ItemPath("signals", o.signal))
		case evidence.Current, evidence.Repeated:
		}
	}
	clear(w.list)
	w.list = w.list[:0]
}

// hasOlderDiagnoses reports whether an event's diagnoses have no effect because an event from an earlier request is
// newer and its diagnoses contradict all of them.
func hasOlderDiagnoses(in *registry.Intake, v *registry.Visit, t *adt.AppliedEvent) bool {
	if !statesDiagnoses(t) || !contradicts(v.Timeline.Diagnoses, t.Event) {
		return false
	}
	for i := range slices.Backward(v.Timeline.Events) {
		switch o := &v.Timeline.Events[i]; {
		case o.At <= t.At: // the events are in order
			return false
		case statesDiagnoses(o) && !in.HasEvent(o.Event.ID):
			return true
		}
	}
	return false
}

// statesDiagnoses reports whether an event from HL7 or JSON has been applied and contains diagnoses.
func statesDiagnoses(t *adt.AppliedEvent) bool {
	return t.Disposition == adt.Applied && t.Event.DiagnosisMode != acuity.DiagnosisNone && t.Event.Resource == ""
}

// contradicts reports whether the current diagnoses of a visit contradict all diagnoses in an event.
func contradicts(current []adt.CurrentDiagnosis, e *adt.Event) bool {
	if e.DiagnosisMode == acuity.DiagnosisClear {
		return len(current) > 0
	}
	return !slices.ContainsFunc(e.Diagnoses, func(d acuity.Diagnosis) bool {
		isCurrent := slices.ContainsFunc(current, func(c adt.CurrentDiagnosis) bool { return c.Is(&d) })
		return isCurrent != d.Delete
	})
}

// warnOfDischarged warns about the first statement about a room that would activate a factor, but belongs to an earlier
// patient of the room who has been discharged.
func (k *clinicalIntake) warnOfDischarged(in *registry.Intake) {
	for i := range in.Statements {
		h, r := &in.Statements[i], k.Room(in.Observation.Signals[i].Room)
		if h.Number == 0 || h.Status != acuity.SignalActive || !slices.ContainsFunc(h.Matches, isActivation) ||
			len(r.Chart.Patients) == 0 || k.chartOf(&in.Observation.Signals[i], h) != nil {
			continue
		}
		for o := range r.Statements.All {
			if o.Number != h.Number {
				continue
			}
			if v := k.statements.VisitOfStatement(o); v != nil && v.Timeline.ClosedAt != 0 && !v.Timeline.Open {
				in.Warn("patient_left", registry.ItemPath("signals", i))
				return
			}
		}
	}
}

// isActivation reports whether a match activates its factor.
func isActivation(m terminology.Match) bool { return m.On }
