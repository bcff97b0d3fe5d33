package hospital

import (
	"svc/acuity"
)

// preview answers what an observation would do, and records only the question. A twin of
// the unit applies it, made of changelog records as after a restart, so that nothing
// comes back here.
func (u *State) preview(o *acuity.Observation, offset int64) acuity.Change {
	u.begin(max(u.facts.Clock, o.ReceivedAt, o.AppliedAt), offset)
	real := *o
	act := *o.Act
	act.DryRun = false
	real.Act = &act
	c := u.Twin().Apply(&real, offset)

	in := intake{o: o, Change: acuity.Change{Outcome: acuity.Ignored, Reason: reasonDryRun, Preview: &acuity.Preview{
		Outcome: c.Outcome, Reason: c.Reason, Level: c.Level, Effects: c.Effects,
		Activated: c.Activated, Expired: c.Expired, Warnings: c.Warnings,
	}}}
	u.derive()
	u.conclude(&in)
	return in.Change
}

// Twin returns a unit with the same facts, derived anew. It shares nothing that changes.
func (u *State) Twin() *State {
	t := New(u.keys.hospital)
	t.work.plain, t.limits = u.work.plain, u.limits
	u.Records(func(key []byte, s Record) {
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
