// Package outbound defines the vocabulary of outgoing messages. The notifier, the codecs, and the roles that write
// settings or list deliveries share these types. The package has no behavior except checks.
//
//   - A [Delivery] is the delivery of one event to one endpoint, with its attempts.
//   - A [Command] is a request to the notifier, for example from an administrator.
//
// Times are UTC with milliseconds.
package outbound

import (
	"time"

	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// The events that partners may subscribe to. A new webhook subscribes to the first two.
const (
	LevelChanged = "surge.level_changed"
	RoomRescored = "room.rescored"
	Alert        = "surge.alert"
	Ping         = "ping" // sent to test an endpoint
)

// MaxBody is the maximum size of an event in bytes.
const MaxBody = 64 << 10

// State is the state of a delivery.
type State string

// The values of [State]. All but Pending are final.
const (
	Pending    State = "pending"
	Delivered  State = "delivered"
	Rejected   State = "rejected" // the endpoint responded with 400, 409, 413, 415 or 422 three times
	Expired    State = "expired"
	Poison     State = "poison" // the endpoint answered every attempt with 5xx, but accepted the next event
	Cancelled  State = "cancelled"
	Failed     State = "failed"
	Suppressed State = "suppressed"
	Superseded State = "superseded" // a newer alert replaced the delivery
)

// Delivery is the delivery of one event to one endpoint over one channel.
type Delivery struct {
	ID            string // "dlv_" + 32 hex
	Hospital      string
	EventID       string // "evt_" + 32 hex
	Event         string
	Channel       subscriber.Channel
	EndpointID    string // id of a webhook or a recipient
	State         State
	Reason        string // stable code; empty if Delivered
	OccurredAt    time.Time
	NextAttemptAt time.Time         // zero: none
	Attempts      []sending.Attempt // oldest first; at most the last [sending.MaxAttemptsKept]
}

// The default settings of an endpoint.
const (
	DefaultRate    = 50 // deliveries per second
	DefaultTimeout = 10 // seconds, for a whole attempt
)
