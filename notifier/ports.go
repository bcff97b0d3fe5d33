package notifier

import (
	"context"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/endpointqueue"
)

// Settings provides the webhooks of the hospitals. Callers must not modify a returned value; each new version is a
// new value. The notifier's loop calls the methods, so they must not block.
type Settings interface {
	// Webhooks returns the endpoints of a hospital in order of id, with decrypted secrets.
	Webhooks(hospital string) []*subscriber.Webhook
	// Webhook returns one endpoint of a hospital.
	Webhook(hospital, id string) (*subscriber.Webhook, bool)
}

// Ledger is the log in which the notifier stores its state. An entry is a pointer to [outbound.Event],
// [outbound.Entry], [outbound.EndpointQueue], [outbound.HospitalState], [outbound.Order] or [outbound.ClosedRun].
type Ledger interface {
	// Append writes an entry after all previous ones. Once the entry is durable, Append calls stored with the entry's
	// offset; the calls are in the order of the entries. If stored gets an error, the partition must be revoked and
	// reassigned. Append must not block or retain the entry. When ctx ends, unsent entries are discarded.
	Append(ctx context.Context, partition int32, entry any, stored func(offset int64, err error))
	// Read calls fn for every entry of a partition, from the given offset on. It stops when fn returns false, or when
	// it reaches the end that the log had when Read started. It returns that end. An entry whose key lacks the prefix
	// is passed as nil, with its offset.
	Read(ctx context.Context, partition int32, from int64, prefix string, fn func(offset int64, entry any) bool) (end int64, err error)
	// Restore is like Read, but first appends a mark to the log, so that it also reads entries that the previous
	// owner had in flight.
	Restore(ctx context.Context, partition int32, from int64, fn func(offset int64, entry any) bool) (end int64, err error)
	// At returns the offset of the first entry written at or after an instant.
	At(ctx context.Context, partition int32, instant time.Time) (int64, error)
}

// DeliveryList stores the lists of deliveries and alert runs that reads return. Its methods do not block. While the
// store is unavailable, DeliveryList keeps the latest state of each delivery and endpoint. A final state of a
// delivery overrides a pending one, and a later ownership overrides an earlier one.
type DeliveryList interface {
	Delivery(e *outbound.Entry)
	Health(hospital, endpoint string, h outbound.Health)
	Progress(p outbound.Progress)
	// AlertRun adds an alert run that has ended, as read from the ledger. People lists the open runs.
	AlertRun(e outbound.AlertRun)
}

// People decides which recipients to alert to a change, and how. The notifier decides when to call it, sends the
// resulting messages and stores its state. People writes all texts. Its methods are safe for concurrent use.
type People interface {
	// Step makes the decisions for one hospital. The notifier calls it when the hospital's level has changed, but
	// only after the last record of a poll, and never while it is catching up. It also calls Step for a command, a
	// receipt or a notice, for a message or an alert to a webhook that has become final, and at the instant Next that
	// the previous Step returned. Calls run in their own goroutines, at most one at a time for each hospital. Step may
	// block for some 100 ms.
	Step(ctx context.Context, now time.Time, h Happening) Step
	// Open decrypts the sealed part of a delivery and returns the message to send, with To, Subject, Text and HTML. A
	// nonempty reason means that the message cannot be sent. If later is true, the address or the text cannot be
	// decrypted yet, and the delivery is retried; if later is false, the delivery fails permanently.
	Open(e *outbound.Entry) (m sending.Message, reason string, later bool)
	// Test returns a test message for a recipient, or the reason why there is none.
	Test(now time.Time, c *outbound.Command) (message outbound.Entry, reason string)
}

// Happening is the input of a step for one hospital.
type Happening struct {
	Hospital string
	Memory   []byte       // Memory of the previous Step; nil: this is the first Step
	Level    acuity.Level // last committed level; green if there is none
	Known    bool         // whether a change of the level was observed; if not, Level is the default

	Changes  []LevelChange      // changes of the level since the previous Step, in order
	Commands []outbound.Command // acknowledgments and receipts since the previous Step, in order
	Ended    []outbound.Entry   // messages, and alerts to webhooks, that became final since the previous Step or, after a restart, before
	Waiting  []outbound.Entry   // e-mails and SMS that are not final yet
	Notices  []Notice           // notices about endpoints since the previous Step
	Paused   []string           // ids of the endpoints to which nothing is sent until they are enabled again
}

// LevelChange is one committed change of a level.
type LevelChange struct {
	Version     int64
	OccurredAt  time.Time
	Cause       acuity.Cause
	Effect      acuity.Effect // its kind is LevelChanged
	Traceparent string        // trace of the request that caused it; "": not traced
}

// Notice informs administrators that an endpoint has a problem, or that the problem has ended.
type Notice struct {
	Endpoint string
	Host     string // host of the endpoint's URL; the path may contain a secret
	Kind     endpointqueue.Notice
	Reason   string // for a disabled endpoint: gone or failing
	At       time.Time
	Since    time.Time // start of the failure
}

// Step is the result of [People.Step] for one hospital. The notifier stores each message and event in the ledger
// before sending it.
type Step struct {
	Memory    []byte              // replaces the memory; nil: unchanged
	Next      time.Time           // when to step again if nothing happens before; zero: never
	Messages  []outbound.Entry    // e-mails and SMS: Pending, or final with the reason for not sending them; the notifier sets Term
	Events    []outbound.Event    // surge.alert for its subscribers, or for those in Only; the notifier sets Term, Source and Version
	Supersede []string            // ids of waiting deliveries that must no longer be sent
	Closed    []outbound.AlertRun // alert runs that have ended, from which their list can be rebuilt
	Decisions []Decision
	Answers   []Answer
	// Postponed means that the input was not processed: nothing is written, and the step at Next gets the same input
	// again, even after a restart. The other fields must be empty.
	Postponed bool
}

// Decision is the reason why people were alerted or not, for logs and metrics.
type Decision struct {
	Reason    string // one of a fixed set, because it is a metric label
	Tier      string
	Recipient string // for the log, if the decision is about one delivery, with the id in Delivery; "": it is not
	Delivery  string
}

// Answer is the result of a command in the Happening.
type Answer struct {
	Command string
	Reason  string // why the command failed; "": it succeeded
}

// Metrics receives measurements. Its methods are safe for concurrent use.
type Metrics interface {
	Event(event string)
	// Attempt counts an attempt. traceID is the trace of the attempt; "": none.
	Attempt(c subscriber.Channel, class sending.Class, took time.Duration, traceID string)
	Ended(c subscriber.Channel, state outbound.State)
	Accepted(sinceChange time.Duration, traceID string) // sinceChange is the time from the change until its webhook request was accepted
	Decided(reason string)
	Waiting(c subscriber.Channel, more int) // adds more, which may be negative, to the number of waiting deliveries
}
