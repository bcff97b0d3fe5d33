package acuity

// Preview is what an observation would do: the verdict part of the change that would
// apply it.
type Preview struct {
	Outcome Outcome
	Reason  string // of an observation that would not be taken

	Level              Level // after
	Effects            []Effect
	Activated, Expired []FactorChange
	Warnings           []Warning
}

// preview answers what an observation would do, and records only the question. A twin of
// the unit applies it, made of changelog records as after a restart, so that nothing
// comes back here.
func (u *Unit) preview(o *Observation, offset int64) Change {
	u.begin(max(u.facts.Clock, o.ReceivedAt, o.AppliedAt), offset)
	real := *o
	act := *o.Act
	act.DryRun = false
	real.Act = &act
	c := u.Twin().Apply(&real, offset)

	in := intake{o: o, Change: Change{Outcome: Ignored, Reason: reasonDryRun, Preview: &Preview{
		Outcome: c.Outcome, Reason: c.Reason, Level: c.Level, Effects: c.Effects,
		Activated: c.Activated, Expired: c.Expired, Warnings: c.Warnings,
	}}}
	u.derive()
	u.conclude(&in)
	return in.Change
}

// Twin returns a unit with the same facts, derived anew. It shares nothing that changes.
func (u *Unit) Twin() *Unit {
	t := NewUnit(u.keys.hospital)
	t.work.plain, t.limits = u.work.plain, u.limits
	u.States(func(key []byte, s State) {
		// Restore copies the records of rooms and visits, and keeps pointers to the
		// others.
		switch r := s.(type) {
		case *DedupState:
			s = apart(r)
		case *CodeState:
			s = apart(r)
		case *UnitState:
			s = apart(r)
		}
		if err := t.Restore(string(key), s); err != nil {
			panic("acuity: " + err.Error()) // a key that this unit made
		}
	})
	t.Restored()
	return t
}

func apart[T any](v *T) *T {
	c := *v
	return &c
}
