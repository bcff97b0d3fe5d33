package hospital

import (
	"cmp"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// Apply applies one observation and returns the resulting change. The argument offset is the observation's offset in
// the input log. The caller must first have advanced the unit to the observation's clock. Apply never fails: the
// change contains the reasons why parts of the observation could not be applied.
func (u *State) Apply(o *acuity.Observation, offset int64) acuity.Change {
	if o.Act != nil && o.Act.DryRun {
		return u.preview(o, offset)
	}
	u.begin(max(u.registry.Facts.Clock, o.ReceivedAt, o.AppliedAt), offset)
	u.changed = true
	u.freeCapacity(o)
	in := registry.Intake{Observation: o, Change: acuity.Change{Outcome: acuity.Applied}, Roomy: u.capacity.allowsAllRooms(o), Waiting: -1}
	if first := u.dedup.Repeats(o.Request); first != nil {
		in.Outcome, in.Repeats, in.RepeatsAt = acuity.Duplicate, first.Version, first.At
		if first.Digest != o.Request.Digest {
			in.Reason = facts.ReasonReused
		}
		u.derive()
		u.conclude(&in)
		return in.Change
	}
	u.names.FindExisting(&in)
	if len(o.References) > 0 {
		u.names.StoreReferences(&in)
		u.registry.Work.DropPast = true
	}
	if len(o.Events) > 0 {
		u.events.applyEvents(&in)
	}
	if o.Census != nil {
		u.applyCensus(&in, o.Census)
		u.registry.Work.RecountWaiting = true // the census may add visits
	}
	if o.Staffing != nil {
		setStaffing(&u.registry.Facts, &in, o.Staffing)
		if in.Outcome == acuity.Applied {
			u.hours.endPastStaffing(cmp.Or(o.Staffing.AsOf, o.ReceivedAt))
		}
	}
	if o.Roster != nil {
		setRoster(&u.registry.Facts, &in, o.Roster)
	}
	if isAdministration(o) {
		u.applyLocalSettings(&in)
	}
	if o.Room != nil || len(o.Signals) > 0 {
		u.clinical.applySignals(&in)
	}
	u.derive()
	u.statements.WarnOfSubjects(&in)
	u.events.answerEvents(&in)
	in.AnswerClinical(u.registry.Facts.CensusAt)
	u.clinical.warnOfBirths(&in)
	u.clinical.older.warn(&u.clinical, &in, &u.charts)
	u.clinical.warnOfDischarged(&in)
	u.names.AnswerWaiting(&in)
	answerCreates(&in)
	u.hours.observe(&in)
	u.conclude(&in)
	return in.Change
}
