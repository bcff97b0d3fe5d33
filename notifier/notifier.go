// Package notifier turns committed changes of verdicts into messages: webhooks get
// each change in order, people get damped alerts.
//
//   - An [outbound.Event] is made for each effect of a change. It is stored in the
//     ledger before any request is sent for it.
//   - An endpoint queue sends the events of its hospital to one endpoint in the order
//     of the ledger. One is in flight; the next is sent when it is final. A second
//     queue of the endpoint sends what commands ask for.
//   - A message is a mail or an SMS, which [People] wrote.
//   - An ownership is the time in which this process owns a partition. It begins with
//     the fold of the partition's ledger. After its end nothing is written any more.
//
// Nothing is lost: a position in the verdicts is committed only when the events
// before it are in the ledger. A request that was accepted but not recorded is sent
// again with the same id and the same bytes.
//
// One goroutine, the loop, owns all ownerships. Attempts, reads of the ledger and
// steps of [People] run in their own goroutines and post their results to the loop.
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

// Config holds the dependencies of a notifier. Without People nobody is alerted.
type Config struct {
	Settings  Settings
	Ledger    Ledger
	LedgerID  string // of the topic; a position in another ledger is ignored
	Partition func(hospital string) int32
	Lists     DeliveryList
	People    People
	Metrics   Metrics
	Senders   map[outbound.Channel]outbound.Sender
	Log       *slog.Logger

	Now    func() time.Time // nil: the clock of the machine
	Drain  time.Duration    // wait for requests in flight when a partition is revoked; 0: 5 s
	Limits Limits
}

// Limits bound the work in progress. A zero field is the default.
type Limits struct {
	InFlight int // requests in flight; 512
	PerHost  int // requests in flight to one host; 32
	Slow     int // requests in flight to endpoints whose last attempt failed or took > 2 s; 128
	Memory   int // bytes of waiting events; 64 MiB
	Unsaved  int // outcomes of one queue that the ledger has not acknowledged; 8
}

const (
	keepBacklog = 64              // events of a long backlog that stay in memory
	keepRecent  = 5 * time.Second // each event stays in memory so long: a new endpoint may want it
	sweepEvery  = 10 * time.Second
	rewriteAge  = time.Hour // age at which the record of a queue or a hospital is written again: a restore begins at the oldest record
	keepSent    = 4096      // message ids that a hospital remembers as sent
	readsAtOnce = 8         // concurrent reads of the ledger by queues that are far behind
	saveAtOnce  = 5000      // unacknowledged ledger entries beyond which no more changes are accepted
)

// Notifier is the work of one process. A member of a consumer group calls its methods
// in the order that internal/stream promises.
type Notifier struct {
	cfg   Config
	log   *slog.Logger
	clock clock

	mail       mailbox
	ended      chan struct{} // closed when Run has returned
	fault      atomic.Pointer[error]
	saves      atomic.Int64  // ledger entries not acknowledged yet
	capacity   chan struct{} // signals that saves has fallen below saveAtOnce
	ownedCount atomic.Int64  // current ownerships, for readers outside the loop
	everOwned  atomic.Int64  // ownerships ever begun

	// Only the loop touches these.
	owned   map[int32]*ownership
	timers  timers
	queue   queue
	memory  int // bytes of events in memory
	reads   int // reads of the ledger in progress
	toRead  []func()
	sweepAt time.Time
}

// New returns a notifier. It works while Run runs.
func New(cfg Config) *Notifier {
	if cfg.Now == nil {
		cfg.Now = time.Now //nolint:forbidigo // the loop owns the clock
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

// Run is the loop; it returns when ctx ends. It must outlive the member that feeds
// it.
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

// post makes the loop call do.
func (n *Notifier) post(do func()) { n.mail.put(do) }

// call makes the loop call do and waits for it. It returns false if the loop has
// ended.
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

// fail makes the caller assign all partitions anew after a ledger error, because the
// state of the ledger is unknown then.
func (n *Notifier) fail(err error) {
	err = fmt.Errorf("ledger: %w", err)
	n.fault.CompareAndSwap(nil, &err)
}

// sweep does the periodic work: memory, hourly records, metrics.
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

// relieve keeps the events in memory within their bound. It drops all but the last
// few of the longest log. A queue that is further behind reads the ledger again.
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

// clock is a wall clock that never goes back, whatever the clock of the machine does.
type clock struct {
	now  func() time.Time
	mu   sync.Mutex
	last time.Time // wall clock
	mono time.Time // monotonic time of that reading
}

func (c *clock) readTime() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, mono := c.now().Round(0), time.Now() //nolint:forbidigo // monotonic: nobody can set it
	if least := c.last.Add(mono.Sub(c.mono)); !c.last.IsZero() && wall.Before(least) {
		if wall.Before(c.last) {
			wall = least
		}
	}
	c.last, c.mono = wall, mono
	return wall
}

// mailbox queues functions for the loop. It is never full, so no goroutine that
// answers the loop waits for it; the number of requests is bounded elsewhere.
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
