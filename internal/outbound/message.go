package outbound

import (
	"context"
	"time"
)

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
