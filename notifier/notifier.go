// Package notifier tells those who asked of every committed change of a verdict:
// machines each change in order, people damped alerts.
//
//   - An [outbound.Event] is made of each effect of a change and stored in the
//     ledger before anything is sent of it.
//   - A lane is one endpoint: the events of its hospital in the order of the
//     ledger, one under way, the next when the one before is final. Beside it a
//     second lane takes what commands ask for.
//   - A letter is a mail or an SMS, which [People] wrote.
//   - A term is one ownership of a partition: the fold of its ledger, the work,
//     and the end, after which nothing is written any more.
//
// Nothing is lost: the position in the verdicts is committed only behind events
// that are in the ledger. What was accepted and not yet noted is sent again: the
// same id, the same bytes.
//
// One goroutine owns all terms; attempts, reads of the ledger and steps of
// [People] run beside it and come back as messages.
package notifier

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"svc/internal/outbound"
)

// Config is what a notifier works with. People may be nil: nobody is alerted.
type Config struct {
	Settings  Settings
	Ledger    Ledger
	LedgerID  string // of the topic: a position in another one says nothing
	Partition func(hospital string) int32
	Lists     DeliveryList
	People    People
	Metrics   Metrics
	Senders   map[outbound.Channel]outbound.Sender
	Log       *slog.Logger

	Now    func() time.Time // nil: the clock of the machine
	Drain  time.Duration    // for requests in flight when a partition goes; 0: 5 s
	Limits Limits
}

// Limits bound what is under way. A zero field is the default.
type Limits struct {
	InFlight int // requests at once; 512
	PerHost  int // of them to one host; 32
	Slow     int // of them to endpoints that failed or took > 2 s last; 128
	Memory   int // bytes of events that wait; 64 MiB
	Unsaved  int // outcomes of a queue that the ledger has not acknowledged; 8
}

const (
	keepBacklog = 64              // events of a long backlog in memory
	keepRecent  = 5 * time.Second // every event stays so long: a new endpoint may ask for it
	sweepEvery  = 10 * time.Second
	rewriteAge  = time.Hour // of the record of a queue or a unit: the restore begins at the oldest
	keepSent    = 4096      // ids
	readsAtOnce = 8         // of the ledger, by queues that are far behind
	saveAtOnce  = 5000      // entries on their way to the ledger before no more changes are wanted
)

// Notifier is the work of one process. Take to Fault are called by a member of a
// consumer group, in the order that internal/stream promises.
type Notifier struct {
	cfg   Config
	log   *slog.Logger
	clock clock

	mail       mailbox
	ended      chan struct{} // closed when Run has returned
	fault      atomic.Pointer[error]
	saves      atomic.Int64  // entries on their way to the ledger
	capacity   chan struct{} // they are fewer than too many again
	ownedCount atomic.Int64  // ownerships, for who looks
	everOwned  atomic.Int64  // ownerships ever begun

	// Only the loop touches these.
	owned   map[int32]*ownership
	timers  timers
	queue   queue
	memory  int // bytes of events
	reads   int // of the ledger, under way
	toRead  []func()
	sweepAt time.Time
}

// New returns a notifier; Run makes it work.
func New(cfg Config) *Notifier {
	if cfg.Now == nil {
		cfg.Now = time.Now //nolint:forbidigo // the loop keeps the clock: what it asks, the wall or how long it slept, is its work
	}
	cfg.Drain = cmp.Or(cfg.Drain, 5*time.Second)
	l := &cfg.Limits
	l.InFlight, l.PerHost, l.Slow = cmp.Or(l.InFlight, 512), cmp.Or(l.PerHost, 32), cmp.Or(l.Slow, 128)
	l.Memory, l.Unsaved = cmp.Or(l.Memory, 64<<20), cmp.Or(l.Unsaved, 8)
	n := &Notifier{
		cfg: cfg, log: cfg.Log, clock: clock{now: cfg.Now}, mail: mailbox{wake: make(chan struct{}, 1)},
		ended: make(chan struct{}), capacity: make(chan struct{}, 1), owned: map[int32]*ownership{},
	}
	n.queue = queue{notifier: n, hosts: map[string]*host{}}
	return n
}

// Run works until ctx ends. It must outlive the member that feeds it.
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
			for _, t := range n.owned {
				t.lose()
			}
			return nil
		case <-n.mail.wake:
		case <-timer.C:
		}
	}
}

// post has do called by the loop.
func (n *Notifier) post(do func()) { n.mail.put(do) }

// call has do called by the loop and waits for it; false: the loop has ended.
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

// fail has all partitions taken anew: what the ledger knows is not known any more.
func (n *Notifier) fail(err error) {
	err = fmt.Errorf("ledger: %w", err)
	n.fault.CompareAndSwap(nil, &err)
}

// sweep does what is due now and then: memory, hourly records, figures.
func (n *Notifier) sweep(now time.Time) {
	for _, t := range n.owned {
		for _, h := range t.hospitals {
			h.trim(now)
			h.rewrite(now)
			h.report()
		}
	}
	n.relieve()
}

// relieve keeps the events in memory within their bound: of the longest logs the
// last few stay, and a lane that is further behind reads the ledger again.
func (n *Notifier) relieve() {
	for n.memory > n.cfg.Limits.Memory {
		var longest *hospital
		for _, t := range n.owned {
			for _, h := range t.hospitals {
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

// clock never falls, whatever the one of the machine does.
type clock struct {
	now  func() time.Time
	mu   sync.Mutex
	last time.Time // wall clock
	mono time.Time // when that was told
}

func (c *clock) readTime() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, mono := c.now().Round(0), time.Now() //nolint:forbidigo // monotonic: what no one can set
	if least := c.last.Add(mono.Sub(c.mono)); !c.last.IsZero() && wall.Before(least) {
		if wall.Before(c.last) {
			wall = least
		}
	}
	c.last, c.mono = wall, mono
	return wall
}

// mailbox takes what others have the loop do. It is never full, so that nobody
// who answers the loop waits for it; who asks is bounded.
type mailbox struct {
	mu    sync.Mutex
	do    []func()
	spare []func()
	wake  chan struct{}
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
	clear(m.spare)
	m.do, m.spare = m.spare[:0], all
	return all
}

func spread() float64 { return rand.Float64() } //nolint:gosec // of a wait
