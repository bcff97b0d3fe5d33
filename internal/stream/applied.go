package stream

import (
	"container/heap"
	"context"
	"sync"
)

// kept is how many changes of a partition are kept for a late Wait. The change of an input may
// arrive before the acknowledgement of that input.
const kept = 256

// Applied tells when an input has been applied. It takes the changes of a [Tail] and keeps the
// last ones of each partition, so that Wait does not miss a change that came before. It is
// safe for concurrent use.
type Applied[T any] struct {
	decode func(Record) (T, int64, bool)

	mu    sync.Mutex
	parts map[int32]*waiting[T]
}

// waiting is one partition: the changes seen, and the calls that wait for later ones.
type waiting[T any] struct {
	seen  int64 // highest input
	ring  [kept]seen[T]
	queue queue[T]
}

type seen[T any] struct {
	input  int64
	filled bool
	change T
}

type waiter[T any] struct {
	input int64
	index int           // in the queue; -1: answered
	done  chan struct{} // closed when answered
	known bool
	out   T
}

// NewApplied returns an Applied. decode returns the change in a record and the offset of the
// input that caused it, on the same partition. It returns false for a record without an
// input: a state, or a change by time alone.
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

// See takes the next record of the tail.
func (a *Applied[T]) See(r Record) {
	change, input, ok := a.decode(r)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.part(r.Partition)
	if input > p.seen {
		p.seen = input
		p.ring[input%kept] = seen[T]{input: input, filled: true, change: change}
	}
	for len(p.queue) > 0 && p.queue[0].input <= input {
		w := heap.Pop(&p.queue).(*waiter[T]) //nolint:errcheck // a queue of waiters
		if w.known = w.input == input; w.known {
			w.out = change
		}
		close(w.done)
	}
}

// Known returns the change of an input if it has been seen and is still kept.
func (a *Applied[T]) Known(input Position) (change T, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := &a.part(input.Partition).ring[input.Offset%kept]; s.filled && s.input == input.Offset {
		return s.change, true
	}
	return change, false
}

// Wait returns once the change of an input, or of a later input of the partition, has been
// seen. known is false if the input is applied but its change is no longer kept. The error is
// that of ctx.
func (a *Applied[T]) Wait(ctx context.Context, input Position) (change T, known bool, err error) {
	a.mu.Lock()
	p := a.part(input.Partition)
	if input.Offset <= p.seen {
		if s := &p.ring[input.Offset%kept]; s.filled && s.input == input.Offset {
			change, known = s.change, true
		}
		a.mu.Unlock()
		return change, known, nil
	}
	w := &waiter[T]{input: input.Offset, done: make(chan struct{})}
	heap.Push(&p.queue, w)
	a.mu.Unlock()
	select {
	case <-w.done:
		return w.out, w.known, nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.index < 0 { // answered at the last moment
		return w.out, w.known, nil
	}
	heap.Remove(&p.queue, w.index)
	return change, false, ctx.Err()
}

// queue is a heap of waiters, the earliest input first.
type queue[T any] []*waiter[T]

func (q queue[T]) Len() int           { return len(q) }
func (q queue[T]) Less(i, j int) bool { return q[i].input < q[j].input }

func (q queue[T]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push is called by container/heap.
func (q *queue[T]) Push(x any) {
	w := x.(*waiter[T]) //nolint:errcheck // a queue of waiters
	w.index = len(*q)
	*q = append(*q, w)
}

// Pop is called by container/heap.
func (q *queue[T]) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	w.index = -1
	return w
}
