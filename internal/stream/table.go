package stream

import "context"

// Table is a compacted topic held whole in memory: the last value of each key.
// It is safe for concurrent use.
type Table struct {
	cluster   *Cluster
	topic     string
	partition func(key string) int32
	onChange  []func(key string, value []byte)
	ready     chan struct{}
}

// Table returns the table of topic. partition names the partition of a key; it
// must never change.
func (c *Cluster) Table(topic string, partition func(key string) int32) *Table {
	return &Table{cluster: c, topic: topic, partition: partition, ready: make(chan struct{})}
}

// OnChange has fn called for every record, also while the table is first read,
// in order and from one goroutine; a nil value: the key is gone. It must be
// called before Run; fn must not block and must not call Put.
func (t *Table) OnChange(fn func(key string, value []byte)) { t.onChange = append(t.onChange, fn) }

// Run reads the topic whole and follows it until ctx ends.
func (t *Table) Run(ctx context.Context) error { return nil }

// Ready is closed once the table holds all that was committed when Run began.
func (t *Table) Ready() <-chan struct{} { return t.ready }

// Get returns the value of key, which must not be changed.
func (t *Table) Get(key string) ([]byte, bool) { return nil, false }

// Range calls fn for each key that begins with prefix, in the order of keys,
// until it returns false. fn may call Get and Range, not Put.
func (t *Table) Range(prefix string, fn func(key string, value []byte) bool) {}

// Put stores the value of key, nil to remove it, and returns once this table
// shows it. Errors are those of [Publisher.Append]; Run must be running.
func (t *Table) Put(ctx context.Context, key string, value []byte) error { return nil }
