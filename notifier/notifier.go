// Package notifier turns committed changes of verdicts into notifications. Webhooks get every change in order; people
// get damped alerts.
//
//   - An [outbound.Event] is created for each effect of a change. It is stored in the ledger before any request is
//     sent for it.
//   - An endpoint queue sends the events of its hospital to one endpoint in the order of the ledger, one at a time:
//     the next event is sent when the previous one is final. Two more queues of the endpoint send what commands
//     request: one retries and replays, the other tests.
//   - A message is an e-mail or an SMS that [People] wrote.
//   - An ownership is the period in which this process owns a partition. It starts with the fold of the partition's
//     ledger. After its end, nothing is written for the partition.
//
// No event is lost: a position in the verdicts topic is committed only when all events before it are in the ledger. A
// request that was accepted but not recorded is sent again with the same id and the same bytes.
//
// One goroutine, the loop, manages all ownerships. Attempts, reads of the ledger and steps of [People] run in separate
// goroutines and post their results to the loop.
package notifier

import (
	"cmp"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// Config holds the dependencies of a notifier. Without People, no alerts are sent.
type Config struct {
	Settings  Settings
	Ledger    Ledger
	LedgerID  string // id of the ledger topic; a position from a different ledger is ignored
	Partition func(hospital string) int32
	Lists     DeliveryList
	People    People
	Metrics   Metrics
	Senders   map[subscriber.Channel]sending.Sender
	Log       *slog.Logger

	Now    func() time.Time // nil: the system clock
	Drain  time.Duration    // maximum wait for requests in flight when a partition is revoked; 0: 5 s
	Limits Limits
}

// Limits limit the work in progress. A zero field means the default in its comment.
type Limits struct {
	InFlight int // maximum number of requests in flight; 512
	PerHost  int // maximum number of requests in flight to one host; 32
	Slow     int // maximum number of requests in flight to endpoints whose last attempt failed or took > 2 s; 128
	Memory   int // maximum size of the waiting events in memory, in bytes; 64 MiB
	Unsaved  int // maximum number of outcomes of one queue that the ledger has not acknowledged; 8
}

const (
	keepBacklog = 64 // number of events per hospital that remain in memory when memory is short
	sweepEvery  = 10 * time.Second
	rewriteAge  = time.Hour // age at which the record of a queue or hospital is rewritten; a restore starts at the oldest record
	readsAtOnce = 8         // maximum number of concurrent reads of the ledger by queues that are far behind
	saveAtOnce  = 5000      // number of unacknowledged ledger entries at which no more changes are accepted
)

// Notifier does the notification work of one process. The member of the consumer group calls its methods in the order
// that internal/stream guarantees.
type Notifier struct {
	cfg   Config
	log   *slog.Logger
	clock clock

	mail       mailbox
	ended      chan struct{} // closed when Run has returned
	fault      atomic.Pointer[error]
	saves      atomic.Int64    // number of unacknowledged ledger entries
	capacity   chan struct{}   // signals that saves has fallen below saveAtOnce
	ownedCount atomic.Int64    // number of current ownerships, for readers outside the loop
	everOwned  atomic.Int64    // number of ownerships since the process started
	oldest     [2]atomic.Int64 // event time of the oldest pending webhook delivery [0] and message [1], Unix ms; 0: none

	// Only the loop may access the following fields.
	owned   map[int32]*ownership
	timers  timers
	queue   queue
	memory  int // bytes of events in memory
	reads   int // reads of the ledger in progress
	toRead  []func()
	sweepAt time.Time
}

// New returns a notifier. It processes nothing until Run is called.
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

// traced returns a logger that adds the trace id of a delivery, if it has one.
func (n *Notifier) traced(traceparent string) *slog.Logger {
	if id := traceID(traceparent); id != "" {
		return n.log.With("trace_id", id)
	}
	return n.log
}

// traceID returns the id of the trace in a traceparent, or "" if there is none.
func traceID(traceparent string) string {
	_, rest, _ := strings.Cut(traceparent, "-")
	id, _, _ := strings.Cut(rest, "-")
	return id
}
