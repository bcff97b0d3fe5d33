package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Table is a compacted topic in memory: the last value of each key. It is safe for concurrent use. A topic must be
// written either by Put or by Replace, never by both.
type Table struct {
	cluster   *Cluster
	topic     string
	partition func(key string) int32
	publisher *Publisher
	onChange  []func(key string, value []byte)
	ready     chan struct{}

	mu     sync.RWMutex
	values map[string][]byte
	last   map[string]int64  // offset of the last record of each key, including deleted keys
	shown  map[int32]int64   // next offset of each partition
	recent map[int32][]int64 // offsets of the newest records of each partition, ascending
	moved  chan struct{}     // closed and replaced when shown advances

	writing chan struct{} // holds a token while no goroutine of this process runs Replace
}

// keptRecent is the minimum number of recent offsets that a table keeps for each partition. Replace looks for its own
// record among them, and finds it unless more than keptRecent records follow it.
const keptRecent = 1000

// Table returns the table of topic. partition returns the partition of a key, which must never change.
func (c *Cluster) Table(topic string, partition func(key string) int32) *Table {
	t := &Table{
		cluster: c, topic: topic, partition: partition, publisher: c.Publisher(topic),
		ready: make(chan struct{}), moved: make(chan struct{}), writing: make(chan struct{}, 1),
		values: map[string][]byte{}, last: map[string]int64{}, shown: map[int32]int64{}, recent: map[int32][]int64{},
	}
	t.writing <- struct{}{}
	return t
}

// OnChange makes Run call fn for every record except barriers, including the records of the first read. The calls are
// sequential and follow the order of each partition. A nil value means that the key was deleted. fn must not block
// and must not call Put. OnChange must be called before Run.
func (t *Table) OnChange(fn func(key string, value []byte)) { t.onChange = append(t.onChange, fn) }

// Run reads the whole topic and then follows it. It returns nil when ctx ends, or the error that prevents reading.
// Call it once.
func (t *Table) Run(ctx context.Context) error {
	count, err := t.cluster.Partitions(ctx, t.topic)
	if err != nil {
		return ended(ctx, err)
	}
	partitions, from := make([]int32, count), make(map[int32]int64, count)
	for n := range count {
		partitions[n], from[n] = n, 0
	}
	var left map[int32]int64 // barriers not yet reached
	err = t.cluster.persist(ctx, "read "+t.topic, func() (err error) {
		left, err = t.cluster.appendBarriers(ctx, t.topic, partitions)
		return err
	})
	if err != nil {
		return ended(ctx, err)
	}
	return ended(ctx, t.cluster.follow(ctx, t.topic, from, func(r Record) {
		t.apply(r)
		if at, open := left[r.Partition]; open && r.Offset >= at {
			if delete(left, r.Partition); len(left) == 0 {
				close(t.ready)
			}
		}
	}))
}

// apply applies one record. Waiters resume after all OnChange functions have returned.
func (t *Table) apply(r Record) {
	key := string(r.Key)
	if !isBarrier(r.Key) {
		t.mu.Lock()
		if r.Value == nil {
			delete(t.values, key)
		} else {
			t.values[key] = r.Value
		}
		t.last[key] = r.Offset
		recent := append(t.recent[r.Partition], r.Offset)
		if len(recent) > 2*keptRecent {
			recent = append(recent[:0], recent[keptRecent:]...)
		}
		t.recent[r.Partition] = recent
		t.mu.Unlock()
		for _, fn := range t.onChange {
			fn(key, r.Value)
		}
	}
	t.mu.Lock()
	t.shown[r.Partition] = r.Offset + 1
	close(t.moved)
	t.moved = make(chan struct{})
	t.mu.Unlock()
}

// Ready is closed once the table contains everything that was committed when Run began.
func (t *Table) Ready() <-chan struct{} { return t.ready }

// Get returns the value of a key, which the caller must not change.
func (t *Table) Get(key string) ([]byte, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	value, ok := t.values[key]
	return value, ok
}

// Range calls fn for each key that begins with prefix, in key order, until fn returns false. It iterates over a copy,
// so fn may change the table.
func (t *Table) Range(prefix string, fn func(key string, value []byte) bool) {
	t.mu.RLock()
	values := maps.Clone(t.values)
	t.mu.RUnlock()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if strings.HasPrefix(key, prefix) && !fn(key, values[key]) {
			return
		}
	}
}

// Put stores the value of a key; a nil value deletes the key. Put returns once this table shows the change. The
// errors are those of [Publisher.Append] and ctx. [Table.Run] must be running.
func (t *Table) Put(ctx context.Context, key string, value []byte) error {
	at, err := t.publisher.Append(ctx, []byte(key), value, t.partition(key))
	if err != nil {
		return err
	}
	return t.await(ctx, at)
}

// Await returns once this table has read the partition of a key up to the position seen, which [Table.Seen] returned
// in another process. The only error is that of ctx.
func (t *Table) Await(ctx context.Context, key string, seen int64) error {
	return t.await(ctx, Position{t.partition(key), seen - 1})
}

// await returns once this table shows the record at a position.
func (t *Table) await(ctx context.Context, at Position) error {
	for {
		t.mu.RLock()
		shown, moved := t.shown[at.Partition], t.moved
		t.mu.RUnlock()
		if shown > at.Offset {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", t.topic, ctx.Err())
		}
	}
}
