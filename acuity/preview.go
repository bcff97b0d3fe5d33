package acuity

// Preview is what an observation would do: what the change that applies it
// says of the verdict.
type Preview struct {
	Outcome Outcome
	Reason  string // of an observation that would not be taken

	Level              Level // after
	Effects            []Effect
	Activated, Expired []FactorChange
	Warnings           []Warning
}

// preview answers what an observation would do, and does nothing but take note
// of the question. A twin of the unit does it: made of the records of the
// changelog as a restart makes one, so that nothing of it can come back here.
func (u *Unit) preview(o *Observation, offset int64) Change {
	u.begin(max(u.facts.Clock, o.ReceivedAt, o.AppliedAt), offset)
	real := *o
	act := *o.Act
	act.DryRun = false
	real.Act = &act
	c := u.Twin().Apply(&real, offset)

	in := intake{o: o, Change: Change{Outcome: Ignored, Reason: ReasonDryRun, Preview: &Preview{
		Outcome: c.Outcome, Reason: c.Reason, Level: c.Level, Effects: c.Effects,
		Activated: c.Activated, Expired: c.Expired, Warnings: c.Warnings,
	}}}
	u.derive()
	u.conclude(&in)
	return in.Change
}

// Twin returns a unit of the same facts, which shares nothing that changes. All
// that is derived it has derived anew.
func (u *Unit) Twin() *Unit {
	t := NewUnit(u.hospital)
	t.plain, t.limits = u.plain, u.limits
	u.States(func(key []byte, s State) {
		// The records of rooms, visits and the unit are taken by value, those
		// of the others are kept as they are.
		switch r := s.(type) {
		case *SeenState:
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
