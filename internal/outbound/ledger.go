package outbound

import (
	"time"

	"svc/internal/outbound/subscriber"
)

// The ledger is a Kafka topic with the durable state of the notifier. The types below are its entries. The last entry
// for a key is current, with two exceptions: a final entry overrides a pending one, and an entry of an earlier
// ownership never overrides one of a later ownership. An ownership is the period in which one process owns a
// partition. Its number, the term, increases whenever the partition gets a new owner.

// Event is one event as it leaves the service. The event is encoded once, so every endpoint gets the same bytes at
// every attempt.
type Event struct {
	ID         string // "evt_" + 32 hex
	Hospital   string
	Event      string
	Version    int64 // version of the change that the event reports; 0: none
	Source     int64 // offset of the reported change in the verdicts topic; -1: none
	RoomID     int32 // room of a room.rescored event; -1: none
	OccurredAt time.Time
	Only       []string // ids of the receiving endpoints; nil: all endpoints that subscribe to the event type
	Command    string   // for a test event: id of the command that sends it; no other command may send it
	Body       []byte
	Term       int64
	// Traceparent is the trace of the request that caused the event; "" means that it is not traced. In the ledger,
	// Traceparent is a header of the record.
	Traceparent string `avro:"-"`
}

// Entry is the record for a delivery in the ledger.
type Entry struct {
	Delivery Delivery
	Position int64     // ledger offset of the event; -1: none
	Command  string    // id of the command that requested the delivery; "": none
	Expires  time.Time // when the message expires, for mail and SMS; zero: never
	Sealed   []byte    // encrypted text, for mail and SMS
	Term     int64

	Traceparent string `avro:"-"` // as in Event, for mail and SMS
}

// EndpointQueue is the stored state of an endpoint's queue.
type EndpointQueue struct {
	Hospital     string
	Endpoint     string
	Cursor       int64     // ledger offset up to which all events are final for this endpoint
	NextAt       time.Time // earliest instant of the next attempt
	FailingSince time.Time // start of the current series of failed attempts; zero: the last attempt was accepted
	Failures     int       // consecutive failed attempts
	Disabled     string    // why the endpoint is disabled: gone or failing; "": it is enabled
	Version      int64     // version of the endpoint's settings when it was disabled; a later version enables the queue again
	Noticed      int       // numeric value of the last notice about the current failure; 0: none
	Term         int64
}

// HospitalState is the state of a hospital in the notifier, except for its endpoint queues.
type HospitalState struct {
	Hospital string
	Version  int64  // version up to which all changes have been processed; their events are in the ledger
	Policy   []byte // encoded state of the alert policy
	Term     int64
}

// ClosedRun is the record of an alert run that has ended, as lists show it. It is written once, when the run ends.
type ClosedRun struct {
	Run  AlertRun // the run at its end; AckBy is always zero
	Term int64
}

// Order is a command in the ledger with its progress.
type Order struct {
	Command  Command
	Progress Progress
	Position int64 // ledger offset of the last event that a replay has processed
	Term     int64 // term of the owner that wrote the order; 0: the notifier has not processed the command yet
}

// Verb is the action of a command.
type Verb string

// The values of [Verb].
const (
	VerbTest    Verb = "test"    // send a ping or a sample to an endpoint or a recipient
	VerbRetry   Verb = "retry"   // send one delivery again
	VerbReplay  Verb = "replay"  // send a window of events again
	VerbAck     Verb = "ack"     // acknowledge an alert
	VerbStop    Verb = "stop"    // stop a replay
	VerbReceipt Verb = "receipt" // record the delivery report of an SMS provider
)

// Command is a request to the notifier by an administrator, a recipient or an SMS provider. The ledger stores it.
type Command struct {
	ID       string // "cmd_" + 16 hex
	Hospital string
	Verb     Verb
	At       time.Time
	By       string // id of a key, "command line", "link" or "provider"

	Endpoint string // test, replay: the endpoint; retry: the endpoint of the delivery
	Delivery string // retry, receipt: the delivery
	EventID  string // retry: the event of the delivery; ack: the alert to acknowledge, "" for the open alert
	Command  string // stop: id of the replay
	Episode  string // ack: the episode
	Event    string // test: the event type; "" is ping
	Channel  subscriber.Channel

	Since, Until time.Time // replay: the time window
	Events       []string
	Only         Selection
	Receipt      State // receipt: Delivered or Failed
	DryRun       bool  // replay: whether to count the deliveries without sending them
}

// Selection defines which events a replay sends again, by the state of their delivery to the endpoint.
type Selection string

// The values of [Selection].
const (
	SelectFailed  Selection = "failed"
	SelectMissing Selection = "missing" // never delivered to this endpoint
	SelectAll     Selection = "all"
)
