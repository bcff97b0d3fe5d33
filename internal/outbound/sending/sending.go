// Package sending defines the types for an attempt to send a message.
package sending

import (
	"context"
	"time"

	"svc/internal/outbound/subscriber"
)

// MaxAttemptsKept is the maximum number of attempts that a delivery lists.
const MaxAttemptsKept = 20

// Class classifies the outcome of an attempt.
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

// Attempt is one attempt at a delivery.
type Attempt struct {
	N        int // from 1
	At       time.Time
	Took     time.Duration
	Class    Class
	Status   int    // HTTP or SMTP status; 0: no response
	Response string // start of the response, or a code for why there is none; for administrators only
}

// Message is the input of a channel for one attempt of a delivery.
type Message struct {
	Hospital   string
	DeliveryID string
	EventID    string
	Event      string
	Attempt    int       // from 1
	Expires    time.Time // when the message expires; zero: never
	// Since is when the message was written or, if a command sends it again, when the command was given. No earlier
	// attempt concerns this message. Zero: unknown.
	Since time.Time

	Traceparent string // trace of the request that caused the message, or "" if it is not traced; not sent to the recipient

	Webhook *subscriber.Webhook // for ChannelWebhook
	Body    []byte              // for ChannelWebhook: the same bytes at every attempt

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
	Took       time.Duration // from the start of the attempt to its outcome
	Response   string        // start of the response on one line, or a code for why there is none
}

// Sender sends messages over one channel. Send makes one attempt, and returns no later than when ctx ends. Between
// attempts, a Sender does not keep state that a restart would lose.
type Sender interface {
	Send(ctx context.Context, m Message) Result
}
