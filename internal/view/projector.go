package view

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Unit is one hospital in a projection.
type Unit struct {
	Hospital string
	Version  int64
	Chart    []byte           // encoded
	Rooms    map[int32][]byte // encoded; only rooms that changed since the last projection; nil: the room was removed
	// LocalSettings contains the encoded records that administrators see in lists, by name. Like Rooms, it contains
	// only what has changed. Records whose names begin with [CodePrefix] have a separate hash, because there are many
	// of them and most lists do not need them.
	LocalSettings map[string][]byte
}

// Projection is the effect of one commit on the hospitals of a partition.
type Projection struct {
	Partition int32
	Position  int64 // last processed input; -1: none
	// Whole means that Units contains all hospitals of the partition with all their rooms. The first projection of a
	// partition is whole, and so is the first one after a call to rebuild.
	Whole bool
	Units []Unit
}

// Projector writes the view after each commit. Put queues the changes and does not block. Only the latest state of each
// hospital is kept, so while Redis is unavailable, the projector needs memory for at most one view, and commits
// continue.
type Projector struct {
	writer
	// Written is called with the position of each write that Redis has acknowledged, and with how long the oldest
	// change in that write was pending. Set it before Run; it may be nil.
	Written func(partition int32, position int64, waited time.Duration)

	view       *View
	generation string
	rebuild    func(partition int32)

	mu         sync.Mutex
	partitions map[int32]*partitionBuffer
	epochs     int // number of whole projections so far
}

// partitionBuffer holds the pending changes of a partition.
type partitionBuffer struct {
	last     map[string]*recent // recent changes by hospital; nil before the first whole projection
	pending  map[string]*change
	position int64     // position to announce
	dirty    bool      // whether there are changes to write or announce
	since    time.Time // when the oldest unwritten change was queued; zero: none
	seal     bool      // whether pending is the whole partition, which is claimed before the write and marked as whole after it
	asked    bool      // whether a whole projection was requested but has not arrived
	versions int64     // sum of the versions in last
	epoch    int       // number of the whole projection that pending builds on
	written  int64     // position that Redis has acknowledged; -1: none
	// writtenVersions is the sum of the versions that Redis has acknowledged. A change caused by a timer increases
	// it without a new position.
	writtenVersions int64
	fresh           Freshness
	pulse           bool // whether to write the partition's header even without changes
}

// change merges all changes of one hospital since version base.
type change struct {
	hospital      string
	base, version int64 // base -1: rooms contains all rooms
	chart         []byte
	rooms         map[int32][]byte
	localSettings map[string][]byte
	recent        []byte // encoded when the change is written
}

// These are the intervals and limits of the projector.
const (
	checkEvery = time.Second     // interval between checks of the headers
	pipeCount  = 128             // hospitals per round trip
	pipeBytes  = 4 << 20         // bytes per round trip
	flushTime  = 5 * time.Second // timeout of one round trip with a large batch
	noBase     = int64(-1)
)

// Projector returns a projector for a generation of the log, which is the id of its topic. The projector calls rebuild
// when the view of a partition must be rewritten. The whole projection follows later through Put; rebuild must not
// block.
func (b *View) Projector(generation string, rebuild func(partition int32)) *Projector {
	return &Projector{
		writer: b.newWriter("the view"), view: b, generation: generation, rebuild: rebuild,
		partitions: map[int32]*partitionBuffer{},
	}
}

// Put queues a projection without blocking. The projector owns the bytes from then on.
func (p *Projector) Put(projection Projection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.partitions[projection.Partition]
	if l == nil {
		l = &partitionBuffer{position: -1, written: -1}
		p.partitions[projection.Partition] = l
	}
	if projection.Whole {
		l.last, l.pending = make(map[string]*recent, len(projection.Units)), make(map[string]*change, len(projection.Units))
		p.epochs++
		l.seal, l.asked, l.epoch = true, false, p.epochs
		l.position, l.versions, l.written, l.writtenVersions = projection.Position, 0, -1, 0
	}
	if l.last == nil {
		return // useless before the first whole projection, which checkHeaders requests
	}
	for _, unit := range projection.Units {
		base, last := noBase, l.last[unit.Hospital]
		if last != nil {
			base = last.to
			l.versions -= last.to
			last.add(unit.Version, unit.Rooms)
		} else { // a new hospital: these are all its rooms
			l.last[unit.Hospital] = &recent{from: unit.Version, to: unit.Version}
		}
		l.versions += unit.Version
		if !l.asked {
			l.pending[unit.Hospital] = l.pending[unit.Hospital].merge(&change{
				hospital: unit.Hospital, base: base, version: unit.Version, chart: unit.Chart, rooms: unit.Rooms, localSettings: unit.LocalSettings,
			})
		}
	}
	l.position, l.dirty = max(l.position, projection.Position), true
	if l.since.IsZero() {
		l.since = p.view.now()
	}
	p.signal()
}

// merge returns the receiver merged with a newer change. The receiver may be nil.
func (c *change) merge(newer *change) *change {
	if c == nil || newer.base == noBase {
		return newer
	}
	return &change{
		hospital: c.hospital, base: c.base, version: newer.version, chart: newer.chart,
		rooms: mergeMaps(c.rooms, newer.rooms), localSettings: mergeMaps(c.localSettings, newer.localSettings),
	}
}

// mergeMaps merges two maps of changes; the newer value wins.
func mergeMaps[K comparable](older, newer map[K][]byte) map[K][]byte {
	if len(older) == 0 {
		return newer
	}
	all := maps.Clone(older)
	maps.Copy(all, newer)
	return all
}

// Pulse reports that this process owned its partitions at an instant. For some or all of the partitions, ends
// contains the end of the log at that instant: the offset after the last input. Call Pulse each second; otherwise, a
// view that must be current cannot be read.
func (p *Projector) Pulse(at time.Time, ends map[int32]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition, l := range p.partitions {
		if end, known := ends[partition]; known {
			l.fresh.RecordEnd(at, end-1)
		}
		l.pulse = true
	}
	p.signal()
}

// Fault returns why the view cannot be written, or nil.
func (p *Projector) Fault() error { return p.lastFault() }

// Release drops a partition, because another owner writes it from now on.
func (p *Projector) Release(partition int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.partitions, partition)
}

// Run writes until ctx ends, and returns the error of ctx. While Redis is unavailable, Run retries.
func (p *Projector) Run(ctx context.Context) error {
	nextCheck := p.view.now()
	return p.run(ctx, func() (time.Duration, error) {
		if err := p.flush(ctx); err != nil {
			return 0, err
		}
		if now := p.view.now(); !now.Before(nextCheck) {
			nextCheck = now.Add(checkEvery)
			if err := p.checkHeaders(ctx); err != nil {
				return 0, err
			}
		}
		return nextCheck.Sub(p.view.now()), nil
	})
}

// checkHeaders requests a whole projection of every partition that has not had one yet, or whose header in Redis is
// missing, belongs to a different generation, or is older than the writes that Redis has acknowledged. It skips a
// partition whose whole projection is about to be written.
func (p *Projector) checkHeaders(ctx context.Context) error {
	p.mu.Lock()
	partitions := slices.Sorted(maps.Keys(p.partitions))
	p.mu.Unlock()
	if len(partitions) == 0 {
		return nil
	}
	seen, err := p.view.readHeaders(ctx, p.view.headerKey, partitions...)
	if err != nil {
		return err
	}
	for i, partition := range partitions {
		if seen[i].away != nil {
			continue
		}
		p.mu.Lock()
		l, epoch := p.partitions[partition], 0
		if l != nil {
			epoch = l.epoch
		}
		lost := l != nil && !l.seal && (l.last == nil || !seen[i].whole || seen[i].generation != p.generation ||
			seen[i].position < l.written || seen[i].versions < l.writtenVersions)
		p.mu.Unlock()
		if !lost {
			continue
		}
		if seen[i].whole && seen[i].generation == p.generation { // Redis was restored from a copy, so readers must not use the view
			key := p.view.headerKey(partition)
			n := p.view.nodeOf(ctx, key)
			if err := p.view.call(ctx, n, func() error { return n.redis.HSet(ctx, key, fieldWhole, "0").Err() }); err != nil {
				return err
			}
		}
		p.requestWhole(partition, epoch)
	}
	return nil
}

// requestWhole drops the pending changes of a partition and requests a whole projection from its owner. It does
// nothing if this process does not own the partition, if a request is pending, or if the partition has had another
// whole projection since the given epoch.
func (p *Projector) requestWhole(partition int32, epoch int) {
	p.mu.Lock()
	l := p.partitions[partition]
	if l == nil || l.epoch != epoch || l.asked {
		p.mu.Unlock()
		return
	}
	l.asked, l.seal, l.dirty = true, false, false
	clear(l.pending)
	p.mu.Unlock()
	p.log.Warn("view rebuilt", "partition", partition)
	p.rebuild(partition)
}
