package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/evidence"
	"svc/acuity/registry"
	"svc/acuity/terminology"
)

// warnAfterBirth is the warning about a fact that has no effect because the patient had already given birth.
const warnAfterBirth = "after_birth"

// warnOfBirths warns about signals and census rows that have no effect because the patient had already given birth. It must be called
// after the charts are built.
func (k *clinicalIntake) warnOfBirths(in *registry.Intake) {
	for i := range in.Statements {
		if h := &in.Statements[i]; h.Status == acuity.SignalActive && !in.SignalExists(i) {
			if p := k.chartOf(&in.Observation.Signals[i], h); p != nil && k.isAfterBirth(h, p) {
				in.Warn(warnAfterBirth, registry.ItemPath("signals", i))
			}
		}
	}
	if in.Census {
		k.warnOfRows(in)
	}
}

// warnOfEvents warns about primary factors of events that have no effect because the patient had already given birth. It
// must be called after the charts are built.
func (k *clinicalIntake) warnOfEvents(in *registry.Intake) {
	for i := range in.Events {
		e, v := &in.Observation.Events[i], in.Events[i].V.Whole()
		if v != nil && k.hasEnded(e.Primary, k.chartOfVisit(v), min(e.At, in.Observation.ReceivedAt)) {
			in.Warn(warnAfterBirth, in.EventPath(i))
		}
	}
}

// warnOfRows warns about factors in a census that has been applied.
func (k *clinicalIntake) warnOfRows(in *registry.Intake) {
	for i := range in.Observation.Census.Rooms {
		row := &in.Observation.Census.Rooms[i]
		p := k.chartOfRow(row)
		if k.hasEnded(row.Primary, p, k.Facts.CensusAt) {
			in.Warn(warnAfterBirth, registry.ItemPath("rooms", i)+".primaryFactor")
		}
		if slices.ContainsFunc(row.Modifiers, func(f catalogue.Factor) bool { return k.hasEnded(f, p, k.Facts.CensusAt) }) {
			in.Warn(warnAfterBirth, registry.ItemPath("rooms", i)+".modifiers")
		}
	}
}

// hasEnded reports whether the birth had ended the factor f by the time at, at which a sender stated f. p is the
// patient's chart, or nil.
func (k *clinicalIntake) hasEnded(f catalogue.Factor, p *acuity.PatientChart, at acuity.Instant) bool {
	if f == 0 || p == nil {
		return false
	}
	end := k.matcher.Cat.Requirement(f, 0).BirthEnd(
		&catalogue.Situation{Birth: p.Birth, Unborn: p.Unborn}, &catalogue.Asserted{Start: at, Last: at},
	)
	return end != 0 && at >= end
}

// isAfterBirth reports whether a statement is from after the birth and asserts only factors that the birth has ended.
// Oxytocin is expected after the birth, so it gets no warning.
func (k *clinicalIntake) isAfterBirth(h *evidence.Statement, p *acuity.PatientChart) bool {
	at, is := h.OrderTime(), false
	s := catalogue.Situation{Birth: p.Birth, Unborn: p.Unborn}
	for _, m := range h.Matches {
		if !m.On {
			continue
		}
		a := catalogue.Asserted{Start: at, Last: at, ByDiagnosis: m.Kind == acuity.ByDiagnosis, Fetus: h.Fetus}
		end := k.matcher.Cat.Requirement(m.Factor, m.Variant).BirthEnd(&s, &a)
		if is = end != 0 && at >= end; !is || m.Factor == terminology.CatalogueIndex().Induction && m.Kind == acuity.BySignal {
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
	return k.chartOfVisit(v)
}

// chartOfVisit returns the chart of a visit, or nil if the visit is a newborn's or is in no room.
func (k *clinicalIntake) chartOfVisit(v *registry.Visit) *acuity.PatientChart {
	r := k.WhereIs(v)
	if r == nil {
		return nil
	}
	return chartIn(r, v.ID)
}

// chartOfRow returns the chart of the patient whom a row of the newest census describes, or nil.
func (k *clinicalIntake) chartOfRow(row *acuity.CensusRoom) *acuity.PatientChart {
	r := k.Room(row.ID)
	if r == nil || row.Status != acuity.RoomOccupied {
		return nil
	}
	if v := k.names.VisitNamed(row.Visit); row.Visit != "" && v != nil {
		return chartIn(r, v.ID)
	}
	if len(r.Chart.Patients) == 1 {
		return &r.Chart.Patients[0]
	}
	return nil
}

// chartIn returns the chart of a visit in a room, or nil if the room has none.
func chartIn(r *registry.Room, visit string) *acuity.PatientChart {
	if i := slices.IndexFunc(r.Chart.Patients, func(p acuity.PatientChart) bool { return p.Visit == visit }); i >= 0 {
		return &r.Chart.Patients[i]
	}
	return nil
}
