package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/schemas"
)

// DiffRow is one hour in which the level, an axis or a room of a unit differs between the replay and the recorded
// verdicts.
type DiffRow struct {
	Hospital string        `parquet:"hospital,dict" json:"hospital" about:"Hospital ID"`
	Hour     tables.Moment `parquet:"hour,timestamp(millisecond)" json:"hour" about:"Full hour, UTC"`
	Subject  string        `parquet:"subject,dict" json:"subject" about:"level (of the unit), axis or room"`
	ID       string        `parquet:"id,dict" json:"id" about:"ID of the axis or room; unit for the level"`
	Recorded string        `parquet:"recorded,dict" json:"recorded" about:"Most severe recorded value in the hour"`
	Replayed string        `parquet:"replayed,dict" json:"replayed" about:"Most severe replayed value in the hour"`
	Minutes  float64       `parquet:"minutes" json:"minutes" about:"Minutes of the hour in which the values differed"`
}

// Diff compares a replay with the recorded verdicts.
type Diff struct {
	Rerun
	// Changes is the verdicts topic, which contains the recorded levels and room colors. The recorded axes are not in
	// the topic, and old changes may have been compacted. Diff computes the axes and the compacted changes by a
	// replay with the rules that were in force at the time.
	Changes inputlog.Source
}

// DiffSummary counts the differences.
type DiffSummary struct {
	Hours        int64          // hours with a difference, over all hospitals
	Rows         int64          // number of rows; each is one hour in which the level, one axis or one room differs
	LevelMinutes float64        // minutes in which the level differed
	First        acuity.Instant // instant of the first verdict; 0: there was none
}

// Write writes the rows to out, and returns a summary of them.
func (d *Diff) Write(ctx context.Context, out Output) (*DiffSummary, error) {
	var sum diffSum
	_, err := writeRows(ctx, &d.Rerun, out, func(ctx context.Context, s stream.Span, in inputs, write func(*DiffRow) error) error {
		return d.compare(ctx, s, in, write, &sum)
	})
	return &sum.DiffSummary, err
}

// Each calls fn with every row, one partition after the other. A row is valid until fn returns.
func (d *Diff) Each(ctx context.Context, fn func(*DiffRow)) (*DiffSummary, error) {
	var sum diffSum
	err := d.foldPartitions(ctx, 1, func(ctx context.Context, s stream.Span, in inputs) error {
		return d.compare(ctx, s, in, func(row *DiffRow) error { fn(row); return ctx.Err() }, &sum)
	})
	return &sum.DiffSummary, err
}

// diffSum sums the differences over all partitions.
type diffSum struct {
	mu sync.Mutex
	DiffSummary
}

func (d *diffSum) add(s *DiffSummary) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Hours, d.Rows, d.LevelMinutes = d.Hours+s.Hours, d.Rows+s.Rows, d.LevelMinutes+s.LevelMinutes
	if s.First != 0 && (d.First == 0 || s.First < d.First) {
		d.First = s.First
	}
}

// partitionDiff compares a replay of a partition with the recorded verdicts.
type partitionDiff struct {
	d     *Diff
	write func(*DiffRow) error
	units map[string]*diffUnit
	held  map[string]acuity.Instant // see heldFrom

	changes *inputlog.Ahead[recordedStep] // nil: there are no recorded changes
	applied int64                         // highest input offset in the changes read so far
}

// diffUnit is one hospital in a comparison.
type diffUnit struct {
	timeline
	recording, replaying *Refold // refolds with the rules in force at the time and with the given rules; equal if none are given
	made                 []step  // steps of both refolds for the input that is being applied
	version              int64   // last recorded version
}

// recordedStep is the step of a recorded change, with the hospital, version and input offset of the change.
type recordedStep struct {
	step
	hospital        string
	version, offset int64
	input           bool // whether an input caused the change
}

const never = acuity.Instant(1<<63 - 1)

// compare writes the rows of one partition, and adds the partition's summary to sum.
func (d *Diff) compare(ctx context.Context, s stream.Span, in inputs, write func(*DiffRow) error, sum *diffSum) error {
	p := &partitionDiff{d: d, write: write, units: map[string]*diffUnit{}, applied: -1}
	if d.Changes.Read == nil {
		return p.run(in, sum)
	}
	recorded, err := d.Changes.Partition(ctx, s.Partition)
	if err != nil {
		return err
	}
	if p.held, err = d.heldFrom(ctx, recorded); err != nil {
		return err
	}
	p.changes = inputlog.ReadAhead(ctx, d.Changes.Read, recorded, func(r *stream.Record, t *recordedStep) (wanted bool) {
		if !schemas.IsChange(r.Key) || !d.wants(r.Key) {
			return false
		}
		c, err := schemas.ChangeCodec.Decode(r.Value)
		if err != nil {
			return false // svc verify reports such a record
		}
		*t = recordedStep{stepOf(nil, c, recordedSide), string(r.Key), c.Version, c.Offset, c.Cause == acuity.CauseIngest}
		return true
	})
	defer p.changes.Stop()
	return p.run(in, sum)
}

// heldFrom returns, for each hospital, the instant from which the topic contains all changes of the hospital, or 0 if
// no change is missing. Earlier changes may have been compacted.
func (d *Diff) heldFrom(ctx context.Context, recorded stream.Span) (map[string]acuity.Instant, error) {
	held, version := map[string]acuity.Instant{}, map[string]int64{}
	err := d.Changes.Read(ctx, recorded, func(r stream.Record) error {
		if !schemas.IsChange(r.Key) || !d.wants(r.Key) {
			return nil
		}
		hospital := string(r.Key)
		head, err := schemas.PeekChange(r.Value)
		last, known := version[hospital]
		if err != nil || head.Version <= last {
			return nil //nolint:nilerr // svc verify reports errors; a record without a newer version is a copy from a checkpoint
		}
		if head.Version == 1 {
			held[hospital] = 0
		} else if !known || head.Version != last+1 {
			held[hospital] = head.AppliedAt
		}
		version[hospital] = head.Version
		return nil
	})
	return held, err
}

func (p *partitionDiff) unit(hospital string) (u *diffUnit, err error) {
	if u = p.units[hospital]; u != nil {
		return u, nil
	}
	u = &diffUnit{timeline: timeline{
		hospital: hospital, from: acuity.At(p.d.From), to: acuity.At(p.d.To), held: never, each: p.write, cells: map[subject]*standing{},
	}}
	if held, known := p.held[hospital]; known {
		u.held = held
	}
	if u.recording, err = NewRefold(hospital, nil); err != nil {
		return nil, err
	}
	u.replaying = u.recording
	if len(p.d.Rules) > 0 {
		if u.replaying, err = NewRefold(hospital, p.d.Rules); err != nil {
			return nil, err
		}
	}
	p.units[hospital] = u
	return u, nil
}

// foldInput reads the recorded changes up to the one that the given input caused, and then applies the input to the
// refolds of both sides.
func (p *partitionDiff) foldInput(in *inputlog.Input) error {
	for p.applied < in.Offset {
		if more, err := p.readRecorded(); err != nil {
			return err
		} else if !more {
			break
		}
	}
	u, err := p.unit(in.Hospital)
	if err != nil {
		return err
	}
	return u.fold(func(f *Refold, tell func(*acuity.Change)) { f.Apply(in, tell) })
}

// readRecorded reads the next recorded change, or returns false if there is none.
func (p *partitionDiff) readRecorded() (bool, error) {
	if p.changes == nil {
		return false, nil
	}
	t := p.changes.Next()
	if t == nil {
		return false, p.changes.Err()
	}
	if t.input {
		p.applied = max(p.applied, t.offset)
	}
	u, err := p.unit(t.hospital)
	if err == nil && t.version > u.version && t.at >= u.held {
		u.version, u.recorded = t.version, append(u.recorded, t.step)
	}
	return true, err
}

// fold calls take for the refold of each side, or only once if both sides use the same refold. It adds the steps of
// the resulting changes to the timeline. take must apply an input to the refold, or advance the refold to an instant,
// and must pass each change to the callback.
func (u *diffUnit) fold(take func(*Refold, func(*acuity.Change))) error {
	u.made = u.made[:0]
	take(u.recording, func(c *acuity.Change) { u.made = append(u.made, stepOf(u.recording.unit, c, recordedSide)) })
	if u.replaying == u.recording {
		for _, replayed := range u.made {
			replayed.side = replayedSide
			u.made = append(u.made, replayed)
		}
	} else {
		take(u.replaying, func(c *acuity.Change) { u.made = append(u.made, stepOf(u.replaying.unit, c, replayedSide)) })
	}
	slices.SortStableFunc(u.made, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for i := range u.made {
		u.timeline.addStep(&u.made[i])
	}
	return u.err
}

// run compares the two sides for all inputs of the partition and, if To is set, for the remaining time up to To.
func (p *partitionDiff) run(in inputs, sum *diffSum) error {
	if err := in(p.foldInput); err != nil {
		return err
	}
	for {
		if more, err := p.readRecorded(); err != nil {
			return err
		} else if !more {
			break
		}
	}
	for _, hospital := range slices.Sorted(maps.Keys(p.units)) {
		u := p.units[hospital]
		if u.to != 0 {
			if err := u.fold(func(f *Refold, tell func(*acuity.Change)) { f.advanceTo(u.to-1, tell) }); err != nil {
				return err
			}
		}
		if u.timeline.finish(); u.err != nil {
			return u.err
		}
		sum.add(&u.summary)
	}
	return nil
}

// String returns the summary on one line.
func (s *DiffSummary) String() string {
	return fmt.Sprintf("%d rows in %d hours; the level differs for %.0f minutes", s.Rows, s.Hours, s.LevelMinutes)
}
