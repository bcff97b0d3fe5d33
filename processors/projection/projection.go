// Package projection writes what a processor has made to the view in Redis. It also tells how far the
// view lags behind the log.
package projection

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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
