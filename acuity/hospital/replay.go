package hospital

import (
	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/registry"
	"svc/acuity/stays"
)

// NewPlain returns an empty unit that derives everything again from all facts after each step. It is the reference
// implementation for units from [New], and about a hundred times slower.
func NewPlain(hospital string) *State {
	u := New(hospital)
	u.registry.Work.Plain = true
	return u
}

// recallDaily is the minimum number of replayed events for which the reference implementation replays the past hours of
// a backfill once a day instead of once an hour. Replaying a month hour by hour would take hours.
const recallDaily = 2000

// dropDerived drops everything that is derived from the facts.
func (u *State) dropDerived() {
	u.hours.dropPast()
	past := u.hours.past
	for _, v := range u.registry.Visits {
		u.joins.Disown(v)
		*v = registry.Visit{
			VisitFacts: v.VisitFacts, Slot: v.Slot, Statements: v.Statements, ResourceStatements: v.ResourceStatements,
			InChecks: v.InChecks, Bytes: v.Bytes, Marks: v.Marks & (registry.Unsaved | registry.Touched),
		}
	}
	for _, r := range u.registry.Rooms {
		for h := range r.Statements.All {
			h.Owner = registry.Undecided
		}
		*r = registry.Room{
			RoomState:  r.RoomState,
			Statements: r.Statements,
			Marks:      r.Marks & (registry.Unsaved | registry.Named | registry.Unshown | registry.Touched),
		}
	}
	u.timelines.Newborns, u.names.Parts, u.names.Patients = nil, nil, map[string][]*registry.Visit{}
	u.joins.Accounts, u.joins.Wholes, u.joins.Holders = map[string][]*registry.Visit{}, map[string][]*registry.Visit{}, 0
	u.statements.Withdrawn = stays.WithdrawnRooms{}
	for _, r := range u.names.BySubject {
		for i := range r.Statements {
			r.Statements[i].Owner = registry.Undecided
		}
	}
	u.registry.Work.RecountWaiting, u.timelines.Cancels = true, nil
	u.rebuildTable()
	if past != nil && past.applied >= recallDaily && u.registry.Facts.Backfill.Next%24 != 0 {
		u.registry.Work.DropPast = false // the facts about past hours are unchanged
	}
	u.compile()
	u.registry.Work.AddedMoves, u.registry.Work.DroppedMoves = nil, nil
	u.timelines.Moves, u.stays.Unplaced, u.charts.Belonging, u.charts.Crowded = nil, 0, 0, false
}

// preview returns a change that contains the effect that an observation would have. It applies the observation to a
// twin of the unit, restored from changelog records. In the unit itself, it makes a change without new facts.
func (u *State) preview(o *acuity.Observation, offset int64) acuity.Change {
	u.begin(max(u.registry.Facts.Clock, o.ReceivedAt, o.AppliedAt), offset)
	real := *o
	act := *o.Act
	act.DryRun = false
	real.Act = &act
	c := u.Twin().Apply(&real, offset)

	in := registry.Intake{Observation: o, Change: acuity.Change{Outcome: acuity.Ignored, Reason: reasonDryRun, Preview: &acuity.Preview{
		Outcome: c.Outcome, Reason: c.Reason, Level: c.Level, Effects: c.Effects,
		Activated: c.Activated, Expired: c.Expired, Warnings: c.Warnings,
	}}}
	u.derive()
	u.conclude(&in)
	return in.Change
}

// Twin returns a unit with the same facts, from which it derives its state again. The two units share no mutable state.
func (u *State) Twin() *State {
	t := New(u.registry.Keys.Hospital)
	t.registry.Work.Plain, t.registry.Limits = u.registry.Work.Plain, u.registry.Limits
	u.Records(func(key []byte, s facts.Record) {
		// Restore copies the records of rooms and visits, and stores pointers to all other records. The records of
		// these other kinds that a unit changes in place are therefore copied here.
		switch r := s.(type) {
		case *facts.DedupState:
			s = copyOf(r)
		case *facts.CodeState:
			s = copyOf(r)
		case *facts.UnitState:
			s = copyOf(r)
		}
		if err := t.Restore(string(key), s); err != nil {
			panic("acuity: " + err.Error()) // this unit made the key, so the key is valid
		}
	})
	t.Restored()
	return t
}

func copyOf[T any](v *T) *T {
	c := *v
	return &c
}
