// Package subscriber defines the recipients of outgoing messages.
//
//   - A [Webhook] is a partner's endpoint, as stored in the settings.
//   - A [Tier] defines the recipients of alerts at a level; a [Recipient] is a role on duty.
package subscriber

import "time"

// Channel is a channel over which a message leaves the service.
type Channel string

// The values of [Channel].
const (
	ChannelWebhook Channel = "webhook"
	ChannelMail    Channel = "email"
	ChannelSMS     Channel = "sms"
)

// Webhook is an endpoint of a hospital's partner.
type Webhook struct {
	ID             string // "whk_" + 16 hex
	Hospital       string
	URL            string
	Events         []string
	Rooms          []int32 // rooms whose room.rescored events are sent; nil: all rooms
	Enabled        bool
	RatePerSecond  float64
	TimeoutSeconds int
	ReaderKeys     []string // ids of keys that may list the webhook's deliveries
	Secrets        []Secret // at most three, newest first
	Version        int64    // incremented by each write
	CreatedAt      time.Time
}

// SecretState is the state of a secret in a rotation.
type SecretState uint8

// The values of [SecretState]. During the overlap of a rotation, both Next and Current sign until Next is promoted.
// Afterwards, both Previous and Current sign until Previous is retired.
const (
	SecretNext SecretState = iota + 1
	SecretCurrent
	SecretPrevious
)

// Secret is one signing secret of an endpoint, in plaintext. The secret is encrypted before it is stored.
type Secret struct {
	ID    string // "sec_" + 8 hex; names the secret in lists
	Value string // whsec_ + base64 of 32 bytes, or 24-128 characters that the partner chose
	State SecretState
	Until time.Time // Next: when it is promoted; Current, Previous: when it is retired; zero: no end
}

// Tier defines who is alerted when the unit reaches a level: T1 yellow, T2 orange, T3 red.
type Tier struct {
	ID            string // T1, T2, T3
	Hospital      string
	Enabled       bool
	Recipients    []string // ids of recipients
	Channels      []Channel
	AckMinutes    int      // minutes until an unacknowledged alert escalates; 0: no acknowledgment is needed
	EscalateTo    []string // ids of recipients
	RepeatMinutes int      // 0: never
	ExpireMinutes int      // minutes until an unsent message expires
	Action        string   // the hospital's instruction, shown only in alerts
	Version       int64
}

// TierIDs returns the ids of the tiers, from the lowest to the highest level.
func TierIDs() []string { return []string{"T1", "T2", "T3"} }

// DefaultTier returns the settings that a tier has until an administrator changes them. The values are choices of
// this project, not of the specification. The tier has no recipients, so no alerts are sent. For an unknown id,
// DefaultTier returns the zero value.
func DefaultTier(hospital, id string) Tier {
	t := Tier{ID: id, Hospital: hospital, Enabled: true}
	switch id {
	case "T1":
		t.Channels, t.ExpireMinutes = []Channel{ChannelMail}, 120
	case "T2":
		t.Channels, t.AckMinutes, t.ExpireMinutes = []Channel{ChannelMail, ChannelSMS}, 10, 30
	case "T3":
		t.Channels, t.AckMinutes, t.RepeatMinutes, t.ExpireMinutes = []Channel{ChannelMail, ChannelSMS}, 5, 60, 15
	default:
		return Tier{}
	}
	return t
}

// Recipient is a role on duty, never a person by name.
type Recipient struct {
	ID        string // "rcp_" + 16 hex
	Hospital  string
	Label     string
	Email     string // encrypted at rest; "": none, or the process has no key to decrypt it
	Phone     string // E.164; encrypted in the same way as Email
	WebhookID string
	Language  string // language of messages to this recipient: en or es; "" means en

	EmailShown string // masked e-mail address, as lists show it
	PhoneShown string

	Version   int64
	CreatedAt time.Time
}
