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
	"log/slog"
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
	saves      atomic.Int64    // ledger entries not acknowledged yet
	capacity   chan struct{}   // signals that saves has fallen below saveAtOnce
	ownedCount atomic.Int64    // current ownerships, for readers outside the loop
	everOwned  atomic.Int64    // ownerships ever begun
	oldest     [2]atomic.Int64 // when the oldest pending event of a webhook, and message to a person, occurred: unix ms; 0: none

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
