package hospital

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/registry"
	"svc/acuity/score"
)

// conclude judges the unit after a step and completes the change: the next version, the effects, and the factors that
// became active or expired.
func (u *State) conclude(in *registry.Intake) {
	c := &in.Change
	u.updateHead()
	u.scoring.judge()
	after := &u.scoring.verdict

	f := &u.registry.Facts
	f.Version++
	if f.Version == 1 || !u.scoring.isUnchanged() {
		f.Since = f.Clock
	}
	c.Hospital, c.Version, c.Offset, c.AppliedAt, c.Level = u.registry.Keys.Hospital, f.Version, f.Offset, f.Clock, after.Level
	if f.Version == 1 {
		f.Run.Since = f.Clock
	}
	u.scoring.addEffects(c)
	u.scoring.addFactorChanges(in)
	if in.Census {
		c.Removed = u.scoring.removed()
	}
	if in.Room != nil {
		c.RoomLabel = in.Room.Chart.Label
		if _, rv := u.scoring.verdicts(in.Room); rv != nil {
			for i := range rv.Factors {
				c.Active = append(c.Active, rv.Factors[i].Factor)
			}
		}
	}
	stampVersion(u)
	u.changed, u.scoring.overdue = true, false
}

// stampVersion copies three facts to the chart and to the verdict: the version, the time at which the shown verdict
// last changed, and the run of the current level.
func stampVersion(u *State) {
	f, h, v := &u.registry.Facts, &u.registry.Chart.Unit, &u.scoring.verdict
	h.Version, h.Since, h.Run = f.Version, f.Since, f.Run
	v.Version, v.AsOf, v.Run = f.Version, f.Since, f.Run
}

// updateHead updates the fields of the chart that concern the unit as a whole.
func (u *State) updateHead() {
	f, h := &u.registry.Facts, &u.registry.Chart.Unit
	h.Clock, h.ObservedAt = f.Clock, f.ObservedAt
	h.Staffing, h.Roster, h.StaffingFromRoster = f.Staffing, f.Roster, u.settings.SwitchesInForce().StaffingFromRoster
	h.HasCensus, h.CensusAt, h.TotalRooms = f.HasCensus, f.CensusAt, f.TotalRooms
	u.timelines.UpdateMoves()
	h.Moves, h.Unplaced = u.timelines.Moves[max(len(u.timelines.Moves)-capMoves, 0):], u.stays.Unplaced
	u.timelines.CountWaiting()
	h.UnknownLocations = 0
	for _, r := range u.registry.Rooms {
		if r.Registered && r.InUnit {
			h.UnknownLocations++
		}
	}
}

// addEffects adds the differences from the last published state, first the level, then the rooms by id, and records
// the new state as published. A room that has left the unit is gray.
func (k *scoring) addEffects(c *acuity.Change) {
	v := &k.verdict
	if v.Level != k.Facts.Level {
		c.Effects = append(c.Effects, acuity.Effect{
			Kind: acuity.LevelChanged, Level: v.Level, Prior: k.Facts.Level,
			Driving: v.Driving, Ratio: v.Ratio, Shortfall: v.Shortfall,
		})
		k.Facts.Run = acuity.LevelRun{Since: c.AppliedAt, Prior: k.Facts.Level, HasPrior: c.Version > 1}
		k.Facts.Level = v.Level
	}
	var noVerdict score.RoomVerdict
	rooms := k.compared
	if k.overdue {
		rooms = k.Rooms
	}
	for _, r := range rooms {
		_, rv := k.verdicts(r)
		if rv == nil {
			rv = &noVerdict
		}
		if rv.Color == r.Color {
			continue
		}
		e := acuity.Effect{
			Kind: acuity.RoomRescored, RoomID: r.ID, RoomLabel: r.Label,
			Color: rv.Color, PriorColor: r.Color, Score: rv.Score, Nursing: rv.Demand.Nursing(),
		}
		for j := range rv.Factors {
			e.Factors = append(e.Factors, rv.Factors[j].Factor)
		}
		c.Effects = append(c.Effects, e)
		r.Color = rv.Color
		k.Work.MarkRoom(r, registry.Unsaved)
	}
}

// addFactorChanges adds the factors that became active or expired. After an input, the factors are compared with those
// after the last input that touched the room, so a factor that expired in between is reported once
// (docs/decisions.md#activated-and-expired). After a due instant, the factors are compared with those of the previous
// step.
func (k *scoring) addFactorChanges(in *registry.Intake) {
	c := &in.Change
	for _, r := range k.compared {
		before, after := k.verdicts(r)
		k.previous, k.active = before.ActiveFactors(k.previous[:0]), after.ActiveFactors(k.active[:0])
		if in.Cause == acuity.CauseTime {
			addFactors(c, r, k.previous, k.active, before, after)
			continue
		}
		if r.Marks&registry.Named == 0 && slices.Equal(k.previous, k.active) {
			continue
		}
		addFactors(c, r, r.Active, k.active, before, after)
		addPassed(in, r, k.active)
		if !slices.Equal(r.Active, k.active) {
			r.Active = slices.Clone(k.active)
			k.Work.MarkRoom(r, registry.Unsaved)
		}
	}
	for _, r := range k.Work.Rooms.With(registry.Named) {
		r.Marks &^= registry.Named
	}
	k.Work.Rooms.Reset(registry.Named)
}

// addFactors appends the differences between two sets of factors in one room.
func addFactors(c *acuity.Change, r *registry.Room, old, now []catalogue.Factor, before, after *score.RoomVerdict) {
	first := len(c.Activated)
	for _, f := range now {
		if !slices.Contains(old, f) {
			c.Activated = append(c.Activated, describeFactor(r, f, after))
		}
	}
	sortChanges(c.Activated[first:])
	first = len(c.Expired)
	for _, f := range old {
		if !slices.Contains(now, f) {
			c.Expired = append(c.Expired, describeFactor(r, f, before))
		}
	}
	sortChanges(c.Expired[first:])
}

func sortChanges(list []acuity.FactorChange) {
	slices.SortFunc(list, func(a, b acuity.FactorChange) int { return strings.Compare(a.Factor.ID(), b.Factor.ID()) })
}

// describeFactor describes a factor from rv, the verdict on the room in which the factor is or was active. If rv does
// not contain the factor, it is described from the evidence in the room's chart.
func describeFactor(r *registry.Room, f catalogue.Factor, rv *score.RoomVerdict) acuity.FactorChange {
	c := acuity.FactorChange{RoomID: r.ID, RoomLabel: r.Label, Factor: f}
	if fv := rv.Find(f); fv != nil {
		c.Ratio, c.Since, c.Kind = fv.Need.Ratio(), fv.Since, fv.Kind
		return c
	}
	for i := range r.Chart.Patients {
		for _, e := range r.Chart.Patients[i].Evidence {
			if e.Factor == f && (c.Since == 0 || e.Start < c.Since) {
				c.Since, c.Kind = e.Start, e.Kind
			}
		}
	}
	return c
}

// addPassed adds the factors of statements about the room itself whose window had already passed on receipt. Such
// factors expire without having been active.
func addPassed(in *registry.Intake, r *registry.Room, now []catalogue.Factor) {
	first := len(in.Expired)
	for i := range in.Statements {
		if s := &in.Observation.Signals[i]; in.SignalExists(i) || s.Room != r.ID || s.Visit != "" || s.Patient != "" {
			continue
		}
		for _, m := range in.Statements[i].MatchedSignal.Matches {
			if !m.On || slices.Contains(now, m.Factor) || !hasEvidence(r, m.Factor) ||
				slices.ContainsFunc(in.Expired, func(c acuity.FactorChange) bool { return c.RoomID == r.ID && c.Factor == m.Factor }) {
				continue
			}
			in.Expired = append(in.Expired, describeFactor(r, m.Factor, nil))
		}
	}
	if len(in.Expired) > first {
		for first > 0 && in.Expired[first-1].RoomID == r.ID {
			first--
		}
		sortChanges(in.Expired[first:])
	}
}

// hasEvidence reports whether the chart has evidence for a factor, active or not.
func hasEvidence(r *registry.Room, f catalogue.Factor) bool {
	for i := range r.Chart.Patients {
		for j := range r.Chart.Patients[i].Evidence {
			if r.Chart.Patients[i].Evidence[j].Factor == f {
				return true
			}
		}
	}
	return false
}
