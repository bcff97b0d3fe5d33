package stream

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Tail follows all partitions of a topic from their ends, with read_committed.
type Tail struct {
	cluster *Cluster
	topic   string
	each    func(Record)
	ready   chan struct{}
}

// Tail returns a tail of topic that calls fn for every record, in order within each partition, from one goroutine. fn
// must not block.
func (c *Cluster) Tail(topic string, fn func(Record)) *Tail {
	return &Tail{cluster: c, topic: topic, each: fn, ready: make(chan struct{})}
}

// Ready is closed once Run has determined where each partition ends. The tail gets every record that is committed
// after that.
func (t *Tail) Ready() <-chan struct{} { return t.ready }

// Run follows the topic. It returns nil when ctx ends, or the error that prevents reading. Call it once.
func (t *Tail) Run(ctx context.Context) error {
	from, err := t.cluster.ends(ctx, t.topic)
	if err != nil {
		return ended(ctx, err)
	}
	// The start offsets are explicit, so the tail gets every record committed from now on, no matter when the first
	// fetch is made.
	close(t.ready)
	return ended(ctx, t.cluster.follow(ctx, t.topic, from, func(r Record) {
		if !isBarrier(r.Key) {
			t.each(r)
		}
	}))
}

// ended returns nil if ctx has ended, and err if not.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // ctx ended on request
	}
	return err
}

// changesKept is the number of changes of a partition that are kept for a late Wait, because an input's change may
// arrive before the input's acknowledgment.
const changesKept = 256

// Applied waits for inputs to be applied. It collects changes from a [Tail] and keeps the last few of each partition,
// so that Wait does not miss a change that arrived earlier. Applied is safe for concurrent use.
type Applied[T any] struct {
	decode func(Record) (T, int64, bool)

	mu    sync.Mutex
	parts map[int32]*waiting[T]
}

// waiting contains the changes received in one partition, and the calls that wait for later changes.
type waiting[T any] struct {
	seen  int64 // offset of the last applied input
	ring  [changesKept]seenChange[T]
	queue []*waiter[T] // earliest input first
}

type seenChange[T any] struct {
	input  int64
	filled bool
	change T
}

type waiter[T any] struct {
	input int64
	done  chan struct{} // closed when the result is set
	known bool
	out   T
}

// NewApplied returns an Applied. decode returns the change in a record, and the offset of the input that caused the
// change, which is in the same partition. ok is false for a record that no input caused: a state record, or a change
// that a timer caused.
func NewApplied[T any](decode func(Record) (change T, input int64, ok bool)) *Applied[T] {
	return &Applied[T]{decode: decode, parts: map[int32]*waiting[T]{}}
}

func (a *Applied[T]) part(n int32) *waiting[T] {
	p := a.parts[n]
	if p == nil {
		p = &waiting[T]{seen: -1}
		a.parts[n] = p
	}
	return p
}

// Add adds the next record of the tail.
func (a *Applied[T]) Add(r Record) {
	change, input, ok := a.decode(r)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.part(r.Partition)
	if input > p.seen {
		p.seen = input
		p.ring[input%changesKept] = seenChange[T]{input: input, filled: true, change: change}
	}
	for len(p.queue) > 0 && p.queue[0].input <= input {
		w := p.queue[0]
		p.queue = p.queue[1:]
		if w.known = w.input == input; w.known {
			w.out = change
		}
		close(w.done)
	}
}

// Known returns the change that an input caused, and reports whether the change has arrived and is still kept.
func (a *Applied[T]) Known(input Position) (change T, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.part(input.Partition).known(input.Offset)
}

func (p *waiting[T]) known(input int64) (change T, known bool) {
	if s := &p.ring[input%changesKept]; s.filled && s.input == input {
		return s.change, true
	}
	return change, false
}

// Wait waits until the change that an input caused has arrived, or the change that a later input of the same
// partition caused. known is false if only the later change has arrived, or if the change of the input is no longer
// kept. The only error is that of ctx.
func (a *Applied[T]) Wait(ctx context.Context, input Position) (change T, known bool, err error) {
	a.mu.Lock()
	p := a.part(input.Partition)
	if input.Offset <= p.seen {
		change, known = p.known(input.Offset)
		a.mu.Unlock()
		return change, known, nil
	}
	w := &waiter[T]{input: input.Offset, done: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(p.queue, w.input, func(w *waiter[T], input int64) int { return cmp.Compare(w.input, input) })
	p.queue = slices.Insert(p.queue, at, w)
	a.mu.Unlock()
	select {
	case <-w.done:
		return w.out, w.known, nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at = slices.Index(p.queue, w)
	if at < 0 { // Add has set the result in the meantime
		return w.out, w.known, nil
	}
	p.queue = slices.Delete(p.queue, at, at+1)
	return change, false, ctx.Err()
}
