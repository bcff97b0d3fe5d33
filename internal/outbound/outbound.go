// Package outbound defines the vocabulary of outgoing messages: recipients, contents, results. The roles that write
// settings or read lists share these types with the notifier and the codecs. The package has no behavior except checks.
//
//   - A [Webhook] is a partner's endpoint, as an entry in the settings.
//   - A [Tier] defines the recipients of alerts at a level; a [Recipient] is a role on duty.
//   - A [Delivery] is the delivery of one event to one endpoint, with its attempts.
//   - A [Command] is a request to the notifier, for example from an administrator.
//
// Times are UTC with milliseconds.
package outbound

import (
	"context"
	"time"
)

// The events that partners may subscribe to. A new webhook subscribes to the first two.
const (
	LevelChanged = "surge.level_changed"
	RoomRescored = "room.rescored"
	Alert        = "surge.alert"
	Ping         = "ping" // sent to test an endpoint
)

const (
	// MaxBody is the maximum size of an event in bytes.
	MaxBody = 64 << 10
	// MaxAttemptsKept is the maximum number of attempts that a delivery lists.
	MaxAttemptsKept = 20
)

// Channel is a channel over which a message leaves the service.
type Channel string

// The values of [Channel].
const (
	ChannelWebhook Channel = "webhook"
	ChannelMail    Channel = "email"
	ChannelSMS     Channel = "sms"
)

// State is the state of a delivery.
type State string

// The values of [State]. All but Pending are final.
const (
	Pending    State = "pending"
	Delivered  State = "delivered"
	Rejected   State = "rejected" // the endpoint responded 400, 409, 413, 415 or 422 three times
	Expired    State = "expired"
	Poison     State = "poison" // the endpoint accepts other events but never this one
	Cancelled  State = "cancelled"
	Failed     State = "failed"
	Suppressed State = "suppressed"
	Superseded State = "superseded" // a newer alert replaced the delivery
)

// Class is the kind of outcome of an attempt.
type Class string

// The values of [Class].
const (
	ClassOK          Class = "ok"
	ClassStatus      Class = "status" // an HTTP status other than success
	ClassThrottled   Class = "throttled"
	ClassGone        Class = "gone"
	ClassRedirect    Class = "redirect"
	ClassDNS         Class = "dns"
	ClassRefused     Class = "refused"
	ClassReset       Class = "reset"
	ClassTimeout     Class = "timeout"
	ClassTLS         Class = "tls"
	ClassBlocked     Class = "blocked"     // blocked by the egress guard before anything was sent
	ClassSealed      Class = "sealed"      // an address, a secret or the text cannot be decrypted; nothing was sent
	ClassInterrupted Class = "interrupted" // interrupted by the shutdown of this process; does not count as an attempt
)

// Delivery is the delivery of one event to one endpoint over one channel.
type Delivery struct {
	ID            string // "dlv_" + 32 hex
	Hospital      string
	EventID       string // "evt_" + 32 hex
	Event         string
	Channel       Channel
	EndpointID    string // id of a webhook or a recipient
	State         State
	Reason        string // stable code; empty if Delivered
	OccurredAt    time.Time
	NextAttemptAt time.Time // zero: none
	Attempts      []Attempt // oldest first, the last [MaxAttemptsKept]
}

// Attempt is one attempt at a delivery.
type Attempt struct {
	N        int // from 1
	At       time.Time
	Took     time.Duration
	Class    Class
	Status   int    // HTTP or SMTP status; 0: no response
	Response string // start of the response; for administrators only
}

// Message is the input of a channel for one attempt of a delivery.
type Message struct {
	Hospital   string
	DeliveryID string
	EventID    string
	Event      string
	Attempt    int       // from 1
	Expires    time.Time // when the message expires; zero: never

	Traceparent string // trace of the request that caused the message, or "" if it is not traced; not sent to the recipient

	Webhook *Webhook // for ChannelWebhook
	Body    []byte   // for ChannelWebhook: the same bytes at every attempt

	To      string // for mail and SMS: address or E.164 number
	Subject string // for mail
	Text    string // for mail and SMS
	HTML    string // for mail
}

// Result is the outcome of an attempt. The zero value means that there is no outcome.
type Result struct {
	Class      Class
	Status     int           // HTTP or SMTP status; 0: no response
	RetryAfter time.Duration // requested by the endpoint; 0: none
	Final      bool          // whether a retry is useless, as after a 410, an SMTP 550 or an SMS 4xx
	Took       time.Duration // from the first byte sent to the outcome
	Response   string        // start of the response, one line
}

// Sender is a channel. Send makes one attempt, and returns no later than the end of the context. Between attempts, a
// Sender does not keep state that a restart would lose.
type Sender interface {
	Send(ctx context.Context, m Message) Result
}
