package notifier

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"
)

// Run runs the loop and returns when ctx ends. It must run until the consumer group member that feeds it has stopped.
func (n *Notifier) Run(ctx context.Context) error {
	defer close(n.ended)
	timer := time.NewTimer(time.Hour) //nolint:forbidigo // the timer of the loop
	defer timer.Stop()
	for {
		for _, do := range n.mail.drain() {
			do()
		}
		now := n.clock.readTime()
		n.timers.fire(now)
		if !now.Before(n.sweepAt) {
			n.sweepAt = now.Add(sweepEvery)
			n.sweep(now)
		}
		n.queue.dispatch()
		wait := n.sweepAt.Sub(now)
		if at, any := n.timers.next(); any {
			wait = min(wait, at.Sub(now))
		}
		timer.Reset(max(wait, 0))
		select {
		case <-ctx.Done():
			for _, owner := range n.owned {
				owner.lose()
			}
			return nil
		case <-n.mail.wake:
		case <-timer.C:
		}
	}
}

// post adds the function do to the inbox of the loop, which calls it later.
func (n *Notifier) post(do func()) { n.mail.put(do) }

// call makes the loop run the function do and waits until do has returned. The result is false if the loop has ended.
func (n *Notifier) call(do func()) bool {
	done := make(chan struct{})
	n.post(func() { do(); close(done) })
	select {
	case <-done:
		return true
	case <-n.ended:
		return false
	}
}

// fail requests that all partitions be reassigned after a ledger error, because the error leaves the state of the
// ledger unknown.
func (n *Notifier) fail(err error) {
	err = fmt.Errorf("ledger: %w", err)
	n.fault.CompareAndSwap(nil, &err)
}

// sweep does the periodic work: limiting memory, rewriting old records, and reporting the health of endpoints and the
// oldest deliveries.
func (n *Notifier) sweep(now time.Time) {
	for _, owner := range n.owned {
		for _, h := range owner.hospitals {
			h.trim()
			h.rewrite(now)
			for _, e := range h.endpoints {
				e.report()
			}
		}
	}
	n.findOldest()
	n.relieve()
}

// findOldest finds the oldest pending webhook delivery and the oldest pending message, for Oldest. Disabled endpoints
// are ignored.
func (n *Notifier) findOldest() {
	var oldest [2]int64
	older := func(kind int, at time.Time) {
		if ms := at.UnixMilli(); oldest[kind] == 0 || ms < oldest[kind] {
			oldest[kind] = ms
		}
	}
	for _, owner := range n.owned {
		for _, h := range owner.hospitals {
			for _, e := range h.endpoints {
				if e.main.head != nil && !e.paused() {
					older(0, e.main.head.OccurredAt)
				}
			}
			for _, m := range h.messages {
				older(1, m.entry.Delivery.OccurredAt)
			}
		}
	}
	for kind := range oldest {
		n.oldest[kind].Store(oldest[kind])
	}
}

// Oldest returns the time of the event that belongs to the oldest pending delivery: a webhook delivery if webhooks is
// true, otherwise an e-mail or SMS. The result is at most ten seconds old. The zero time means that none is pending.
func (n *Notifier) Oldest(webhooks bool) time.Time {
	kind := 1
	if webhooks {
		kind = 0
	}
	if ms := n.oldest[kind].Load(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// relieve limits the memory used for events by dropping all but the last keepBacklog events of the largest logs. Queues
// that are further behind read the ledger again.
func (n *Notifier) relieve() {
	for n.memory > n.cfg.Limits.Memory {
		var longest *hospital
		for _, owner := range n.owned {
			for _, h := range owner.hospitals {
				if len(h.log) > keepBacklog && (longest == nil || h.bytes > longest.bytes) {
					longest = h
				}
			}
		}
		if longest == nil {
			return
		}
		longest.dropEvents(len(longest.log) - keepBacklog)
	}
}

// clock is a wall clock that never moves back, even if the system clock does.
type clock struct {
	now  func() time.Time
	mu   sync.Mutex
	last time.Time // last reading of the wall clock
	mono time.Time // monotonic time of that reading
}

func (c *clock) readTime() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, mono := c.now().Round(0), time.Now() //nolint:forbidigo // the monotonic clock cannot be set
	if wall.Before(c.last) {
		wall = c.last.Add(mono.Sub(c.mono))
	}
	c.last, c.mono = wall, mono
	return wall
}

// mailbox is the inbox of the loop, a queue of functions. It is unbounded, so that a goroutine that posts a result to
// the loop never blocks; the amount of work in progress is limited elsewhere.
type mailbox struct {
	mu   sync.Mutex
	do   []func()
	wake chan struct{}
}

func (m *mailbox) put(do func()) {
	m.mu.Lock()
	m.do = append(m.do, do)
	first := len(m.do) == 1
	m.mu.Unlock()
	if first {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

func (m *mailbox) drain() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.do
	m.do = nil
	return all
}

// timer calls a function at an instant. The zero value is a timer that is not set.
type timer struct {
	at    time.Time
	do    func()
	index int // position in the heap, from 1; 0: not set
}

// timers is a heap of timers, earliest first.
type timers []*timer

func (t *timers) set(x *timer, at time.Time, do func()) {
	x.do = do
	if x.index > 0 {
		if !x.at.Equal(at) {
			x.at = at
			heap.Fix(t, x.index-1)
		}
		return
	}
	x.at = at
	heap.Push(t, x)
}

func (t *timers) stop(x *timer) {
	if x.index > 0 {
		heap.Remove(t, x.index-1)
	}
	x.do = nil
}

func (t *timers) next() (at time.Time, any bool) {
	if len(*t) == 0 {
		return at, false
	}
	return (*t)[0].at, true
}

// fire calls the functions that are due.
func (t *timers) fire(now time.Time) {
	for len(*t) > 0 && !(*t)[0].at.After(now) {
		x := (*t)[0]
		heap.Pop(t)
		do := x.do
		x.do = nil
		do()
	}
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(a, b int) bool { return t[a].at.Before(t[b].at) }
func (t timers) Swap(a, b int)      { t[a], t[b] = t[b], t[a]; t[a].index, t[b].index = a+1, b+1 }

// Push is called by container/heap.
func (t *timers) Push(x any) {
	one := x.(*timer) //nolint:errcheck // container/heap passes only what was pushed
	*t = append(*t, one)
	one.index = len(*t)
}

// Pop is called by container/heap.
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	x.index = 0
	return x
}
