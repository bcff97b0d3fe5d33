package verify

import (
	"fmt"
	"maps"
	"slices"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/internal/stream"
	"svc/schemas"
)

// recorded is a change in the changelog.
type recorded struct {
	schemas.ChangeHead
	value []byte
}

// unitCheck is the check of one hospital.
type unitCheck struct {
	Checked
	p         *partitionCheck
	unit      *hospital.State
	fold      *replay.Refold
	state     map[string][]byte // newest state records, by key
	queue     []recorded        // changes that are read but not yet compared
	snapshots snapshotCheck
	last      recorded // last compared change

	together bool           // whether the versions of the fold equal those of the changelog
	seen     bool           // whether at least one change was compared
	folded   int64          // offset of the last folded input; -1: none
	day      acuity.Instant // day of the last complete derivation
	anew     *derivation    // derivation in progress; nil: none
	view     *View          // view to compare when the fold reaches its version
	scratch  []byte
}

func newUnitCheck(p *partitionCheck, hospitalID string) *unitCheck {
	u := &unitCheck{Checked: Checked{Hospital: hospitalID}, p: p, state: map[string][]byte{}, together: true, folded: -1}
	u.snapshots.compared, u.snapshots.optional = hourSet{}, hourSet{}
	u.unit = p.v.newUnit(hospitalID)
	u.fold = replay.RefoldOf(u.unit)
	return u
}

// newUnit returns a unit without state.
func (v *Verify) newUnit(hospitalID string) *hospital.State {
	if v.Plain {
		return hospital.NewPlain(hospitalID)
	}
	return hospital.New(hospitalID)
}

func (u *unitCheck) version() int64 { return u.unit.Chart().Unit.Version }

// reportDifference records the first difference of a hospital. Nothing is compared after it, so the queued changes
// and snapshots are dropped.
func (u *unitCheck) reportDifference(d *Difference) {
	if u.Difference == nil {
		d.Hospital = u.Hospital
		u.Difference, u.queue = d, nil
		u.snapshots.queue, u.snapshots.awaited = nil, nil
	}
}

// foldInput applies an input to the unit, at the instant at which the processor applied it, and compares the
// resulting changes with the changelog.
func (u *unitCheck) foldInput(in *inputlog.Input) {
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
		// Earlier changes were compacted, so the comparison begins with the change that this input caused.
		u.queue = u.queue[i:]
		i = 0
	}
	if o := in.Observation; o != nil {
		u.advanceTo(max(o.ReceivedAt, o.AppliedAt))
	} else {
		u.advanceTo(in.At)
	}
	if u.Difference != nil {
		return
	}
	if i >= 0 && !u.together {
		u.alignVersion(&u.queue[0])
	}
	u.fold.Apply(in, func(c *acuity.Change) { u.compareChange(c, in.Position) })
	u.folded = in.Offset
}

// advanceTo computes the changes that timers cause up to an instant, and compares them with the changelog.
func (u *unitCheck) advanceTo(now acuity.Instant) {
	for u.Difference == nil {
		c, more := u.unit.Advance(now)
		if !more {
			return
		}
		u.compareChange(&c, stream.Position{Partition: u.p.partition, Offset: c.Offset})
	}
}

// compareChange compares a computed change with the next change in the changelog.
func (u *unitCheck) compareChange(c *acuity.Change, in stream.Position) {
	u.skipCopies()
	u.Version = c.Version
	defer u.compareDue(c)
	seconds := u.snapshots.levels.Add(c)
	if len(u.queue) == 0 || u.queue[0].Version > c.Version || !u.together {
		u.compareUnheld(c, in)
		return
	}
	r, carried := u.queue[0], false
	want := *c
	want.Snapshot = nil // snapshots have a separate topic
	made, err := schemas.ChangeCodec.Encode(u.scratch[:0], &want)
	if err != nil {
		u.reportDifference(u.differenceAt(Unreadable, c, in, err.Error()))
		return
	}
	u.scratch = made
	if string(made) != string(r.value) {
		written, err := schemas.ChangeCodec.Decode(r.value)
		if err != nil {
			u.reportDifference(u.differenceAt(Unreadable, c, in, "the change cannot be decoded"))
			return
		}
		written.Hospital = c.Hospital
		if carried = written.Snapshot != nil; carried { // written by a release without a snapshots topic
			want.Snapshot = c.Snapshot
		}
		want.Warnings = WarningsAsRecorded(want.Warnings, written.Warnings)
		want.Preview = PreviewAsRecorded(want.Preview, written.Preview)
		made, err = schemas.ChangeCodec.Encode(nil, &want)
		if again, fault := schemas.ChangeCodec.Encode(nil, written); fault != nil || err != nil || string(again) != string(made) {
			u.reportDifference(u.classifyChange(&want, written, in))
			return
		}
	}
	u.last, u.queue, u.seen = r, u.queue[1:], true
	u.Changes++
	switch {
	case c.Snapshot == nil:
	case carried:
		u.snapshots.optional.add(c.Snapshot) // may be missing: the history processor copies such snapshots into the topic later
	default:
		u.compareSnapshot(c, in, seconds)
	}
}

// skipCopies drops copies of the last compared change from the queue. Checkpoints write such copies.
func (u *unitCheck) skipCopies() {
	for len(u.queue) > 0 && u.seen && u.queue[0].Version == u.last.Version && string(u.queue[0].value) == string(u.last.value) {
		u.queue = u.queue[1:]
	}
}

// compareUnheld handles a computed change that is not in the changelog. The change may have been compacted;
// otherwise, compareUnheld reports it as missing.
func (u *unitCheck) compareUnheld(c *acuity.Change, in stream.Position) {
	if !u.p.old(c.AppliedAt) && (!u.p.trimmed || u.seen) {
		fault, detail := MissingVersion, ""
		if len(u.queue) > 0 {
			detail = fmt.Sprintf("version %d follows", u.queue[0].Version)
		} else if c.Cause == acuity.CauseIngest {
			fault = LostInput
		}
		u.reportDifference(u.differenceAt(fault, c, in, detail))
		return
	}
	u.Unheld++
	u.together = false
	u.snapshots.counted = c.AppliedAt
	if c.Snapshot != nil {
		u.snapshots.optional.add(c.Snapshot)
	}
}

// alignVersion sets the version of the fold so that its next change gets the version of r, the first recorded change
// after the compacted ones. The versions can differ, because without the compacted changes, it is unknown whether a
// timer fired before or after a late input.
func (u *unitCheck) alignVersion(r *recorded) {
	u.together = true
	if u.version()+1 == r.Version {
		return
	}
	again := u.p.v.newUnit(u.Hospital)
	u.unit.Twin().Records(func(key []byte, s facts.Record) {
		if facts, ok := s.(*facts.UnitState); ok {
			moved := *facts
			moved.Version = r.Version - 1
			s = &moved
		}
		if err := again.Restore(string(key), s); err != nil {
			u.reportDifference(&Difference{Fault: WrongDerived, Key: string(key), Version: r.Version, Detail: err.Error()})
		}
	})
	again.Restored()
	u.unit, u.fold = again, replay.RefoldOf(again)
}

// differenceAt returns a difference at the version of a change. If an input caused the change, the difference also
// contains the position of the input.
func (u *unitCheck) differenceAt(fault Fault, c *acuity.Change, in stream.Position, detail string) *Difference {
	d := &Difference{Fault: fault, Key: u.Hospital, Version: c.Version, Detail: detail}
	if c.Cause == acuity.CauseIngest {
		d.Input = position(in)
	}
	return d
}

// classifyChange determines how a recorded change is wrong.
func (u *unitCheck) classifyChange(made, written *acuity.Change, in stream.Position) *Difference {
	other := func(fault Fault, detail string) *Difference {
		input := position(stream.Position{Partition: in.Partition, Offset: written.Offset})
		return &Difference{Fault: fault, Key: u.Hospital, Version: written.Version, Input: input, Detail: detail}
	}
	switch {
	case written.Version < made.Version:
		return &Difference{Fault: DoubledVersion, Key: u.Hospital, Version: written.Version}
	case written.Cause == acuity.CauseIngest && written.Offset < in.Offset:
		return other(AppliedTwice, "")
	case written.Cause == acuity.CauseIngest && made.Cause == acuity.CauseIngest && written.Offset > in.Offset:
		if u.changeFollows(in.Offset) {
			return other(Swapped, "input "+position(in)+" comes after it")
		}
		return u.differenceAt(LostInput, made, in, fmt.Sprintf("the version belongs to input %d:%d", in.Partition, written.Offset))
	default:
		return u.differenceAt(WrongChange, made, in, changedFields(written, made))
	}
}

// lookAhead is the maximum number of records in which changeFollows searches for the change of an input.
const lookAhead = 20_000

// changeFollows reports whether a later record of the changelog contains the change that the input at the given
// offset caused.
func (u *unitCheck) changeFollows(offset int64) bool {
	for i, n := 0, 0; ; i++ {
		for i >= len(u.queue) {
			if n++; n > lookAhead || !u.p.readWritten() {
				return false
			}
		}
		if r := &u.queue[i]; r.Cause == acuity.CauseIngest && r.Offset == offset {
			return true
		}
	}
}

// compareDue performs the comparisons that are due after a change. If the change has the version of the view, it
// compares the view. After the first change of each day of the log, it starts a complete derivation.
func (u *unitCheck) compareDue(c *acuity.Change) {
	if u.view != nil && u.view.Version == c.Version {
		u.compareView(u.view)
		u.view = nil
	}
	if day := c.AppliedAt - c.AppliedAt%acuity.Instant(24*60*60*1000); day != u.day {
		u.day = day
		u.startDerivation()
	}
}

// compareRest compares the recorded changes that remain after the last input with the changes that timers cause. It
// reports the first recorded change that no timer explains.
func (u *unitCheck) compareRest() {
	for u.Difference == nil {
		if u.skipCopies(); len(u.queue) == 0 {
			return
		}
		r := u.queue[0]
		if r.Cause == acuity.CauseTime {
			if !u.together {
				u.advanceTo(r.AppliedAt - 1)
				u.alignVersion(&r)
			}
			before := u.version()
			u.advanceTo(r.AppliedAt)
			if u.Difference == nil && u.version() == before {
				u.reportExtra(&r)
			}
			continue
		}
		u.reportExtra(&r)
	}
}

// reportExtra reports a recorded change to which no computed change corresponds.
func (u *unitCheck) reportExtra(r *recorded) {
	d := &Difference{Fault: WrongChange, Key: u.Hospital, Version: r.Version, Detail: "no timer was due"}
	if r.Cause == acuity.CauseIngest {
		d.Input = position(stream.Position{Partition: u.p.partition, Offset: r.Offset})
		if d.Fault, d.Detail = ForeignInput, ""; r.Offset < u.p.inputs {
			d.Fault = AppliedTwice
		}
	}
	if r.Version <= u.version() {
		d.Fault, d.Detail = DoubledVersion, ""
	}
	u.reportDifference(d)
}

// compareState compares the newest state records in the changelog with the state of the folded unit.
func (u *unitCheck) compareState() {
	if u.Difference != nil {
		return
	}
	made := map[string][]byte{}
	u.unit.Records(func(key []byte, s facts.Record) {
		value, err := schemas.EncodeState(nil, s)
		if err != nil {
			u.reportDifference(&Difference{Fault: WrongState, Key: string(key), Version: u.version(), Detail: err.Error()})
		}
		made[string(key)] = value
	})
	for _, key := range slices.Sorted(maps.Keys(made)) {
		written, there := u.state[key]
		switch {
		case !there:
			u.reportDifference(&Difference{Fault: MissingState, Key: key, Version: u.version()})
		case !sameRecord(written, made[key]):
			u.reportDifference(&Difference{Fault: WrongState, Key: key, Version: u.version()})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.state)) {
		if _, ought := made[key]; !ought {
			u.reportDifference(&Difference{Fault: LostTomb, Key: key, Version: u.version()})
		}
	}
}
