package notifier

import (
	"context"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/endpointqueue"
)

// Settings are the webhooks of the hospitals. Callers must not change a returned
// value; a new version is a new value. The loop calls the methods, which return at
// once.
type Settings interface {
	// Webhooks returns the endpoints of a hospital, by id, with their secrets in the
	// clear.
	Webhooks(hospital string) []*outbound.Webhook
	// Webhook returns one endpoint of a hospital.
	Webhook(hospital, id string) (*outbound.Webhook, bool)
}

// Ledger is the log beside the verdicts, the durable memory of the notifier. An entry
// is a pointer to [outbound.Event], [outbound.Entry], [outbound.EndpointQueue],
// [outbound.HospitalState] or [outbound.Order].
type Ledger interface {
	// Append stores an entry behind those before it. It calls stored in order, with
	// the offset once the entry is safe. An error means that the partition must be
	// given up and assigned anew. Append must not block and does not keep the entry.
	// When ctx ends, entries that were not sent are given up.
	Append(ctx context.Context, partition int32, entry any, stored func(offset int64, err error))
	// Read calls each with the entries of a partition from an offset on. It stops
	// when each returns false, or at the end that the log had when Read began, and
	// returns that end. An entry whose key does not begin with prefix is passed as
	// nil with its offset.
	Read(ctx context.Context, partition int32, from int64, prefix string, each func(offset int64, entry any) bool) (end int64, err error)
	// Restore reads like Read, but first writes a mark of our own. Entries that the
	// previous owner had in flight lie before the mark, so Restore finds them.
	Restore(ctx context.Context, partition int32, from int64, each func(offset int64, entry any) bool) (end int64, err error)
	// At returns the offset of the first entry written at an instant or later.
	At(ctx context.Context, partition int32, instant time.Time) (int64, error)
}

// DeliveryList stores the lists of deliveries for readers. Its methods return at
// once; it keeps the latest state of each delivery and endpoint that it cannot write
// yet. For a delivery a final state beats an open one, and a later ownership beats an
// earlier one.
type DeliveryList interface {
	Delivery(e *outbound.Entry)
	Health(hospital, endpoint string, h outbound.Health)
	Progress(p outbound.Progress)
}

// People decides which people are alerted to a change, and how. The notifier decides
// when to ask it, sends its messages and stores its memory. People owns all texts.
// Its methods are safe for concurrent use.
type People interface {
	// Step decides for one hospital. The notifier calls it when the hospital's level
	// has changed, after the last record of a poll but never while catching up. It
	// also calls it for a command, a receipt, a notice, the end of a message, and at
	// Next of the last Step. There is one call at a time for each hospital, each in
	// its own goroutine. It may look things up for some 100 ms.
	Step(ctx context.Context, now time.Time, h Happening) Step
	// Open fills To, Subject, Text and HTML of an attempt's message from the sealed
	// part of a delivery. With a reason nothing can be sent. The delivery then has
	// failed for good; with later, because something does not decrypt, it is tried
	// again.
	Open(e *outbound.Entry) (m outbound.Message, reason string, later bool)
	// Test returns the message of a test to a recipient, or the reason why there is
	// none.
	Test(now time.Time, c *outbound.Command) (message outbound.Entry, reason string)
}

// Happening is the input of a hospital's step.
type Happening struct {
	Hospital string
	Memory   []byte       // as the last Step returned it; nil: first step
	Level    acuity.Level // last committed level; green if there is none
	Known    bool         // a change of the level was seen, so Level is not the default

	Changes  []LevelChange      // changes of the level since the last Step, in order
	Commands []outbound.Command // acks and receipts since the last Step, in order
	Ended    []outbound.Entry   // mail and SMS that became final since the last Step; after a restart also some from before it
	Waiting  []outbound.Entry   // mail and SMS that are not final yet
	Notices  []Notice           // about endpoints, since the last Step
}

// LevelChange is one committed change of a level.
type LevelChange struct {
	Version    int64
	OccurredAt time.Time
	Cause      acuity.Cause
	Effect     acuity.Effect // its kind is LevelChanged
}

// Notice tells administrators of a problem of an endpoint, or of its end.
type Notice struct {
	Endpoint string
	Host     string // without the path, which may hold a secret
	Kind     endpointqueue.Notice
	Reason   string // of a disabled endpoint: gone or failing
	At       time.Time
	Since    time.Time // start of the failure
}

// Step is the result of a step: the work to do for a hospital. It is written to the
// ledger before any part of it is sent.
type Step struct {
	Memory    []byte           // replaces the memory; nil: it stays
	Next      time.Time        // when to step again if nothing happens; zero: never
	Messages  []outbound.Entry // mail and SMS: Pending, or final with the reason why it is not sent; the notifier sets Term
	Events    []outbound.Event // surge.alert for its subscribers, or for those in Only; the notifier sets Term, Source and Version
	Supersede []string         // ids of waiting deliveries that must not be sent any more
	Decisions []Decision
	Answers   []Answer
}

// Decision is why people were alerted or not, for the log and the metrics.
type Decision struct {
	Reason string // from a closed set
	Tier   string
}

// Answer ends a command of the Happening.
type Answer struct {
	Command string
	Reason  string // "": done
}

// Metrics receives the figures. Its methods are safe for concurrent use.
type Metrics interface {
	Event(event string)
	Attempt(c outbound.Channel, class outbound.Class, took time.Duration)
	Ended(c outbound.Channel, state outbound.State)
	Accepted(sinceChange time.Duration) // time of a webhook from the change to its acceptance
	Decided(reason string)
	Waiting(c outbound.Channel, more int) // more is added to the gauge
}
