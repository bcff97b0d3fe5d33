package outbound

import "time"

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

// AlertRun is one period in which a unit was not green, as people were alerted.
type AlertRun struct {
	ID       string
	Hospital string
	Tier     string // of the last alert
	Level    string // of the unit now, or when the run was closed
	OpenedAt time.Time
	ClosedAt time.Time // zero: open
	ToldAt   time.Time // of the last alert
	Reason   string    // of the last alert
	Round    int       // of escalation
	AckBy    time.Time // deadline for an acknowledgement; zero: none is needed
	AckedAt  time.Time // zero: not acknowledged
	AckedBy  string
	Alert    string // "evt_" + 32 hex: the raise that waits for an acknowledgement
	// Unreached means that no message of the last alert has arrived or may still arrive.
	Unreached bool
}

// AckLink is the target of the link in an alert.
type AckLink struct {
	Hospital string
	Episode  string
	Alert    string    // the raise that it acknowledges; "": the one that is open
	Until    time.Time // when the link expires
}
