package outbound

import "time"

// The ledger is the durable state of the notifier, in a separate topic. The types below are its entries, and the last
// entry of a key is current, with two exceptions: a final entry overrides a pending one, and an entry of an earlier
// ownership never overrides one of a later ownership. An ownership is the period in which one process owns a
// partition; its number, the term, increases with each change of owner.

// Event is one event as it leaves the service. It is encoded once: every endpoint gets the same bytes at every
// attempt.
type Event struct {
	ID         string // "evt_" + 32 hex
	Hospital   string
	Event      string
	Version    int64 // of the change that it reports; 0: none
	Source     int64 // offset of that change on the verdicts; -1: none
	RoomID     int32 // of room.rescored; -1: none
	OccurredAt time.Time
	Only       []string // ids of its endpoints; nil: all that subscribe to such events
	Command    string   // of a test: its command, the only one that sends the event
	Body       []byte
	Term       int64
}

// Entry is the record of a delivery in the ledger.
type Entry struct {
	Delivery Delivery
	Position int64     // offset of its event in the ledger; -1: it has none
	Command  string    // id of the command that asked for it; "": none
	Expires  time.Time // of mail and SMS; zero: never
	Sealed   []byte    // text of mail and SMS, encrypted
	Term     int64
}

// EndpointQueue is the stored state of the queue of one endpoint.
type EndpointQueue struct {
	Hospital     string
	Endpoint     string
	Cursor       int64     // ledger offset up to which no event waits here
	NextAt       time.Time // earliest instant of the next attempt
	FailingSince time.Time // zero: the last attempt was accepted
	Failures     int       // attempts in a row without success
	Disabled     string    // reason, gone or failing; "": not disabled
	Version      int64     // version of the settings that were disabled; a later one enables the queue again
	Noticed      int       // last notice about this failure that people were sent
	Term         int64
}

// HospitalState is the state of a hospital in the notifier apart from its endpoint queues.
type HospitalState struct {
	Hospital string
	Version  int64  // last change whose events are in the ledger
	Policy   []byte // memory of the alerts to people, in its own encoding
	Term     int64
}

// ClosedRun is the record of an alert run that has ended, as lists show it. It is written once, when the run ends.
type ClosedRun struct {
	Run  AlertRun // AckBy is zero
	Term int64
}

// Order is a command in the ledger with its progress.
type Order struct {
	Command  Command
	Progress Progress
	Position int64 // ledger offset of the last event that a replay has finished
	Term     int64 // 0: the notifier has not seen it yet
}

// Verb is the action of a command.
type Verb string

// The verbs.
const (
	VerbTest    Verb = "test"    // send a ping or a sample to an endpoint or a recipient
	VerbRetry   Verb = "retry"   // send one delivery again
	VerbReplay  Verb = "replay"  // send a window of events again
	VerbAck     Verb = "ack"     // somebody acknowledged the alert
	VerbStop    Verb = "stop"    // stop a replay
	VerbReceipt Verb = "receipt" // a provider says what became of an SMS
)

// Command is a request of an administrator, a recipient or a provider to the notifier. It is an entry of the ledger.
type Command struct {
	ID       string // "cmd_" + 16 hex
	Hospital string
	Verb     Verb
	At       time.Time
	By       string // id of a key, "command line", "link" or "provider"

	Endpoint string // of a test or a replay; of a retry: the endpoint of that delivery
	Delivery string // of a retry or a receipt
	EventID  string // of a retry: the event of that delivery; of an ack: the raise that it acknowledges, "": the one that is open
	Command  string // of a stop: the id of the replay
	Episode  string // of an ack
	Event    string // of a test: "" is ping
	Channel  Channel

	Since, Until time.Time // of a replay
	Events       []string
	Only         Selection
	Receipt      State // of a receipt: Delivered or Failed
	DryRun       bool  // of a replay: it counts what it would send, and sends nothing
}

// Selection narrows a replay.
type Selection string

// The selections.
const (
	SelectFailed  Selection = "failed"
	SelectMissing Selection = "missing" // never delivered to this endpoint
	SelectAll     Selection = "all"
)
