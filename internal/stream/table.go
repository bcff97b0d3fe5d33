package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Table is a compacted topic held whole in memory: the last value of each key.
// It is safe for concurrent use.
type Table struct {
	cluster   *Cluster
	topic     string
	partition func(key string) int32
	publisher *Publisher
	onChange  []func(key string, value []byte)
	ready     chan struct{}

	mu     sync.RWMutex
	values map[string][]byte
	keys   []string        // sorted
	shown  map[int32]int64 // next offset of each partition
	moved  chan struct{}   // closed and replaced when shown moves
}

// Table returns the table of topic. partition names the partition of a key; it
// must never change.
func (c *Cluster) Table(topic string, partition func(key string) int32) *Table {
	return &Table{
		cluster: c, topic: topic, partition: partition, publisher: c.Publisher(topic),
		ready: make(chan struct{}), moved: make(chan struct{}),
		values: map[string][]byte{}, shown: map[int32]int64{},
	}
}

// OnChange has fn called for every record, also while the table is first read,
// in the order of its partition and one call at a time; a nil value: the key is
// gone. It must be called before Run; fn must not block and must not call Put.
func (t *Table) OnChange(fn func(key string, value []byte)) { t.onChange = append(t.onChange, fn) }

// Run reads the topic whole and follows it until ctx ends, and then returns
// nil. It is called once.
func (t *Table) Run(ctx context.Context) error {
	ends, err := t.cluster.ends(ctx, t.topic)
	if err != nil {
		return ended(ctx, err)
	}
	left := make(map[int32]int64, len(ends))
	from := make(map[int32]int64, len(ends))
	partitions := make([]int32, 0, len(ends))
	for n := range ends {
		partitions = append(partitions, n)
	}
	barriers, err := t.cluster.barriers(ctx, t.topic, partitions)
	if err != nil {
		return ended(ctx, err)
	}
	for n, at := range barriers {
		left[n], from[n] = at, 0
	}
	return ended(ctx, t.cluster.follow(ctx, t.topic, from, func(r Record) {
		t.take(r)
		if at, open := left[r.Partition]; open && r.Offset >= at {
			if delete(left, r.Partition); len(left) == 0 {
				close(t.ready)
			}
		}
	}))
}

// take shows one record.
func (t *Table) take(r Record) {
	key := string(r.Key)
	t.mu.Lock()
	if !isBarrier(r.Key) {
		t.set(key, r.Value)
	}
	t.shown[r.Partition] = r.Offset + 1
	close(t.moved)
	t.moved = make(chan struct{})
	t.mu.Unlock()
	if !isBarrier(r.Key) {
		for _, fn := range t.onChange {
			fn(key, r.Value)
		}
	}
}

func (t *Table) set(key string, value []byte) {
	_, had := t.values[key]
	at, _ := slices.BinarySearch(t.keys, key)
	switch {
	case value == nil && had:
		delete(t.values, key)
		t.keys = slices.Delete(t.keys, at, at+1)
	case value != nil:
		t.values[key] = value
		if !had {
			t.keys = slices.Insert(t.keys, at, key)
		}
	}
}

// Ready is closed once the table holds all that was committed when Run began.
func (t *Table) Ready() <-chan struct{} { return t.ready }

// Get returns the value of key, which must not be changed.
func (t *Table) Get(key string) ([]byte, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	value, ok := t.values[key]
	return value, ok
}

// Range calls fn for each key that begins with prefix, in the order of keys,
// until it returns false. It walks the table as it is now; fn may change it.
func (t *Table) Range(prefix string, fn func(key string, value []byte) bool) {
	t.mu.RLock()
	from, _ := slices.BinarySearch(t.keys, prefix)
	var keys []string
	var values [][]byte
	for _, key := range t.keys[from:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		keys, values = append(keys, key), append(values, t.values[key])
	}
	t.mu.RUnlock()
	for i, key := range keys {
		if !fn(key, values[i]) {
			return
		}
	}
}

// Put stores the value of key, nil to remove it, and returns once this table
// shows it. Errors are those of [Publisher.Append] and of ctx; Run must be
// running.
func (t *Table) Put(ctx context.Context, key string, value []byte) error {
	at, err := t.publisher.Append(ctx, []byte(key), value, t.partition(key))
	if err != nil {
		return err
	}
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
