// Package outbound defines the vocabulary of outgoing messages: recipients, contents, results. The roles that write
// settings or read lists share it with the notifier and the codecs. It has no behavior except checks.
//
//   - A [Webhook] is an endpoint of a partner, an entry of the settings.
//   - A [Tier] defines the recipients of alerts at a level, a [Recipient] is a role on duty.
//   - A [Delivery] is the delivery of one event to one endpoint, with its attempts.
//   - A [Command] is a request of an administrator to the notifier.
//
// Times are UTC with milliseconds.
package outbound

import (
	"context"
	"time"
)

// Events that partners may subscribe to. The first two are the default.
const (
	LevelChanged = "surge.level_changed"
	RoomRescored = "room.rescored"
	Alert        = "surge.alert"
	Ping         = "ping" // sent by a test
)

const (
	// MaxBody is how many bytes an event may have.
	MaxBody = 64 << 10
	// MaxAttemptsKept is how many attempts of a delivery lists show.
	MaxAttemptsKept = 20
)

// Channel is a channel over which a message leaves the service.
type Channel string

// The channels.
const (
	ChannelWebhook Channel = "webhook"
	ChannelMail    Channel = "email"
	ChannelSMS     Channel = "sms"
)

// State is the state of a delivery.
type State string

// The states. All but Pending are final.
const (
	Pending    State = "pending"
	Delivered  State = "delivered"
	Rejected   State = "rejected" // 400, 409, 413, 415, 422 three times
	Expired    State = "expired"
	Poison     State = "poison" // the endpoint accepts other events but never this one
	Cancelled  State = "cancelled"
	Failed     State = "failed"
	Suppressed State = "suppressed"
	Superseded State = "superseded" // a newer alert replaced it
)

// Class is the outcome of an attempt.
type Class string

// The classes.
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
	ClassBlocked     Class = "blocked"     // by the egress guard, before anything was sent
	ClassSealed      Class = "sealed"      // an address, a secret or the text does not decrypt; nothing was sent
	ClassInterrupted Class = "interrupted" // by the shutdown of this process; does not count as an attempt
)

// Delivery is the delivery of one event to one endpoint over one channel.
type Delivery struct {
	ID            string // "dlv_" + 32 hex
	Hospital      string
	EventID       string // "evt_" + 32 hex
	Event         string
	Channel       Channel
	EndpointID    string // of a webhook or a recipient
	State         State
	Reason        string // stable code; empty if Delivered
	OccurredAt    time.Time
	NextAttemptAt time.Time // zero: none
	Attempts      []Attempt // oldest first, the last [MaxAttemptsKept]
}

// Attempt is one try of a delivery.
type Attempt struct {
	N        int // from 1
	At       time.Time
	Took     time.Duration
	Class    Class
	Status   int    // of HTTP or SMTP; 0: no answer
	Response string // start of the answer; for administrators only
}

// Message is one attempt of a delivery, as it is given to a channel.
type Message struct {
	Hospital   string
	DeliveryID string
	EventID    string
	Event      string
	Attempt    int       // from 1
	Expires    time.Time // when the message becomes useless; zero: never

	Webhook *Webhook // of ChannelWebhook
	Body    []byte   // of ChannelWebhook: the same bytes at every attempt

	To      string // of mail and SMS: address or E.164 number
	Subject string // of mail
	Text    string // of mail and SMS
	HTML    string // of mail
}

// Result is the outcome of an attempt. The zero value is no outcome.
type Result struct {
	Class      Class
	Status     int           // of HTTP or SMTP; 0: no answer
	RetryAfter time.Duration // wait that the other side asked for; 0: none
	Final      bool          // no retry can help: a 410, an SMTP 550, an SMS 4xx
	Took       time.Duration // from the first byte sent to the outcome
	Response   string        // start of the answer, one line
}

// Sender is a channel. Send makes one attempt and ends with the context at the
// latest. A Sender keeps nothing between attempts that a restart would miss.
type Sender interface {
	Send(ctx context.Context, m Message) Result
}
