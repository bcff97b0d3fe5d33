// Package verify compares the output of a processor with the output computed from the log. The output consists of the
// changelog with the state records in it, the hourly snapshots, and the view.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/stream"
	"svc/schemas"
)

// View is the view of one hospital, either as served or as expected: its records as the processor encodes them.
type View struct {
	Version int64
	Unit    string
	Rooms   map[int32]string
	Site    map[string]string // by key without the hospital's prefix
	Foreign []string          // fields that this release does not write
}

// ErrNoView means that the view does not contain the hospital.
var ErrNoView = errors.New("not in the view")

// Verify computes the changelog, the snapshots and the view from the log of observations, and compares them with the
// stored ones. It keeps its state between rounds, so each round applies only new inputs.
type Verify struct {
	Inputs  inputlog.Source // the observations, read by an independent client
	Changes inputlog.Source // the committed records of the verdicts
	// Snapshots are the committed records of the snapshots topic.
	Snapshots inputlog.Source

	// View reads the served view of a hospital. It returns [ErrNoView] if the hospital has no view. If View is nil, the
	// view is not checked.
	View func(ctx context.Context, hospital string) (*View, error)
	// Shown returns the hospitals of a partition that are in the view.
	Shown func(ctx context.Context, partition int32) ([]string, error)
	// Patience is how long the view and the snapshots may lag behind the changelog.
	Patience time.Duration

	Hospitals []string // empty: all
	// Held is the instant from which the changelog contains every change. Earlier changes may have been compacted, so
	// they are computed, but may be missing from the changelog.
	Held acuity.Instant
	// Plain selects the reference implementation [hospital.NewPlain], which derives everything from the facts at
	// every step and is about a hundred times slower. If Plain is false, everything is derived from the facts once
	// for each day of the log, and at the end.
	Plain bool
	Pace  *rate.Limiter
	// Progress is called with the number of processed inputs and their total.
	Progress func(done, total int64)

	partitions map[int32]*partitionCheck
	deriving   chan struct{} // semaphore with a token for each derivation that is running
}

// Checked is the result for one hospital.
type Checked struct {
	Hospital  string `json:"hospital"`
	Inputs    int64  `json:"inputs"`    // number of inputs folded in all rounds
	Changes   int64  `json:"changes"`   // number of changes compared with the changelog
	Unheld    int64  `json:"unheld"`    // number of computed changes that are not in the changelog because of compaction
	Snapshots int64  `json:"snapshots"` // number of snapshots compared with their topic
	Version   int64  `json:"version"`
	Served    int64  `json:"served"` // version of the view that was compared; 0: none

	Difference *Difference `json:"difference,omitempty"`
}

// Report is the result of a round.
type Report struct {
	Hospitals []Checked `json:"hospitals"` // by id
	Pending   int64     `json:"pending"`   // inputs that the processor has not applied yet
}

// First returns the first difference, or nil.
func (r *Report) First() *Difference {
	for i := range r.Hospitals {
		if d := r.Hospitals[i].Difference; d != nil {
			return d
		}
	}
	return nil
}

// Round applies the inputs that have arrived since the last round, and returns the result of all rounds so far.
func (v *Verify) Round(ctx context.Context) (*Report, error) {
	changes, err := v.Changes.Spans(ctx, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	if v.partitions == nil {
		v.partitions, v.deriving = map[int32]*partitionCheck{}, make(chan struct{}, runtime.GOMAXPROCS(0))
		wanted := inputlog.PartitionsOf(v.Hospitals, int32(len(changes))) //nolint:gosec // Kafka's number of partitions is an int32
		for _, s := range changes {
			if wanted == nil || wanted[s.Partition] != nil {
				v.partitions[s.Partition] = newPartitionCheck(v, s, wanted[s.Partition])
			}
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	shared := inputlog.NewShare(v.Pace, v.Progress)
	for _, partition := range slices.Sorted(maps.Keys(v.partitions)) {
		p := v.partitions[partition]
		g.Go(func() error {
			if err := p.runRound(ctx, shared); err != nil {
				return fmt.Errorf("verify partition %d: %w", partition, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // the error is from this package
	}
	return v.report(), nil
}

func (v *Verify) report() *Report {
	r := &Report{Hospitals: []Checked{}}
	for _, p := range v.partitions {
		r.Pending += p.pending
		for _, u := range p.units {
			r.Hospitals = append(r.Hospitals, u.Checked)
		}
	}
	slices.SortFunc(r.Hospitals, func(a, b Checked) int { return cmp.Compare(a.Hospital, b.Hospital) })
	return r
}

// partitionCheck checks one partition. It keeps its state between rounds.
type partitionCheck struct {
	v         *Verify
	partition int32
	only      []string // hospitals; nil: all
	units     map[string]*unitCheck

	changes int64 // next offset of the verdicts
	inputs  int64 // next offset of the observations
	begun   bool
	trimmed bool  // whether the beginning of the verdicts topic has been deleted
	applied int64 // highest input offset of the changes read so far that inputs caused
	reached int64 // highest input offset of all changes read so far, including those caused by time
	pending int64

	written *inputlog.Ahead[writtenRecord] // records of the verdicts in this round

	snapshots     int64          // next offset of the snapshots; -1: not known yet
	snapshotsKept acuity.Instant // instant before which snapshots may have been deleted
	cuts          *inputlog.Ahead[writtenSnapshot]
}

func newPartitionCheck(v *Verify, s stream.Span, only []string) *partitionCheck {
	return &partitionCheck{
		v: v, partition: s.Partition, only: only, changes: s.From, trimmed: s.From > 0, applied: -1, reached: -1, units: map[string]*unitCheck{},
		snapshots: -1,
	}
}

// runRound performs one round for the partition: it reads the view, applies new inputs, compares the new changes and
// snapshots, and then compares the state and the view.
func (p *partitionCheck) runRound(ctx context.Context, shared *inputlog.Share) error {
	// Read the view first, then the changelog, then the log, so that the log contains at least the inputs of the
	// changelog, and the changelog at least the changes of the view.
	views, err := p.readViews(ctx)
	if err != nil {
		return err
	}
	changes, err := p.v.Changes.Partition(ctx, p.partition)
	if err != nil {
		return err
	}
	if err = p.openSnapshots(ctx); err != nil {
		return err
	}
	defer func() { p.cuts.Stop() }()
	inputs, err := p.v.Inputs.Partition(ctx, p.partition)
	if err != nil {
		return err
	}
	if !p.begun {
		if inputs.From > 0 && inputs.End > inputs.From {
			return fmt.Errorf("%w: the observations begin at offset %d", inputlog.ErrGone, inputs.From)
		}
		p.inputs, p.begun = inputs.From, true
	}
	changes.From, inputs.From = p.changes, p.inputs
	p.written = inputlog.ReadAhead(ctx, p.v.Changes.Read, changes, p.writtenOf)
	defer p.written.Stop()
	if err = p.fold(ctx, shared, inputs); err != nil {
		return err
	}
	p.pending = inputs.End - p.inputs
	for p.readWritten() {
	}
	if err = p.written.Err(); err != nil {
		return err
	}
	p.changes = changes.End
	for _, u := range p.units {
		u.compareRest()
	}
	if err = p.finishSnapshots(ctx); err != nil {
		return err
	}
	return p.compareAll(ctx, views)
}

// fold applies the inputs whose changes the processor has already written. Changes that are so old that they may have
// been compacted need not be there, but compaction keeps the last change of each hospital, which shows how far the
// processor is.
func (p *partitionCheck) fold(ctx context.Context, shared *inputlog.Share, s stream.Span) error {
	said := inputlog.ReadInputs(ctx, p.v.Inputs.Read, s, p.only)
	said.Progress = shared.AddProgress
	shared.AddProgress(0, s.End-s.From)
	defer said.Stop()
	for {
		in := said.Next()
		if in == nil {
			return said.Err()
		}
		for p.applied < in.Offset {
			if p.readWritten() {
				continue
			}
			if err := p.written.Err(); err != nil || !p.old(in.At) || in.Offset > p.reached {
				return err // the processor has not applied this input and later ones yet
			}
			break
		}
		if err := shared.Wait(ctx); err != nil {
			return err
		}
		p.inputs = in.Offset + 1
		if u := p.unit(in.Hospital); u != nil {
			u.foldInput(in)
		}
	}
}

// wants reports whether a hospital must be checked.
func (p *partitionCheck) wants(hospital string) bool {
	return p.only == nil || slices.Contains(p.only, hospital)
}

// unit returns the check of a hospital, or nil if the hospital is not checked.
func (p *partitionCheck) unit(hospital string) *unitCheck {
	if !p.wants(hospital) {
		return nil
	}
	u := p.units[hospital]
	if u == nil {
		u = newUnitCheck(p, hospital)
		p.units[hospital] = u
	}
	return u
}

// writtenRecord is a record of the verdicts: a change, or a state record.
type writtenRecord struct {
	recorded
	hospital string
	key      string // key of a state record
	offset   int64  // offset in the verdicts
	fault    error  // why the header of a change cannot be decoded
}

// writtenOf decodes a record of the verdicts. It runs in the goroutine that reads ahead of the fold.
func (p *partitionCheck) writtenOf(r *stream.Record, w *writtenRecord) (wanted bool) {
	*w = writtenRecord{offset: r.Offset}
	w.value = r.Value
	if schemas.IsChange(r.Key) {
		w.hospital = string(r.Key)
		w.ChangeHead, w.fault = schemas.PeekChange(r.Value)
		return true // even for an unchecked hospital, because the record shows which inputs are applied
	}
	key, err := schemas.ParseKey(r.Key)
	if err != nil || !p.wants(key.Hospital) {
		return false // not from svc, or for an unchecked hospital
	}
	w.hospital, w.key = key.Hospital, string(r.Key)
	return true
}

// readWritten reads the next record of the verdicts topic for the fold, or returns false if there is none.
func (p *partitionCheck) readWritten() bool {
	w := p.written.Next()
	if w == nil {
		return false
	}
	p.changes = w.offset + 1
	u := p.unit(w.hospital)
	switch {
	case w.key != "":
		if w.value == nil {
			delete(u.state, w.key)
		} else {
			u.state[w.key] = append(u.state[w.key][:0], w.value...) // copied, because many records share the memory of the value
		}
		return true
	case w.fault != nil:
		if u != nil {
			detail := fmt.Sprintf("verdicts %d:%d", p.partition, w.offset)
			u.reportDifference(&Difference{Fault: Unreadable, Key: w.hospital, Version: u.version(), Detail: detail})
		}
		return true
	case w.Cause == acuity.CauseIngest:
		p.applied = max(p.applied, w.Offset)
	}
	p.reached = max(p.reached, w.Offset)
	if u != nil && u.Difference == nil {
		u.queue = append(u.queue, w.recorded)
	}
	return true
}

// old reports whether a change that was applied at the given instant may have been compacted.
func (p *partitionCheck) old(at acuity.Instant) bool { return at < p.v.Held }
