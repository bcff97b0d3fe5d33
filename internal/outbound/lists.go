package outbound

import "time"

// Progress is the state of a command.
type Progress struct {
	ID        string
	Hospital  string
	Verb      Verb
	Done      bool
	Stopped   bool
	Reason    string // stable code for why the command failed
	Count     int    // number of requested deliveries
	Delivered int
	Failed    int
	Delivery  string // delivery that a test or a retry created
	UpdatedAt time.Time
}

// Health is the state of an endpoint, as lists show it.
type Health struct {
	Status       string // "active", "failing" or "disabled"
	Reason       string
	FailingSince time.Time
	Waiting      int
}

// AlertRun is a period during which a unit was not green, with the alerts sent to people in that period.
type AlertRun struct {
	ID       string
	Hospital string
	Tier     string // tier of the last alert in this run
	Level    string // current level of the unit, or its level when the run was closed
	OpenedAt time.Time
	ClosedAt time.Time // zero: open
	ToldAt   time.Time // when the last alert was sent or, if the run is closed, when it was closed
	Reason   string    // reason of the last alert
	Round    int       // round of escalation
	AckBy    time.Time // deadline for an acknowledgment; zero: none is needed
	AckedAt  time.Time // zero: not acknowledged
	AckedBy  string
	Alert    string // "evt_" + 32 hex: the alert that needs an acknowledgment
	// Unreached means that all messages of the last alert have failed, or that the alert that needs an acknowledgment
	// had no recipient and no later message of this run has arrived or may still arrive.
	Unreached bool
}

// AckLink is the target of the link in an alert.
type AckLink struct {
	Hospital string
	Episode  string
	Alert    string    // the alert to acknowledge; "": the open alert
	Until    time.Time // when the link expires
}
