package outbound

import "time"

// Verb is the action that a command asks for.
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

// Command is what an administrator, a recipient or a provider asked the notifier to
// do. It travels in the ledger.
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

// Progress is how far a command has come.
type Progress struct {
	ID        string
	Hospital  string
	Verb      Verb
	Done      bool
	Stopped   bool
	Reason    string // stable code of a command that could not be done
	Count     int    // deliveries asked for
	Delivered int
	Failed    int
	Delivery  string // the delivery that a test or a retry made
	UpdatedAt time.Time
}

// Query selects deliveries, newest first.
type Query struct {
	Hospital string
	Endpoint string // "": all
	Channel  Channel
	State    State
	Event    string
	Since    time.Time
	Until    time.Time
	Limit    int
	Cursor   string
}

// Page is one page of deliveries.
type Page struct {
	Items []Delivery
	Next  string // "": none
}

// Health is the state of an endpoint, as lists show it.
type Health struct {
	Status       string // "active", "failing" or "disabled"
	Reason       string
	FailingSince time.Time
	Waiting      int
}
