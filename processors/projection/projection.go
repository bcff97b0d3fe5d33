// Package projection writes the state of a processor to the view in Redis. It also publishes how far the view lags
// behind the log.
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

// Projection connects a processor to the view's projector. It forwards changes and keeps the encoded charts of the
// owned partitions, so that the view in Redis can be rewritten without the processor.
type Projection struct {
	Projector *view.Projector
	now       func() time.Time

	took chan struct{} // receives a value when a partition is assigned

	mu         sync.Mutex
	partitions map[int32]*partitionCharts
}

// partitionCharts contains the charts of one partition at an input position. It belongs to one task; once another
// task owns the partition, calls from the former task are ignored.
type partitionCharts struct {
	view      *Projection
	partition int32
	applied   int64
	units     map[string]view.Unit
	fresh     view.Freshness // freshness of the committed inputs, whether or not they are written to Redis
}

// New returns a projection that writes a processor's state to a view. generation is the id of the topic to which the
// processor writes.
func New(v *view.View, generation string, now func() time.Time) *Projection {
	p := &Projection{now: now, took: make(chan struct{}, 1), partitions: map[int32]*partitionCharts{}}
	p.Projector = v.Projector(generation, p.rewrite)
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
	kept.fresh.RecordProgress(applied)
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
	kept.fresh.RecordProgress(applied)
	units := make([]view.Unit, 0, len(changed))
	for _, c := range changed {
		unit := unitOf(c)
		units = append(units, unit)
		kept.units[c.Hospital] = merge(kept.units[c.Hospital], unit)
	}
	v.Projector.Put(view.Projection{Partition: kept.partition, Position: applied, Units: units})
}

// Passed records that the inputs before an offset have been processed, even if they had no effect.
func (v *Projection) Passed(partition int32, next int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := v.partitions[partition]
	if kept == nil || next-1 <= kept.applied {
		return
	}
	kept.applied = next - 1
	kept.fresh.RecordProgress(kept.applied)
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

// owned returns the partitions that this process owns.
func (v *Projection) owned() []int32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.partitions))
}

// rewrite rewrites a whole partition at the request of the projector.
func (v *Projection) rewrite(partition int32) {
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

// merge returns a unit after a change: the old unit, updated with the changed rooms and settings. A changed room or
// setting that is nil is removed.
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

// pulseEvery is the interval at which a processor publishes its partitions and their lag.
const pulseEvery = time.Second

// Log is the log whose records the processor applies.
type Log struct {
	Cluster *stream.Cluster
	Topic   string
}

// Pulse returns the loop that queries the end offsets of the owned partitions every second, so that readers can
// distinguish an idle unit from a stuck processor. A new partition is reported immediately.
func (v *Projection) Pulse(inputs Log, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		every := time.NewTicker(pulseEvery) //nolint:forbidigo // paces the loop; no decision depends on it
		defer every.Stop()
		for {
			if owned := v.owned(); len(owned) > 0 {
				asked := v.now()
				within, cancel := context.WithTimeout(ctx, pulseEvery)
				ends, err := inputs.Cluster.Ends(within, inputs.Topic, owned)
				cancel()
				if err != nil && ctx.Err() == nil {
					log.DebugContext(ctx, "end offsets of the log not read", "error", err)
				}
				v.askOldest(ctx, inputs, log, ends)
				v.recordEnds(asked, ends)
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

// askOldest queries, for each partition assigned since the last pulse, the timestamp of the oldest pending record. It
// takes at most half of pulseEvery. If Kafka does not answer, the record counts as pending from the time of this pulse.
func (v *Projection) askOldest(ctx context.Context, inputs Log, log *slog.Logger, ends map[int32]int64) {
	within, cancel := context.WithTimeout(ctx, pulseEvery/2) //nolint:mnd // half of the time until the next pulse
	defer cancel()
	for partition, applied := range v.unasked(ends) {
		_, oldest, err := inputs.Cluster.Behind(within, inputs.Topic, partition, applied)
		switch {
		case err != nil && ctx.Err() == nil:
			log.DebugContext(ctx, "oldest record not read", "partition", partition, "error", err)
		case !oldest.IsZero():
			v.recordWait(partition, applied+1, oldest)
		}
	}
}

// unasked returns the applied offsets of the partitions that were assigned since the last pulse and have pending
// records of unknown age.
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

// recordWait records that the record at an offset has been pending since the given time.
func (v *Projection) recordWait(partition int32, offset int64, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if kept := v.partitions[partition]; kept != nil {
		kept.fresh.RecordEnd(since, offset)
	}
}

// recordEnds records the end offsets of partitions at an instant and writes them to the view.
func (v *Projection) recordEnds(at time.Time, ends map[int32]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for partition, end := range ends {
		if kept := v.partitions[partition]; kept != nil {
			kept.fresh.RecordEnd(at, end-1)
		}
	}
	v.Projector.Pulse(at, ends)
}

// Behind returns the age of the oldest pending input in the owned partitions or, if Kafka does not respond, the time
// for which the end of the log has been unknown.
func (v *Projection) Behind(now time.Time) (most time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, kept := range v.partitions {
		most = max(most, kept.fresh.Behind(now))
	}
	return most
}

// Faults returns an error for each owned partition with an input that has been pending for too long, and the number of
// owned partitions. most is the longest permitted time; 0 means the limit for verdicts.
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
