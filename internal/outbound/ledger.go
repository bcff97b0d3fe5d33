package outbound

import "time"

// The ledger is the memory of the notifier, a log beside the verdicts. Its
// entries are these; the last one of a key holds, with two rules: an entry that
// is final beats an open one, and one of an earlier term never overrides one of
// a later term. A term is one ownership of a partition; each take-over begins
// the next.

// Event is one event as it leaves: made once, the same bytes to every endpoint
// at every attempt.
type Event struct {
	ID         string // "evt_" + 32 hex
	Hospital   string
	Event      string
	Version    int64 // of the change it tells of; 0: of none
	Source     int64 // offset of that change on the verdicts; -1: of none
	RoomID     int32 // of room.rescored; -1: none
	OccurredAt time.Time
	Only       []string // endpoints it is meant for; nil: all who asked for such events
	Command    string   // of a test: the command, and no lane takes it by itself
	Body       []byte
	Term       int64
}

// Entry is a delivery in the ledger.
type Entry struct {
	Delivery Delivery
	Position int64     // of its event in the ledger; -1: it has none there
	Command  string    // that asked for it; "": none
	Expires  time.Time // of mail and SMS; zero: never
	Sealed   []byte    // what mail and SMS say, encrypted
	Term     int64
}

// Lane is where an endpoint stands.
type Lane struct {
	Hospital     string
	Endpoint     string
	Cursor       int64     // ledger offset up to which no event waits here
	NextAt       time.Time // no attempt before
	FailingSince time.Time // zero: the last attempt was accepted
	Failures     int       // attempts in a row without success
	Disabled     string    // reason: gone or failing; "": it is not
	Version      int64     // of the settings that were disabled; later ones enable it again
	Noticed      int       // notices about this failure that people were sent
	Term         int64
}

// Unit is what the notifier knows of a hospital beside its lanes.
type Unit struct {
	Hospital string
	Version  int64  // of the last change whose events are in the ledger
	Policy   []byte // what alerts to people remember, in their own encoding
	Term     int64
}

// Order is a command in the ledger with how far it is.
type Order struct {
	Command  Command
	Progress Progress
	Position int64 // of the last event that a replay is done with
	Term     int64 // 0: the notifier has not seen it yet
}
