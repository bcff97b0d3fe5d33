package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// View is what is served of one hospital: encoded, as the processor handed it on.
type View struct {
	Version int64
	Unit    string
	Rooms   map[int32]string
	Site    map[string]string // by key without the hospital
	Foreign []string          // fields that nobody of ours writes
}

// ErrNoView says that the view has no such hospital.
var ErrNoView = errors.New("not in the view")

// Source is how a topic is read.
type Source struct {
	Spans func(ctx context.Context, from, to time.Time) ([]stream.Span, error)
	Read  Read
}

// Verify folds the log and holds the changelog and the view against it. It keeps
// what it knows from round to round, so the next round takes what has come since.
type Verify struct {
	Inputs  Source // of the observations, by a client of its own
	Changes Source // of the verdicts, committed

	// View reads what is served; nil: nobody looks at it. [ErrNoView]: it has no
	// such hospital.
	View func(ctx context.Context, hospital string) (*View, error)
	// Shown lists the hospitals that the view has of a partition.
	Shown func(ctx context.Context, partition int32) ([]string, error)
	// Patience is how long the view may be behind the log.
	Patience time.Duration

	Hospitals []string // empty: all
	// Held is the instant from which on every change is still in the changelog:
	// older ones may be compacted away, and then the log alone is folded.
	Held acuity.Instant
	// Plain has everything derived anew at every step, see [acuity.Fold]: about a
	// hundred times slower. Otherwise that is done once a day of the log and at
	// the end.
	Plain bool
	Rate  int // inputs in a second at most; 0: as many as can be
	// Progress is told how many inputs are done, of how many.
	Progress func(done, total int64)

	partitions map[int32]*partitionCheck
}

// Checked is what a round found of one hospital.
type Checked struct {
	Hospital string `json:"hospital"`
	Inputs   int64  `json:"inputs"`  // folded, ever
	Changes  int64  `json:"changes"` // held against the changelog
	Unheld   int64  `json:"unheld"`  // made by the log, and compacted away in the changelog
	Version  int64  `json:"version"`
	Served   int64  `json:"served"` // version of the view that was looked at; 0: none

	Difference *Difference `json:"difference,omitempty"`
}

// Report is what a round found.
type Report struct {
	Hospitals []Checked `json:"hospitals"` // by id
	Pending   int64     `json:"pending"`   // inputs that are not applied yet
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

// Round folds what has come since the last round.
func (v *Verify) Round(ctx context.Context) (*Report, error) {
	// First what is served, then what is committed, then what was said: so each
	// is known of to the next.
	changes, err := v.Changes.Spans(ctx, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	if v.partitions == nil {
		v.partitions = map[int32]*partitionCheck{}
		for _, s := range changes {
			v.partitions[s.Partition] = newPartitionCheck(v, s)
		}
	}
	wanted := v.wanted(int32(len(changes))) //nolint:gosec // Kafka counts them so
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	r := &round{pace: newPace(v.Rate), told: v.Progress}
	for _, partition := range slices.Sorted(maps.Keys(v.partitions)) {
		if wanted != nil && wanted[partition] == nil {
			continue
		}
		p := v.partitions[partition]
		g.Go(func() error {
			if err := p.round(ctx, r, wanted[partition]); err != nil {
				return fmt.Errorf("verify partition %d: %w", partition, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // of ours
	}
	return v.report(), nil
}

// wanted returns the hospitals asked for, by partition; nil: all.
func (v *Verify) wanted(partitions int32) map[int32][]string {
	if len(v.Hospitals) == 0 {
		return nil
	}
	by := map[int32][]string{}
	for _, h := range v.Hospitals {
		p := schemas.Partition([]byte(h), partitions)
		by[p] = append(by[p], h)
	}
	return by
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

// round is what the partitions share in one round.
type round struct {
	pace *pace
	told func(done, total int64)

	mu          sync.Mutex
	done, total int64
}

func (r *round) tell(done, total int64) {
	if r.told == nil {
		return
	}
	r.mu.Lock()
	r.done, r.total = r.done+done, r.total+total
	done, total = r.done, r.total
	r.mu.Unlock()
	r.told(done, total)
}

// partitionCheck is what is known of one partition.
type partitionCheck struct {
	v         *Verify
	partition int32
	units     map[string]*unitCheck

	changes int64 // next offset of the verdicts
	inputs  int64 // next offset of the observations
	begun   bool
	trimmed bool  // the beginning of the verdicts is deleted
	applied int64 // highest input offset that a change names
	pending int64

	more func() bool // reads one more record of the verdicts; false: there is none
	err  error       // of it
}

func newPartitionCheck(v *Verify, s stream.Span) *partitionCheck {
	return &partitionCheck{v: v, partition: s.Partition, changes: s.From, trimmed: s.From > 0, applied: -1, units: map[string]*unitCheck{}}
}

// round takes what is new: the view of a moment, the changes that are committed
// by then, and the inputs that they answer.
func (p *partitionCheck) round(ctx context.Context, r *round, only []string) error {
	views, err := p.look(ctx, only)
	if err != nil {
		return err
	}
	changes, err := p.span(ctx, &p.v.Changes)
	if err != nil {
		return err
	}
	inputs, err := p.span(ctx, &p.v.Inputs)
	if err != nil {
		return err
	}
	if !p.begun {
		if inputs.From > 0 && inputs.End > inputs.From {
			return fmt.Errorf("%w: the observations begin at offset %d", ErrGone, inputs.From)
		}
		p.inputs, p.begun = inputs.From, true
	}
	changes.From, inputs.From = p.changes, p.inputs
	next, stop := iter.Pull2(records(ctx, p.v.Changes.Read, changes))
	defer stop()
	p.more = func() bool {
		c, fault, ok := next()
		if !ok || fault != nil {
			p.err = fault
			return false
		}
		p.changes = c.Offset + 1
		p.take(&c, only)
		return true
	}
	p.pending, p.err = 0, nil
	r.tell(0, inputs.End-inputs.From)
	said := int64(0)
	err = p.v.Inputs.Read(ctx, inputs, func(record stream.Record) error {
		if said++; said%toldEvery == 0 {
			r.tell(toldEvery, 0)
		}
		return p.input(ctx, r, &record, only)
	})
	r.tell(said%toldEvery, 0)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	p.pending = inputs.End - p.inputs
	for p.err == nil && p.more() {
	}
	if p.err != nil {
		return p.err
	}
	p.changes = max(p.changes, changes.End)
	for _, u := range p.units {
		u.rest()
	}
	return p.conclude(ctx, views)
}

// span returns what a topic has of the partition.
func (p *partitionCheck) span(ctx context.Context, s *Source) (stream.Span, error) {
	spans, err := s.Spans(ctx, time.Time{}, time.Time{})
	if err != nil {
		return stream.Span{}, err
	}
	if int(p.partition) >= len(spans) {
		return stream.Span{}, errors.New("observations and verdicts have different numbers of partitions")
	}
	return spans[p.partition], nil
}

// records yields the records of a span; an error is the last.
func records(ctx context.Context, read Read, s stream.Span) iter.Seq2[stream.Record, error] {
	return func(yield func(stream.Record, error) bool) {
		err := read(ctx, s, func(r stream.Record) error {
			if !yield(r, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(stream.Record{}, err)
		}
	}
}

// unit returns what is known of a hospital; nil: nobody asked for it.
func (p *partitionCheck) unit(hospital string, only []string) *unitCheck {
	if only != nil && !slices.Contains(only, hospital) {
		return nil
	}
	u := p.units[hospital]
	if u == nil {
		u = newUnitCheck(p, hospital)
		p.units[hospital] = u
	}
	return u
}

// take keeps one record of the verdicts until the fold is there.
func (p *partitionCheck) take(r *stream.Record, only []string) {
	if !schemas.IsChange(r.Key) {
		key, err := schemas.ParseKey(r.Key)
		if err != nil {
			return // nobody's
		}
		if u := p.unit(key.Hospital, only); u != nil {
			if r.Value == nil {
				delete(u.state, string(r.Key))
			} else {
				u.state[string(r.Key)] = r.Value
			}
		}
		return
	}
	head, err := schemas.PeekChange(r.Value)
	u := p.unit(string(r.Key), only)
	if err != nil {
		if u != nil {
			u.differ(&Difference{Fault: Unreadable, Key: string(r.Key), Version: u.version(), Detail: fmt.Sprintf("verdicts %d:%d", r.Partition, r.Offset)})
		}
		return
	}
	if head.Cause == acuity.CauseIngest {
		p.applied = max(p.applied, head.Offset)
	}
	if u != nil {
		u.queue = append(u.queue, recorded{head, r.Value})
	}
}

// input folds one record of the observations, if it is applied.
func (p *partitionCheck) input(ctx context.Context, r *round, record *stream.Record, only []string) error {
	for p.applied < record.Offset {
		if !p.more() {
			if p.err != nil {
				return p.err
			}
			if !p.old(acuity.At(record.Timestamp)) {
				return errEnough // it is not applied yet, nor is what follows
			}
			break
		}
	}
	p.inputs = record.Offset + 1
	if err := r.pace.wait(ctx); err != nil {
		return err
	}
	if u := p.unit(schemas.InputHospital(record.Key), only); u != nil {
		in := InputOf(*record)
		u.input(&in)
	}
	return nil
}

// old reports whether a change of an instant may be compacted away.
func (p *partitionCheck) old(at acuity.Instant) bool { return at < p.v.Held }
