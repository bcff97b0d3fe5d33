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

// TierIDs are the tiers, from calm to worst.
func TierIDs() []string { return []string{"T1", "T2", "T3"} }

// DefaultTier is a tier as it is until an administrator sets it; our defaults.
// Without recipients nobody is told. An unknown id has the zero value.
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

// Episode is one time in which a unit was not green, as people were told.
type Episode struct {
	ID       string
	Hospital string
	Tier     string // told last
	Level    string // of the unit now, or when it was closed
	OpenedAt time.Time
	ClosedAt time.Time // zero: open
	ToldAt   time.Time // when people were told last
	Reason   string    // why then
	Round    int       // of escalation
	AckBy    time.Time // until when somebody must have taken it; zero: nobody need
	AckedAt  time.Time // zero: nobody has
	AckedBy  string
	Alert    string // "evt_" + 32 hex: the raise that an answer is asked for
	// Unreached says that no message of the last alert has arrived, or can any more.
	Unreached bool
}

// AckLink is what the link in an alert stands for.
type AckLink struct {
	Hospital string
	Episode  string
	Alert    string    // the raise that it answers; "": whichever is open
	Until    time.Time // it leads nowhere from then on
}

// Recipient is a role on duty, never a person by name.
type Recipient struct {
	ID        string // "rcp_" + 16 hex
	Hospital  string
	Label     string
	Email     string // sealed at rest; "" also where the process has no key to open it
	Phone     string // E.164; as Email
	WebhookID string

	EmailShown string // masked, as lists show it
	PhoneShown string

	Version   int64
	CreatedAt time.Time
}
