package notifier

import (
	"context"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
)

// Settings is who is to be told. What it returns must not be changed; a new
// version is a new value. Its methods are called from the loop and return at once.
type Settings interface {
	// Webhooks are the endpoints of a hospital, by id, with their secrets open.
	Webhooks(hospital string) []*outbound.Webhook
	// Webhook is one of them.
	Webhook(hospital, id string) (*outbound.Webhook, bool)
}

// Ledger is the log beside the verdicts, the memory of the notifier. An entry is
// a pointer to [outbound.Event], Entry, Lane, Unit or Order.
type Ledger interface {
	// Append stores an entry behind those before it. stored is called once it is
	// safe, in order, with its offset; or with the error after which the partition
	// is to be given up and taken anew. It must not block, and it does not keep the
	// entry. The end of ctx gives up what was not sent.
	Append(ctx context.Context, partition int32, entry any, stored func(offset int64, err error))
	// Read hands out the entries of a partition from an offset on, until each
	// returns false or the end is reached that the log had when Read began. It
	// returns that end. Of an entry whose key does not begin with prefix only the
	// place is told: nil.
	Read(ctx context.Context, partition int32, from int64, prefix string, each func(offset int64, entry any) bool) (end int64, err error)
	// Restore is Read behind a mark of our own: what an owner before us had under
	// way lies before the end.
	Restore(ctx context.Context, partition int32, from int64, each func(offset int64, entry any) bool) (end int64, err error)
	// At returns the offset of the first entry that was written at an instant or later.
	At(ctx context.Context, partition int32, instant time.Time) (int64, error)
}

// DeliveryList is where lists of deliveries are read. It keeps what it cannot write,
// the latest of each delivery and endpoint, and returns at once. Of a delivery a
// final state holds against an open one, and a later term against an earlier.
type DeliveryList interface {
	Delivery(e *outbound.Entry)
	Health(hospital, endpoint string, h outbound.Health)
	Progress(p outbound.Progress)
}

// People decides which people are told of a change, and how. The notifier owns
// when it is asked, what becomes of what it wants sent, and its memory; it owns
// all words. Its methods are safe for concurrent use.
type People interface {
	// Step looks at one hospital. It is called when its level has changed, after
	// the last record of a poll and never while catching up; when a command, a
	// receipt, a notice or the end of one of its messages has come; and when the
	// Next of the last Step has. One call at a time for each hospital, each in a
	// goroutine of its own: it may look things up for some 100 ms.
	Step(ctx context.Context, now time.Time, h Happening) Step
	// Open completes the message of an attempt from what a delivery has sealed:
	// To, Subject, Text, HTML. With a reason there is nothing to send: the delivery
	// has failed for good or, where something does not open, is tried again later.
	Open(e *outbound.Entry) (m outbound.Message, reason string, later bool)
	// Test makes the message of a test to a recipient, or says why not.
	Test(now time.Time, c *outbound.Command) (l Message, reason string)
	// Retry is when a mail or an SMS is tried again after so many attempts of
	// which the last ended so; false: it has failed.
	Retry(channel outbound.Channel, attempts int, last outbound.Result) (wait time.Duration, again bool)
}

// Happening is what a hospital's step begins with.
type Happening struct {
	Hospital string
	Memory   []byte       // as the last Step returned it; nil: this is the first
	Level    acuity.Level // as committed last; green if nothing was
	Known    bool         // a change of the level was seen, so that Level is more than a default

	Changes  []LevelChange      // of the level, since the last Step, in order
	Commands []outbound.Command // acks and receipts since the last Step, in order
	Ended    []outbound.Entry   // mail and SMS that became final since the last Step; after a restart some of before, too
	Waiting  []outbound.Entry   // mail and SMS not final yet
	Notices  []Notice           // about endpoints, since the last Step
}

// LevelChange is one committed change of a level.
type LevelChange struct {
	Version    int64
	OccurredAt time.Time
	Cause      acuity.Cause
	Effect     acuity.Effect // of kind LevelChanged
}

// Notice is what administrators are told of an endpoint.
type Notice struct {
	Endpoint string
	Host     string // no path: it may hold a secret
	Kind     NoticeKind
	Reason   string // of a disabled one: gone or failing
	At       time.Time
	Since    time.Time // it fails since then
}

// NoticeKind is what has become of an endpoint.
type NoticeKind string

// The kinds.
const (
	NoticeFailing1h  NoticeKind = "failing_1h"
	NoticeFailing24h NoticeKind = "failing_24h"
	NoticeDisabled   NoticeKind = "disabled"
	NoticeRecovered  NoticeKind = "recovered"
)

// Step is what is to be done for a hospital. It is written to the ledger before
// anything of it is sent.
type Step struct {
	Memory    []byte    // replaces what was remembered; nil: it stays
	Next      time.Time // when to look again if nothing happens; zero: never
	Messages  []Message
	Events    []outbound.Event // surge.alert for the webhooks that asked for it, or for those of Only; Term, Source and Version are the notifier's
	Supersede []string         // ids of waiting deliveries that are not to be sent any more
	Decisions []Decision
	Answers   []Answer
}

// Message is a mail or an SMS, or the note that one is not sent.
type Message struct {
	Delivery outbound.Delivery // Pending to be sent, or final: Suppressed with its reason
	Expires  time.Time
	Sealed   []byte
}

// Decision is why people were told, or not; for the log and the metrics.
type Decision struct {
	Reason string // of a closed set
	Tier   string
}

// Answer ends a command that Step was given.
type Answer struct {
	Command string
	Reason  string // "": done
}

// Metrics takes the figures. Its methods are safe for concurrent use.
type Metrics interface {
	Event(event string)
	Attempt(c outbound.Channel, class outbound.Class, took time.Duration)
	Ended(c outbound.Channel, state outbound.State)
	Accepted(sinceChange time.Duration) // of a webhook, from the change to its acceptance
	Decided(reason string)
	Waiting(c outbound.Channel, more int) // is added
}
