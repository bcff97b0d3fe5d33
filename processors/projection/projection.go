// Package projection writes what a processor has made to the view in Redis. It also tells how far the
// view lags behind the log.
package projection

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/internal/stream"
	"svc/internal/view"
	"svc/processors/verdict"
)

// Projection connects a processor with the projector. It passes on changes, and keeps
// the encoded charts of our partitions. So the view in Redis can be written again without the
// processor.
type Projection struct {
	Projector *view.Projector
	now       func() time.Time

	took chan struct{} // holds a token after a partition was assigned

	mu         sync.Mutex
	partitions map[int32]*partitionCharts
}

// partitionCharts are the charts of one partition at an input position, from one task. Once
// another task owns the partition, calls of this one are ignored.
type partitionCharts struct {
	view      *Projection
	partition int32
	applied   int64
	units     map[string]view.Unit
	fresh     view.Freshness // of the committed inputs, shown or not
}

// New returns the projection of a processor on a view. generation is the id of the topic that the
// processor writes.
func New(v *view.View, generation string, now func() time.Time) *Projection {
	p := &Projection{now: now, took: make(chan struct{}, 1), partitions: map[int32]*partitionCharts{}}
	p.Projector = v.Projector(generation, p.again)
	return p
}

// Own implements [verdict.View].
func (v *Projection) Own(partition int32, applied int64, all []verdict.Chart) verdict.OwnedView {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := &partitionCharts{view: v, partition: partition, applied: applied, units: make(map[string]view.Unit, len(all))}
	for _, c := range all {
		kept.units[c.Hospital] = unitOf(c)
	}
	kept.fresh = view.FreshnessSince(v.now())
	kept.fresh.Reached(applied)
	v.partitions[partition] = kept
	v.whole(partition, kept)
	select {
	case v.took <- struct{}{}:
	default:
	}
	return kept
}

// Show implements [verdict.OwnedView].
func (kept *partitionCharts) Show(applied int64, changed []verdict.Chart) {
	v := kept.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.partitions[kept.partition] != kept {
		return
	}
	kept.applied = applied
	kept.fresh.Reached(applied)
	units := make([]view.Unit, 0, len(changed))
	for _, c := range changed {
		unit := unitOf(c)
		units = append(units, unit)
		kept.units[c.Hospital] = merge(kept.units[c.Hospital], unit)
	}
	v.Projector.Put(view.Projection{Partition: kept.partition, Position: applied, Units: units})
}

// Passed notes that the inputs before an offset have been processed, whether they changed
// anything or not.
func (v *Projection) Passed(partition int32, next int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := v.partitions[partition]
	if kept == nil || next-1 <= kept.applied {
		return
	}
	kept.applied = next - 1
	kept.fresh.Reached(kept.applied)
	v.Projector.Put(view.Projection{Partition: partition, Position: kept.applied})
}

// Disown implements [verdict.OwnedView].
func (kept *partitionCharts) Disown() {
	v := kept.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.partitions[kept.partition] == kept {
		delete(v.partitions, kept.partition)
		v.Projector.Release(kept.partition)
	}
}

// owned returns the partitions of this process.
func (v *Projection) owned() []int32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.partitions))
}

// again writes a whole partition, when the projector asks for it.
func (v *Projection) again(partition int32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if kept := v.partitions[partition]; kept != nil {
		v.whole(partition, kept)
	}
}

func (v *Projection) whole(partition int32, kept *partitionCharts) {
	units := make([]view.Unit, 0, len(kept.units))
	for _, unit := range kept.units {
		unit.Rooms, unit.LocalSettings = maps.Clone(unit.Rooms), maps.Clone(unit.LocalSettings)
		units = append(units, unit)
	}
	slices.SortFunc(units, func(a, b view.Unit) int { return strings.Compare(a.Hospital, b.Hospital) })
	v.Projector.Put(view.Projection{Partition: partition, Position: kept.applied, Whole: true, Units: units})
}

func unitOf(c verdict.Chart) view.Unit {
	return view.Unit{Hospital: c.Hospital, Version: c.Version, Chart: c.Unit, Rooms: c.Rooms, LocalSettings: c.LocalSettings}
}

// merge returns the unit with the changes. Rooms and settings that a change removes are left out.
func merge(old, changed view.Unit) view.Unit {
	changed.Rooms = merged(old.Rooms, changed.Rooms)
	changed.LocalSettings = merged(old.LocalSettings, changed.LocalSettings)
	return changed
}

func merged[K comparable](old, changed map[K][]byte) map[K][]byte {
	if old == nil {
		old = make(map[K][]byte, len(changed))
	}
	for name, value := range changed {
		if value == nil {
			delete(old, name)
		} else {
			old[name] = value
		}
	}
	return old
}

// pulseEvery is how often a processor reports its partitions, and how many of their inputs the
// view lacks.
const pulseEvery = time.Second

// Log is the log whose records the processor applies.
type Log struct {
	Cluster *stream.Cluster
	Topic   string
}

// Pulse returns the loop that asks each second where the logs of our partitions end. So readers can
// distinguish an idle unit from a processor that hangs. A new partition is reported at once.
func (v *Projection) Pulse(inputs Log, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		every := time.NewTicker(pulseEvery) //nolint:forbidigo // paces the loop; no decision looks at it
		defer every.Stop()
		for {
			if owned := v.owned(); len(owned) > 0 {
				asked := v.now()
				within, cancel := context.WithTimeout(ctx, pulseEvery)
				ends, err := inputs.Cluster.Ends(within, inputs.Topic, owned)
				cancel()
				if err != nil && ctx.Err() == nil {
					log.DebugContext(ctx, "the ends of the log are not known", "error", err)
				}
				v.askOldest(ctx, inputs, log, ends)
				v.ended(asked, ends)
			}
			select {
			case <-every.C:
			case <-v.took:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// askOldest asks for the timestamp of the oldest waiting record, in each partition assigned since
// the last pulse. It has half a pulse for that. A partition without an answer counts from now on.
func (v *Projection) askOldest(ctx context.Context, inputs Log, log *slog.Logger, ends map[int32]int64) {
	within, cancel := context.WithTimeout(ctx, pulseEvery/2) //nolint:mnd // half of the time until the next
	defer cancel()
	for partition, applied := range v.unasked(ends) {
		_, oldest, err := inputs.Cluster.Behind(within, inputs.Topic, partition, applied)
		switch {
		case err != nil && ctx.Err() == nil:
			log.DebugContext(ctx, "the oldest record is not known", "partition", partition, "error", err)
		case !oldest.IsZero():
			v.waits(partition, applied+1, oldest)
		}
	}
}

// unasked returns the applied offsets of partitions assigned since the last pulse whose waiting
// records have an unknown age.
func (v *Projection) unasked(ends map[int32]int64) map[int32]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := map[int32]int64{}
	for partition, end := range ends {
		if kept := v.partitions[partition]; kept != nil && kept.fresh.Unasked() && end-1 > kept.applied {
			found[partition] = kept.applied
		}
	}
	return found
}

// waits notes since when a record of a partition has waited.
func (v *Projection) waits(partition int32, offset int64, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if kept := v.partitions[partition]; kept != nil {
		kept.fresh.Ended(since, offset)
	}
}

// ended notes where the logs of partitions ended at an instant, and writes that to the view.
func (v *Projection) ended(at time.Time, ends map[int32]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for partition, end := range ends {
		if kept := v.partitions[partition]; kept != nil {
			kept.fresh.Ended(at, end-1)
		}
	}
	v.Projector.Pulse(at, ends)
}

// Behind returns the age of the oldest input without a verdict, over our partitions.
func (v *Projection) Behind(now time.Time) (most time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, kept := range v.partitions {
		most = max(most, kept.fresh.Behind(now))
	}
	return most
}

// Faults returns the partitions with an input that waits for longer than most, and how many
// partitions there are. most 0: the limit of the verdicts.
func (v *Projection) Faults(most time.Duration) (faults map[int32]error, all int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	faults = map[int32]error{}
	for partition, kept := range v.partitions {
		if err := kept.fresh.Fault(v.now(), most); err != nil {
			faults[partition] = err
		}
	}
	return faults, len(v.partitions)
}
