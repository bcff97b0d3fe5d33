package replay

import (
	"fmt"
	"maps"
	"slices"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// recorded is a change of the changelog.
type recorded struct {
	schemas.ChangeHead
	value []byte
}

// unitCheck is one hospital under verification.
type unitCheck struct {
	Checked
	p     *partitionCheck
	unit  *acuity.Unit
	fold  *Refold
	state map[string][]byte // newest records of the state, by key
	queue []recorded        // read, and not yet held against the fold
	last  recorded          // held last

	together bool           // the versions of the fold are those of the changelog
	seen     bool           // a change was held against the fold
	day      acuity.Instant // when all was derived anew last
	anew     *derivation    // under way; nil: none
	view     *View          // to be compared at its version
	scratch  []byte
}

func newUnitCheck(p *partitionCheck, hospital string) *unitCheck {
	u := &unitCheck{Checked: Checked{Hospital: hospital}, p: p, state: map[string][]byte{}, together: true}
	if u.unit = acuity.NewUnit(hospital); p.v.Plain {
		u.unit = acuity.NewPlainUnit(hospital)
	}
	u.fold = &Refold{unit: u.unit}
	return u
}

func (u *unitCheck) version() int64 { return u.unit.Chart().Unit.Version }

// differ notes a difference; only the first counts.
func (u *unitCheck) differ(d *Difference) {
	if u.Difference == nil {
		d.Hospital = u.Hospital
		u.Difference = d
	}
}

// input folds an input, with the clock at which it was applied.
func (u *unitCheck) input(in *Input) {
	if u.Difference != nil {
		return
	}
	u.Inputs++
	i := slices.IndexFunc(u.queue, func(r recorded) bool { return r.Cause == acuity.CauseIngest && r.Offset == in.Offset })
	switch {
	case i >= 0 && in.Observation != nil:
		in.Observation.AppliedAt = u.queue[i].AppliedAt
	case i >= 0:
		in.At = u.queue[i].AppliedAt
	}
	if i >= 0 && !u.together {
		// What lies before it was made at a time of which not all is known.
		u.queue = u.queue[i:]
		i = 0
	}
	if o := in.Observation; o != nil {
		u.until(max(o.ReceivedAt, o.AppliedAt))
	} else {
		u.until(in.At)
	}
	if u.Difference != nil {
		return
	}
	if i >= 0 && !u.together {
		u.meet(&u.queue[0])
	}
	u.fold.Take(in, func(c *acuity.Change) { u.hold(c, in.Position) })
}

// until takes what is due.
func (u *unitCheck) until(now acuity.Instant) {
	for u.Difference == nil {
		c, more := u.unit.Advance(now)
		if !more {
			return
		}
		u.hold(&c, stream.Position{Partition: u.p.partition, Offset: c.Offset})
	}
}

// hold holds the changelog against a change that the fold made.
func (u *unitCheck) hold(c *acuity.Change, in stream.Position) {
	u.skipCopies()
	u.Version = c.Version
	defer u.passed(c)
	if len(u.queue) == 0 || u.queue[0].Version > c.Version || !u.together {
		u.unheld(c, in)
		return
	}
	r := u.queue[0]
	made, err := schemas.EncodeChange(u.scratch[:0], c)
	if err != nil {
		u.differ(u.at(Unreadable, c, in, err.Error()))
		return
	}
	u.scratch = made
	if string(made) != string(r.value) {
		written, err := schemas.DecodeChange(r.value)
		if err != nil {
			u.differ(u.at(Unreadable, c, in, "the change cannot be decoded"))
			return
		}
		written.Hospital = c.Hospital
		if again, err := schemas.EncodeChange(nil, written); err != nil || string(again) != string(made) {
			u.differ(u.judge(c, written, in))
			return
		}
	}
	u.last, u.queue, u.seen = r, u.queue[1:], true
	u.Changes++
}

// skipCopies drops the copies of the newest change that a checkpoint writes.
func (u *unitCheck) skipCopies() {
	for len(u.queue) > 0 && u.seen && u.queue[0].Version == u.last.Version && string(u.queue[0].value) == string(u.last.value) {
		u.queue = u.queue[1:]
	}
}

// unheld takes a change that the changelog does not have: compacted away, or
// missing.
func (u *unitCheck) unheld(c *acuity.Change, in stream.Position) {
	if !u.p.old(c.AppliedAt) && (!u.p.trimmed || u.seen) {
		fault, detail := MissingVersion, ""
		if len(u.queue) > 0 {
			detail = fmt.Sprintf("version %d follows", u.queue[0].Version)
		} else if c.Cause == acuity.CauseIngest {
			fault = LostInput
		}
		u.differ(u.at(fault, c, in, detail))
		return
	}
	u.Unheld++
	u.together = false
}

// meet brings the version of the fold in line with a change of the changelog,
// after some that are not held: whether a timer fired before or after an input
// that was late is known of no more.
func (u *unitCheck) meet(r *recorded) {
	u.together = true
	if u.version()+1 == r.Version {
		return
	}
	again := acuity.NewUnit(u.Hospital)
	if u.p.v.Plain {
		again = acuity.NewPlainUnit(u.Hospital)
	}
	u.unit.Twin().States(func(key []byte, s acuity.State) {
		if facts, ok := s.(*acuity.UnitState); ok {
			moved := *facts
			moved.Version = r.Version - 1
			s = &moved
		}
		if err := again.Restore(string(key), s); err != nil {
			u.differ(&Difference{Fault: WrongDerived, Key: string(key), Version: r.Version, Detail: err.Error()})
		}
	})
	again.Restored()
	u.unit, u.fold.unit = again, again
}

// at makes a difference of a change.
func (u *unitCheck) at(fault Fault, c *acuity.Change, in stream.Position, detail string) *Difference {
	d := &Difference{Fault: fault, Key: u.Hospital, Version: c.Version, Detail: detail}
	if c.Cause == acuity.CauseIngest {
		d.Input = position(in)
	}
	return d
}

// judge says how a change of the changelog is wrong.
func (u *unitCheck) judge(made, written *acuity.Change, in stream.Position) *Difference {
	other := func(fault Fault, detail string) *Difference {
		return &Difference{Fault: fault, Key: u.Hospital, Version: written.Version, Input: position(stream.Position{Partition: in.Partition, Offset: written.Offset}), Detail: detail}
	}
	switch {
	case written.Version < made.Version:
		return &Difference{Fault: DoubledVersion, Key: u.Hospital, Version: written.Version}
	case written.Cause == acuity.CauseIngest && written.Offset < in.Offset:
		return other(AppliedTwice, "")
	case written.Cause == acuity.CauseIngest && made.Cause == acuity.CauseIngest && written.Offset > in.Offset:
		if u.later(in.Offset) {
			return other(Swapped, "input "+position(in)+" comes after it")
		}
		return u.at(LostInput, made, in, fmt.Sprintf("the version is of input %d:%d", in.Partition, written.Offset))
	default:
		return u.at(WrongChange, made, in, changedFields(written, made))
	}
}

// lookAhead is how many records are looked through for an input that was applied
// late.
const lookAhead = 20_000

// later reports whether a change of an input lies further on.
func (u *unitCheck) later(offset int64) bool {
	for i, n := 0, 0; ; i++ {
		for i >= len(u.queue) {
			if n++; n > lookAhead || !u.p.more() {
				return false
			}
		}
		if r := &u.queue[i]; r.Cause == acuity.CauseIngest && r.Offset == offset {
			return true
		}
	}
}

// passed looks at what is to be looked at once a change is folded.
func (u *unitCheck) passed(c *acuity.Change) {
	if u.view != nil && u.view.Version == c.Version {
		u.compareView(u.view)
		u.view = nil
	}
	if day := c.AppliedAt - c.AppliedAt%acuity.Instant(24*60*60*1000); day != u.day {
		u.day = day
		u.deriveAnew()
	}
}

// rest takes what the changelog has beyond the last input: what came due.
func (u *unitCheck) rest() {
	for u.Difference == nil {
		if u.skipCopies(); len(u.queue) == 0 {
			return
		}
		r := u.queue[0]
		if r.Cause == acuity.CauseTime {
			if !u.together {
				u.until(r.AppliedAt - 1)
				u.meet(&r)
			}
			before := u.version()
			u.until(r.AppliedAt)
			if u.Difference == nil && u.version() == before {
				u.extra(&r)
			}
			continue
		}
		u.extra(&r)
	}
}

// extra is a change that the log does not make.
func (u *unitCheck) extra(r *recorded) {
	d := &Difference{Fault: WrongChange, Key: u.Hospital, Version: r.Version, Detail: "nothing was due"}
	if r.Cause == acuity.CauseIngest {
		d.Input = position(stream.Position{Partition: u.p.partition, Offset: r.Offset})
		if d.Fault, d.Detail = ForeignInput, ""; r.Offset < u.p.inputs {
			d.Fault = AppliedTwice
		}
	}
	if r.Version <= u.version() {
		d.Fault, d.Detail = DoubledVersion, ""
	}
	u.differ(d)
}

// compareState holds the newest records of the state against the facts.
func (u *unitCheck) compareState() {
	if u.Difference != nil {
		return
	}
	made := map[string][]byte{}
	u.unit.States(func(key []byte, s acuity.State) {
		value, err := schemas.EncodeState(nil, s)
		if err != nil {
			u.differ(&Difference{Fault: WrongState, Key: string(key), Version: u.version(), Detail: err.Error()})
		}
		made[string(key)] = value
	})
	for _, key := range slices.Sorted(maps.Keys(made)) {
		written, there := u.state[key]
		switch {
		case !there:
			u.differ(&Difference{Fault: MissingState, Key: key, Version: u.version()})
		case !sameRecord(written, made[key]):
			u.differ(&Difference{Fault: WrongState, Key: key, Version: u.version()})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.state)) {
		if _, ought := made[key]; !ought {
			u.differ(&Difference{Fault: LostTomb, Key: key, Version: u.version()})
		}
	}
}
