package notifier

import (
	"context"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/endpointqueue"
)

// Settings provides the webhooks of the hospitals. Callers must not modify a returned value; a new version is a new
// value. The loop calls the methods, which must not block.
type Settings interface {
	// Webhooks returns the endpoints of a hospital, by id, with their decrypted secrets.
	Webhooks(hospital string) []*outbound.Webhook
	// Webhook returns one endpoint of a hospital.
	Webhook(hospital, id string) (*outbound.Webhook, bool)
}

// Ledger is the log in which the notifier stores its state. An entry is a pointer to [outbound.Event],
// [outbound.Entry], [outbound.EndpointQueue], [outbound.HospitalState], [outbound.Order] or [outbound.ClosedRun].
type Ledger interface {
	// Append writes an entry after all previous ones. It calls stored, in the order of the entries, with the offset
	// once the entry is durable. After an error, the partition must be revoked and reassigned. Append must not block
	// or retain the entry. When ctx ends, entries that were not sent are discarded.
	Append(ctx context.Context, partition int32, entry any, stored func(offset int64, err error))
	// Read calls each with the entries of a partition from an offset on. It stops when each returns false, or at the
	// end that the log had when Read started, and returns that end. An entry whose key does not have the prefix is
	// passed as nil with its offset.
	Read(ctx context.Context, partition int32, from int64, prefix string, each func(offset int64, entry any) bool) (end int64, err error)
	// Restore is Read, but first writes a mark to the log. Entries that the previous owner had in flight precede the
	// mark, so Restore reads them.
	Restore(ctx context.Context, partition int32, from int64, each func(offset int64, entry any) bool) (end int64, err error)
	// At returns the offset of the first entry written at an instant or later.
	At(ctx context.Context, partition int32, instant time.Time) (int64, error)
}

// DeliveryList stores the lists of deliveries and alert runs for readers. Its methods do not block; if the store is unavailable, it
// keeps the latest state of each delivery and endpoint. A final state of a delivery overrides a pending one, and a
// later ownership overrides an earlier one.
type DeliveryList interface {
	Delivery(e *outbound.Entry)
	Health(hospital, endpoint string, h outbound.Health)
	Progress(p outbound.Progress)
	// AlertRun lists an alert run that has ended, from the ledger. People lists the runs that are open.
	AlertRun(e outbound.AlertRun)
}

// People decides which recipients are alerted to a change, and how. The notifier decides when to ask it, sends its
// messages and stores its state. People writes all texts. Its methods are safe for concurrent use.
type People interface {
	// Step decides for one hospital. The notifier calls it when the hospital's level has changed, after the last
	// record of a poll and never while catching up. It also calls Step for a command, a receipt, a notice, the end of
	// a message, and at Next of the last Step. There is at most one concurrent call for each hospital, each in its
	// own goroutine. Step may block for some 100 ms.
	Step(ctx context.Context, now time.Time, h Happening) Step
	// Open fills To, Subject, Text and HTML of an attempt's message from the sealed part of a delivery. A nonempty
	// reason means that the message cannot be sent: the delivery has failed permanently or, if later is true because
	// something cannot be decrypted, is retried.
	Open(e *outbound.Entry) (m outbound.Message, reason string, later bool)
	// Test returns the message of a test to a recipient, or the reason why there is none.
	Test(now time.Time, c *outbound.Command) (message outbound.Entry, reason string)
}

// Happening is the input of a hospital's step.
type Happening struct {
	Hospital string
	Memory   []byte       // as the last Step returned it; nil: first step
	Level    acuity.Level // last committed level; green if there is none
	Known    bool         // a change of the level was observed, so Level is not the default

	Changes  []LevelChange      // changes of the level since the last Step, in order
	Commands []outbound.Command // acknowledgments and receipts since the last Step, in order
	Ended    []outbound.Entry   // e-mails and SMS that became final since the last Step; after a restart also some from before it
	Waiting  []outbound.Entry   // e-mails and SMS that are not final yet
	Notices  []Notice           // about endpoints, since the last Step
}

// LevelChange is one committed change of a level.
type LevelChange struct {
	Version     int64
	OccurredAt  time.Time
	Cause       acuity.Cause
	Effect      acuity.Effect // its kind is LevelChanged
	Traceparent string        // trace of the request that caused it; "": it is not traced
}

// Notice informs administrators that an endpoint has a problem, or that the problem has ended.
type Notice struct {
	Endpoint string
	Host     string // without the path, which may contain a secret
	Kind     endpointqueue.Notice
	Reason   string // for a disabled endpoint: gone or failing
	At       time.Time
	Since    time.Time // start of the failure
}

// Step is the result of a step: the work to do for a hospital. It is written to the ledger before any part of it is
// sent.
type Step struct {
	Memory    []byte              // replaces the memory; nil: unchanged
	Next      time.Time           // when to step again without news; zero: never
	Messages  []outbound.Entry    // e-mails and SMS: Pending, or final with the reason why they are not sent; the notifier sets Term
	Events    []outbound.Event    // surge.alert for its subscribers, or for those in Only; the notifier sets Term, Source and Version
	Supersede []string            // ids of waiting deliveries that must no longer be sent
	Closed    []outbound.AlertRun // alert runs that have ended, to rebuild their list from
	Decisions []Decision
	Answers   []Answer
	// Postponed means that the input was not processed: nothing is written, and the step at Next gets it again, also after
	// a restart. The other fields must be empty.
	Postponed bool
}

// Decision is the reason why people were alerted or not, for logs and metrics.
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
	// Attempt counts an attempt. traceID is the trace that it belongs to; "": none.
	Attempt(c outbound.Channel, class outbound.Class, took time.Duration, traceID string)
	Ended(c outbound.Channel, state outbound.State)
	Accepted(sinceChange time.Duration, traceID string) // time from the change to the acceptance of a webhook
	Decided(reason string)
	Waiting(c outbound.Channel, more int) // more is added to the gauge
}
