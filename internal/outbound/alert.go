package outbound

import "time"

// Channel is a way in which something leaves.
type Channel string

// The channels.
const (
	ChannelWebhook Channel = "webhook"
	ChannelMail    Channel = "email"
	ChannelSMS     Channel = "sms"
)

// Tier says who is told when the unit reaches a level: T1 yellow, T2 orange, T3 red.
type Tier struct {
	ID            string // T1, T2, T3
	Hospital      string
	Enabled       bool
	Recipients    []string // ids
	Channels      []Channel
	AckMinutes    int      // until an unanswered alert escalates; 0: needs no acknowledgement
	EscalateTo    []string // ids of recipients
	RepeatMinutes int      // 0: never
	ExpireMinutes int      // a message that could not be sent so long is not sent any more
	Action        string   // what the hospital wants done, in its words; in alerts only
	Version       int64
}

// Recipient is a role on duty, never a person by name.
type Recipient struct {
	ID        string // "rcp_" + 16 hex
	Hospital  string
	Label     string
	Email     string // sealed at rest, masked in lists
	Phone     string // E.164; sealed at rest, masked in lists
	WebhookID string
	Version   int64
	CreatedAt time.Time
}
