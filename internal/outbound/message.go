package outbound

import (
	"context"
	"strings"
	"time"
	"unicode"
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
	Response   string        // at most [MaxResponseKept] characters of the answer
}

// Sender is a channel. Send makes one attempt and ends with the context at the
// latest. A Sender keeps nothing between attempts that a restart would miss.
type Sender interface {
	Send(ctx context.Context, m Message) Result
}

// CleanResponse returns the part of an answer that is stored: one line of at most
// [MaxResponseKept] characters. It blanks the address or number of the recipient,
// because servers like to repeat it.
func CleanResponse(answer, to string) string {
	if to != "" {
		answer = strings.ReplaceAll(answer, to, "(recipient)")
	}
	var kept strings.Builder
	n := 0
	for _, c := range strings.ToValidUTF8(answer, "?") {
		if unicode.IsControl(c) {
			c = ' '
		}
		if n++; n > MaxResponseKept {
			break
		}
		kept.WriteRune(c)
	}
	return strings.TrimSpace(kept.String())
}
