package view

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Each of these Redis scripts performs one atomic update, which the comment at its top describes.
var (
	//go:embed deliveries.lua
	deliveriesSource string
	//go:embed count.lua
	countSource string
	//go:embed episodes.lua
	episodesSource string
	//go:embed signs.lua
	signsSource string

	deliveriesScript = redis.NewScript(deliveriesSource)
	countScript      = redis.NewScript(countSource)
	episodesScript   = redis.NewScript(episodesSource)
	signsScript      = redis.NewScript(signsSource)
)

// Delivery is an encoded delivery for the lists.
type Delivery struct {
	Hospital   string
	Endpoint   string
	ID         string
	OccurredAt time.Time // sorts the lists, newest first
	// Final and Term rank the versions of a delivery. A final version ranks above a version that is not final;
	// otherwise, the version with the later term ranks higher. At equal rank, the later write wins.
	Final bool
	Term  int64
	Value []byte
}

// rank returns a string that orders the versions of one delivery. All ranks have the same length.
func (d *Delivery) rank() string {
	final := 0
	if d.Final {
		final = 1
	}
	return fmt.Sprintf("%d%019d", final, d.Term)
}

const rankSize = 20

// These are the limits of the lists.
const (
	endpointMost    = 10_000 // deliveries
	deliveriesKept  = 90 * 24 * time.Hour
	episodesKept    = 90 * 24 * time.Hour // after the end of the alert run
	episodesBatch   = 200                 // maximum number of alert runs that one write deletes
	commandsKept    = 7 * 24 * time.Hour
	linksKept       = 2 * 24 * time.Hour
	deliveriesBatch = 200     // number of deliveries written in one round trip
	deliveriesMost  = 100_000 // maximum number of pending deliveries
)

// note identifies a field that is stored in addition to the lists, such as the health of an endpoint.
type note struct{ hospital, kind, id string }

// noted is the value of a note.
type noted struct {
	value []byte
	ended time.Time // when the alert run ended; zero: it has not, or the note is of another kind
}

// These are the kinds of notes.
const (
	noteHealth  = "endpoints"
	noteCommand = "commands"
	noteEpisode = "episodes"
	noteLink    = "links"

	listDeliveries = "deliveries" // by id, with the rank before the value
)

// Deliveries writes lists of deliveries. While Redis is unavailable, it keeps the latest version of each delivery, up
// to a limit. Above the limit, deliveries are dropped, so the lists no longer count as complete and are rebuilt from
// the ledger.
type Deliveries struct {
	writer
	view *View

	mu         sync.Mutex
	deliveries map[string]*Delivery // by hospital and id
	notes      map[note]noted
	waiting    []chan struct{}        // closed once everything that was queued before is written
	most       int                    // maximum number of pending deliveries
	lost       map[int32]int          // deliveries dropped because of the limit, by partition
	partitions map[int32]*listsWriter // partitions that this process owns
	pulse      bool                   // whether the signs of life must be written
}

// listsWriter is the state of the lists of an owned partition.
type listsWriter struct {
	fresh   Freshness
	reached int64 // position of the last change in the ledger
	least   int64 // minimum position that Redis must have
	count   int64 // minimum count of writes that Redis must have
	begins  bool  // whether no signs of life have been written yet
	lacks   bool  // whether Redis has lost data, so that the lists must be rewritten
}

// Deliveries returns a writer of the lists of deliveries. Each process needs only one.
func (b *View) Deliveries() *Deliveries {
	return &Deliveries{
		writer: b.newWriter("the lists"), view: b, most: deliveriesMost,
		deliveries: map[string]*Delivery{}, notes: map[note]noted{}, lost: map[int32]int{}, partitions: map[int32]*listsWriter{},
	}
}

// Put queues a delivery, unless a version with a higher rank is pending. If too many deliveries are pending, Put
// drops a new one. It does not block.
func (d *Deliveries) Put(one Delivery) {
	key := one.Hospital + "/" + one.ID
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.deliveries[key]
	switch {
	case before == nil && len(d.deliveries) >= d.most:
		d.lost[d.view.partitionOf(one.Hospital)]++
		return
	case before != nil && before.rank() > one.rank():
		return
	}
	d.deliveries[key] = &one
	d.signal()
}

// PutHealth queues the health of an endpoint.
func (d *Deliveries) PutHealth(hospital, endpoint string, value []byte) {
	d.put(note{hospital, noteHealth, endpoint}, noted{value: value})
}

// PutCommand queues the progress of a command, which is stored for a week.
func (d *Deliveries) PutCommand(hospital, id string, value []byte) {
	d.put(note{hospital, noteCommand, id}, noted{value: value})
}

// PutEpisode queues the state of an alert run, which ended at the given time; zero means that it has not ended. A run
// is stored for 90 days after its end.
func (d *Deliveries) PutEpisode(hospital, id string, ended time.Time, value []byte) {
	d.put(note{hospital, noteEpisode, id}, noted{value, ended})
}

// PutLink queues the target of the link that contains a token, which is stored for two days.
func (d *Deliveries) PutLink(token string, value []byte) {
	d.put(linkNote(token), noted{value: value})
}

func (d *Deliveries) put(n note, v noted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes[n] = v
	d.signal()
}

// Written returns once everything queued so far can be read, or ctx has ended.
func (d *Deliveries) Written(ctx context.Context) {
	done := make(chan struct{})
	d.mu.Lock()
	d.waiting = append(d.waiting, done)
	d.signal()
	d.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Run writes queued entries until ctx ends, and returns the error of ctx.
func (d *Deliveries) Run(ctx context.Context) error {
	return d.run(ctx, func() (time.Duration, error) { return untilWoken, d.flush(ctx) })
}

// flush writes everything pending. Entries that it could not write remain pending, unless a newer version has
// arrived. For each partition, deliveries are written before notes, so a reader of a finished command finds its
// deliveries. The signs of life are written last, and only if everything else was written. If several partitions
// fail, flush returns the error of one of them.
func (d *Deliveries) flush(ctx context.Context) (err error) {
	d.mu.Lock()
	deliveries, notes, waiting, lost := d.deliveries, d.notes, d.waiting, d.lost
	d.deliveries, d.notes, d.waiting, d.lost = map[string]*Delivery{}, map[note]noted{}, nil, map[int32]int{}
	said := d.drainSigns()
	d.mu.Unlock()

	faults := map[int32]error{} // by partition
	d.unlist(ctx, lost, faults)
	d.writeDeliveries(ctx, deliveries, faults)
	d.view.putNotes(ctx, notes, faults, d.countWrite)
	d.putSigns(ctx, said, faults)
	if len(faults) == 0 {
		for _, done := range waiting {
			close(done)
		}
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(notes, d.notes)
	d.pulse = d.pulse || said != nil
	d.notes, d.waiting = notes, append(waiting, d.waiting...)
	for partition, count := range lost {
		d.lost[partition] += count
	}
	for key, one := range deliveries {
		if newer := d.deliveries[key]; newer == nil || newer.rank() < one.rank() {
			d.deliveries[key] = one
		}
	}
	for _, err = range faults {
		break
	}
	return err
}

// unlist marks the lists of partitions that have lost deliveries as incomplete. It deletes the marked partitions from
// the map lost, and adds errors to faults.
func (d *Deliveries) unlist(ctx context.Context, lost map[int32]int, faults map[int32]error) {
	for partition, count := range lost {
		key := d.view.listedKey(partition)
		n := d.view.nodeOf(ctx, key)
		if err := d.view.call(ctx, n, func() error { return n.redis.HSet(ctx, key, fieldWhole, "0").Err() }); err != nil {
			faults[partition] = err
			continue
		}
		d.view.cfg.Log.WarnContext(ctx, "deliveries not listed", "partition", partition, "count", count)
		delete(lost, partition)
	}
}

// writeDeliveries writes the deliveries of partitions without a fault, and deletes the written deliveries from the
// map.
func (d *Deliveries) writeDeliveries(ctx context.Context, deliveries map[string]*Delivery, faults map[int32]error) {
	type place struct{ hospital, endpoint string }
	at := map[place][]*Delivery{}
	for _, one := range deliveries {
		p := place{one.Hospital, one.Endpoint}
		at[p] = append(at[p], one)
	}
	for p, list := range at {
		partition := d.view.partitionOf(p.hospital)
		slices.SortFunc(list, func(a, b *Delivery) int { return a.OccurredAt.Compare(b.OccurredAt) })
		for chunk := range slices.Chunk(list, deliveriesBatch) {
			if faults[partition] != nil {
				break
			}
			if err := d.view.putDeliveries(ctx, p.hospital, p.endpoint, chunk); err != nil {
				faults[partition] = err
				break
			}
			d.countWrite(p.hospital)
			for _, one := range chunk {
				delete(deliveries, one.Hospital+"/"+one.ID)
			}
		}
	}
}

func (b *View) putDeliveries(ctx context.Context, hospital, endpoint string, list []*Delivery) error {
	args := make([]any, 0, 2+4*len(list))
	args = append(args, endpointMost, deliveriesKept.Milliseconds())
	for _, d := range list {
		args = append(args, d.ID, d.OccurredAt.UnixMilli(), d.rank(), d.Value)
	}
	keys := []string{
		b.of(hospital, listDeliveries), b.orderKey(hospital, ""), b.orderKey(hospital, endpoint), b.listedKey(b.partitionOf(hospital)),
	}
	_, err := b.runScript(ctx, deliveriesScript, keys, args...)
	return err
}

// putNotes writes the notes of partitions without a fault, in one round trip to each node, and deletes the written
// notes from the map. In Redis, it counts one write for each partition with written notes, and then calls counted
// with one hospital of the partition. Notes without a hospital, which are links, do not count.
func (b *View) putNotes(ctx context.Context, notes map[note]noted, faults map[int32]error, counted func(hospital string)) {
	var list, commands []note // commands are written last, so that a reader of a finished command finds its effects
	for n := range notes {
		switch {
		case faults[b.partitionOf(n.hospital)] != nil:
		case n.kind == noteCommand:
			commands = append(commands, n)
		default:
			list = append(list, n)
		}
	}
	list = append(list, commands...)
	keys := make([]string, len(list))
	for i, n := range list {
		keys[i] = b.noteKey(n)
	}
	for node, indexes := range b.byNode(ctx, keys) {
		pipe := node.redis.Pipeline()
		written := map[int32]string{}        // one hospital of each partition
		told := map[string]bool{}            // hospitals with written alert runs
		pipe.ScriptLoad(ctx, episodesSource) // Redis loses scripts when it restarts
		pipe.ScriptLoad(ctx, countSource)
		for _, i := range indexes {
			n := list[i]
			b.putNote(ctx, pipe, n, notes[n])
			if n.kind == noteEpisode {
				told[n.hospital] = true
			}
			if n.hospital != "" {
				written[b.partitionOf(n.hospital)] = n.hospital
			}
		}
		for hospital := range told {
			b.deleteEpisodes(ctx, pipe, hospital)
		}
		for partition := range written {
			countScript.EvalSha(ctx, pipe, []string{b.listedKey(partition)})
		}
		err := b.exec(ctx, node, pipe)
		for _, i := range indexes {
			if err != nil {
				faults[b.partitionOf(list[i].hospital)] = err
				continue
			}
			delete(notes, list[i])
		}
		if err == nil {
			for _, hospital := range written {
				counted(hospital)
			}
		}
	}
}

// putNote adds the commands that write a note to a pipeline.
func (b *View) putNote(ctx context.Context, pipe redis.Pipeliner, n note, v noted) {
	key, keep := b.noteKey(n), deliveriesKept
	switch n.kind {
	case noteCommand:
		keep = commandsKept
	case noteLink:
		keep = linksKept
	}
	pipe.HSet(ctx, key, n.id, v.value)
	pipe.PExpire(ctx, key, keep)
	if !v.ended.IsZero() {
		pipe.ZAdd(ctx, b.endedKey(n.hospital), redis.Z{Score: float64(v.ended.UnixMilli()), Member: n.id})
		pipe.PExpire(ctx, b.endedKey(n.hospital), keep)
	}
}

// deleteEpisodes adds a command to a pipeline that deletes the alert runs of a hospital that ended too long ago.
func (b *View) deleteEpisodes(ctx context.Context, pipe redis.Pipeliner, hospital string) {
	key, ended := b.of(hospital, noteEpisode), b.endedKey(hospital)
	episodesScript.EvalSha(ctx, pipe, []string{key, ended}, b.now().Add(-episodesKept).UnixMilli(), episodesBatch)
}

// countWrite counts a write to the lists of a hospital.
func (d *Deliveries) countWrite(hospital string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.partitions[d.view.partitionOf(hospital)]; w != nil {
		w.count++
	}
}

// WriteCommand writes the progress of a command before the command is appended to the ledger, so that its sender can
// read it immediately. It waits for Redis. The notifier writes later progress with [Deliveries.PutCommand].
func (b *View) WriteCommand(ctx context.Context, hospital, id string, value []byte) error {
	faults := map[int32]error{}
	b.putNotes(ctx, map[note]noted{{hospital, noteCommand, id}: {value: value}}, faults, func(string) {})
	return faults[b.partitionOf(hospital)]
}
