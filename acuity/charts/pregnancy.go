package charts

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// isPregnant reports whether statements about a patient mean that she is still pregnant, although she is in a room whose
// patients have given birth (docs/decisions.md#patient-before-place). A report about labor or a fetus counts if it is
// newer than her arrival in the room. The service, the reason for admission and the diagnoses often remain unchanged
// after a birth; they count only if she came to the unit without being in a labor, operating or recovery room. The
// input e must not contain her primary factor yet. For an occupant without a visit, v is nil.
func (m *Builder) isPregnant(e *evidence.Input, v *registry.Visit, arrived acuity.Instant) bool {
	direct := v != nil && v.Timeline.CameDirectly(m.Locations.Table.Describe) && !m.wasInBirthRoom(v)
	for _, ev := range evidence.Fold(e, &m.Matcher.Reader) {
		if m.isMomentary(&ev) && (direct || ev.Kind == acuity.ByCensus && ev.Start > arrived || ev.Kind != acuity.ByCensus && ev.Last > arrived) {
			return true
		}
	}
	isAfterBirth := func(d evidence.Diagnosis) bool { return adt.IsAfterBirth(&d.Diagnosis) }
	if !direct || slices.ContainsFunc(e.Diagnoses, isAfterBirth) {
		return false
	}
	return v.Timeline.StatesPregnancy() ||
		slices.ContainsFunc(e.Diagnoses, func(d evidence.Diagnosis) bool { return adt.IsPregnancy(&d.Diagnosis) })
}

// isMomentary reports whether evidence states something that is possible only before a birth and that senders do not
// simply repeat: a primary factor, or a modifier with a limited duration. Oxytocin does not count, because it is also
// given after the birth.
func (m *Builder) isMomentary(ev *acuity.Evidence) bool {
	if !ev.Factor.EndsAtBirth() || ev.Kind == acuity.ByDiagnosis {
		return false
	}
	if ev.Factor.IsPrimary() {
		return ev.Kind != acuity.BySignal // the catalogue's only signal of a primary factor is oxytocin
	}
	window, _ := m.Matcher.Cat.Window(ev.Factor, ev.Variant, false)
	return window > 0
}

// wasInBirthRoom reports whether a census has reported the visit in a labor, operating or recovery room.
func (m *Builder) wasInBirthRoom(v *registry.Visit) bool {
	return slices.ContainsFunc(v.Stays, func(s facts.CensusStay) bool {
		return m.kindOf(s.Room).HasBirths()
	})
}

// recoveryBefore returns when the patient came to the recovery room from which, according to censuses, she moved to her
// current postpartum room, or 0 if she did not come from a recovery room.
func (m *Builder) recoveryBefore(v *registry.Visit) acuity.Instant {
	for i := len(v.Stays) - 1; i > 0 && m.kindOf(v.Stays[i].Room).IsPostpartum(); i-- {
		before := &v.Stays[i-1]
		if before.To != v.Stays[i].From {
			return 0
		}
		if m.kindOf(before.Room).IsRecovery() {
			return max(before.First, before.From)
		}
	}
	return 0
}

// kindOf returns the kind of a room according to its area in the census and its label.
func (m *Builder) kindOf(room int32) adt.Area {
	r := m.Room(room)
	if r == nil {
		return 0
	}
	return (&adt.CareFacts{Area: r.Area, Label: r.Label}).Kind()
}
