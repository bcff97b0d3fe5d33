package outbound

import (
	"context"
	"strings"
	"time"
	"unicode"
)

// Message is one attempt of a delivery as a channel is given it.
type Message struct {
	Hospital   string
	DeliveryID string
	EventID    string
	Event      string
	Attempt    int       // from 1
	Expires    time.Time // after it the message is of no use; zero: never

	Webhook *Webhook // of ChannelWebhook
	Body    []byte   // of ChannelWebhook: the same bytes at every attempt

	To      string // of mail and SMS: address or E.164 number
	Subject string // of mail
	Text    string // of mail and SMS
	HTML    string // of mail
}

// Result is how an attempt ended. Its zero value is no result.
type Result struct {
	Class      Class
	Status     int           // HTTP or SMTP; 0: none came
	RetryAfter time.Duration // what the other side asked for; 0: nothing
	Final      bool          // no retry can help: a 410, an SMTP 550, an SMS 4xx
	Took       time.Duration // from the first byte out to the verdict
	Response   string        // at most [MaxResponseKept] characters of the answer
}

// Sender is a channel: one attempt, at most as long as the context allows. It
// keeps nothing between attempts that a restart would miss.
type Sender interface {
	Send(ctx context.Context, m Message) Result
}

// Keep returns what is kept of an answer: one line, at most [MaxResponseKept]
// characters, without the address or number that the message went to, which
// servers like to repeat.
func Keep(answer, to string) string {
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
