package view

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// load contains the pending changes of a partition for one flush.
type load struct {
	partition int32
	epoch     int
	seal      bool
	position  int64
	versions  int64 // sum over all hospitals
	units     map[string]*change

	asOf, waits time.Time // Freshness.AsOf and Freshness.Waits as of position; zero: unknown, or nothing is pending
	since       time.Time // when the oldest pending change was queued; zero: no change is pending
}

// flush writes everything pending, to the nodes of a cluster in parallel. If a partition cannot be written, flush
// still writes the others. It returns the error of one of the failed partitions.
func (p *Projector) flush(ctx context.Context) error {
	loads := p.drainLoads()
	keys := make([]string, len(loads))
	for i := range loads {
		keys[i] = p.view.headerKey(loads[i].partition)
	}
	faults := make([]error, len(loads))
	parallel(p.view.byNode(ctx, keys), func(n *node, indexes []int) {
		for _, i := range indexes {
			if faults[i] = p.flushLoad(ctx, n, &loads[i]); faults[i] != nil {
				n.loaded.Store(false) // a different Redis may be responding
			}
		}
	})
	for _, fault := range faults {
		if fault != nil {
			return fault
		}
	}
	return nil
}

// flushLoad writes the changes of a partition. If the write fails, flushLoad queues the changes again, and merges
// changes that arrived in the meantime into them. It is safe to write a version twice.
func (p *Projector) flushLoad(ctx context.Context, n *node, load *load) error {
	behind, err := false, p.view.loadScripts(ctx, n)
	if err == nil {
		behind, err = p.writeLoad(ctx, n, load)
	}
	switch {
	case err != nil:
		p.putBack(load)
		return err
	case behind:
		p.requestWhole(load.partition, load.epoch)
		return nil
	}
	p.mu.Lock()
	if l := p.partitions[load.partition]; l != nil && l.epoch == load.epoch {
		l.written, l.writtenVersions = max(l.written, load.position), max(l.writtenVersions, load.versions)
	}
	p.mu.Unlock()
	if p.Written != nil && !load.since.IsZero() {
		p.Written(load.partition, load.position, p.view.now().Sub(load.since))
	}
	return nil
}

func (p *Projector) drainLoads() []load {
	p.mu.Lock()
	defer p.mu.Unlock()
	var loads []load
	for partition, l := range p.partitions {
		if !l.dirty && !l.pulse || l.asked || l.last == nil {
			continue
		}
		for hospital, u := range l.pending {
			u.recent = l.last[hospital].encode()
		}
		l.fresh.RecordProgress(l.position) // the load contains everything up to this position, and writes the progress after its changes
		loads = append(loads, load{
			partition, l.epoch, l.seal, l.position, l.versions, l.pending, l.fresh.AsOf(), l.fresh.Waits(), l.since,
		})
		l.since, l.pending, l.dirty, l.seal, l.pulse = time.Time{}, map[string]*change{}, false, false, false
	}
	return loads
}

func (p *Projector) putBack(load *load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.partitions[load.partition]
	if l == nil || l.epoch != load.epoch {
		return // the partition was released, or a newer whole projection has replaced these changes
	}
	for hospital, newer := range l.pending {
		load.units[hospital] = load.units[hospital].merge(newer)
	}
	l.pending, l.seal, l.dirty = load.units, load.seal, true
	if !load.since.IsZero() {
		l.since = load.since
	}
}

// writeLoad writes the changes of a partition in pipelines of limited size. The last pipeline ends with the commands
// of [Projector.mark]. behind reports whether only a whole projection can bring the view up to date.
func (p *Projector) writeLoad(ctx context.Context, n *node, load *load) (behind bool, err error) {
	pipe := n.redis.Pipeline()
	size := 0
	run := func() error {
		limited, cancel := context.WithTimeout(ctx, flushTime)
		defer cancel()
		var commands []redis.Cmder
		failed := p.view.call(limited, n, func() (err error) { commands, err = pipe.Exec(limited); return err })
		size = 0
		for _, command := range commands {
			if answer, ok := command.(*redis.Cmd); ok && answer.Err() == nil {
				n, unread := answer.Int()
				behind = behind || unread == nil && (n == answerBehind || n == answerOther)
			}
		}
		return failed
	}
	if load.seal {
		p.claim(ctx, pipe, load.partition)
	}
	for _, hospital := range slices.Sorted(maps.Keys(load.units)) {
		u := load.units[hospital]
		p.write(ctx, pipe, load.partition, load.position, u)
		size += len(u.chart)
		for _, room := range u.rooms {
			size += len(room)
		}
		for _, record := range u.localSettings {
			size += len(record)
		}
		if pipe.Len() >= pipeCount || size >= pipeBytes {
			if err = run(); err != nil {
				return behind, err
			}
		}
	}
	if behind {
		return true, nil
	}
	p.mark(ctx, n, pipe, load)
	err = run()
	return behind, err
}

// These Redis scripts must be atomic. The comment in each script explains why.
var (
	//go:embed claim.lua
	claimSource string
	//go:embed write.lua
	writeSource string
	//go:embed mark.lua
	markSource string

	claimScript = redis.NewScript(claimSource)
	writeScript = redis.NewScript(writeSource)
	markScript  = redis.NewScript(markSource)
)

// These are the results of the scripts.
const (
	answerOlder  = 0 // the stored version is newer, so nothing was done
	answerDone   = 1
	answerBehind = -1 // Redis lost writes: the stored version, or the sum of the versions, is less than the writer expects
	answerOther  = -2 // the partition is not claimed by this generation, or is not whole
)

// loadScripts loads the scripts into a node, which loses them when it restarts.
func (b *View) loadScripts(ctx context.Context, n *node) error {
	if n.loaded.Load() {
		return nil
	}
	for _, script := range []*redis.Script{claimScript, writeScript, markScript} {
		if err := b.call(ctx, n, func() error { return script.Load(ctx, n.redis).Err() }); err != nil {
			return fmt.Errorf("load scripts: %w", err)
		}
	}
	n.loaded.Store(true)
	return nil
}

// claim assigns the view of a partition to a generation. The view remains whole only if it already belonged to that
// generation.
func (p *Projector) claim(ctx context.Context, pipe redis.Pipeliner, partition int32) {
	claimScript.EvalSha(ctx, pipe, []string{p.view.headerKey(partition)}, p.generation)
}

// write changes one hospital, starting from the version u.base, or replaces the hospital if u.base is negative.
func (p *Projector) write(ctx context.Context, pipe redis.Pipeliner, partition int32, position int64, u *change) {
	b := p.view
	args := make([]any, 0, 11+2*len(u.rooms)+2*len(u.localSettings))
	args = append(args, p.generation, u.hospital, u.base, u.version, position, u.chart, u.recent, b.changed(u.hospital), 0, 0, 0)
	const rooms, gone, settings = 8, 9, 10 // positions of the counts in args
	for id, room := range u.rooms {
		if room != nil {
			args = append(args, fieldRoom+strconv.Itoa(int(id)), room)
		}
	}
	from := settings + 1
	args[rooms] = (len(args) - from) / 2
	from = len(args)
	for id, room := range u.rooms {
		if room == nil {
			args = append(args, fieldRoom+strconv.Itoa(int(id)))
		}
	}
	args[gone] = len(args) - from
	from = len(args)
	for name, record := range u.localSettings {
		if record != nil {
			args = append(args, name, record)
		}
	}
	args[settings] = (len(args) - from) / 2
	for name, record := range u.localSettings {
		if record == nil {
			args = append(args, name)
		}
	}
	keys := []string{
		b.headerKey(partition), b.unitKey(partition, u.hospital), b.membersKey(partition),
		b.localSettingsKey(partition, u.hospital), b.codesKey(partition, u.hospital),
	}
	writeScript.EvalSha(ctx, pipe, keys, args...)
}

// mark sets the position and the signs of life of a load, and announces the position. If the load is sealed, mark
// also marks the partition as whole and removes the data of other generations.
func (p *Projector) mark(ctx context.Context, n *node, pipe redis.Pipeliner, load *load) {
	b := p.view
	seal, asOf, waiting := 0, "", time.Duration(0)
	if load.seal {
		seal = 1
	}
	now := b.now()
	if !load.asOf.IsZero() { // converted to the clock of Redis, which all readers and writers share
		asOf = strconv.FormatInt(n.redisNow().Add(load.asOf.Sub(now)).UnixMilli(), 10)
	}
	if !load.waits.IsZero() {
		waiting = max(now.Sub(load.waits), 0)
	}
	partition := load.partition
	markScript.EvalSha(ctx, pipe, []string{b.headerKey(partition), b.membersKey(partition)},
		p.generation, load.position, seal, b.channel(), partition,
		b.unitKey(partition, ""), b.localSettingsKey(partition, ""), b.codesKey(partition, ""),
		asOf, waiting.Milliseconds(), load.versions)
}
