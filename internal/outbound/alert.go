package outbound

import "time"

// Channel is a way by which a message leaves the service.
type Channel string

// The channels.
const (
	ChannelWebhook Channel = "webhook"
	ChannelMail    Channel = "email"
	ChannelSMS     Channel = "sms"
)

// Tier says who is alerted when the unit reaches a level: T1 yellow, T2 orange, T3
// red.
type Tier struct {
	ID            string // T1, T2, T3
	Hospital      string
	Enabled       bool
	Recipients    []string // ids
	Channels      []Channel
	AckMinutes    int      // until an unanswered alert escalates; 0: needs no acknowledgement
	EscalateTo    []string // ids of recipients
	RepeatMinutes int      // 0: never
	ExpireMinutes int      // an unsent message is given up after so long
	Action        string   // instruction of the hospital, in its words; only alerts show it
	Version       int64
}

// TierIDs returns the ids of the tiers, from the lowest to the highest level.
func TierIDs() []string { return []string{"T1", "T2", "T3"} }

// DefaultTier returns the settings of a tier before an administrator changes them;
// they are our defaults. It has no recipients, so nobody is alerted. An unknown id
// gives the zero value.
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

// AlertRun is one period in which a unit was not green, as people were alerted.
type AlertRun struct {
	ID       string
	Hospital string
	Tier     string // of the last alert
	Level    string // of the unit now, or when the run was closed
	OpenedAt time.Time
	ClosedAt time.Time // zero: open
	ToldAt   time.Time // of the last alert
	Reason   string    // of the last alert
	Round    int       // of escalation
	AckBy    time.Time // deadline for an acknowledgement; zero: none is needed
	AckedAt  time.Time // zero: not acknowledged
	AckedBy  string
	Alert    string // "evt_" + 32 hex: the raise that waits for an acknowledgement
	// Unreached says that no message of the last alert has arrived or still can.
	Unreached bool
}

// AckLink is the target of the link in an alert.
type AckLink struct {
	Hospital string
	Episode  string
	Alert    string    // the raise that it acknowledges; "": the one that is open
	Until    time.Time // when the link expires
}

// Recipient is a role on duty, never a person by name.
type Recipient struct {
	ID        string // "rcp_" + 16 hex
	Hospital  string
	Label     string
	Email     string // sealed at rest; "": there is none, or the process has no key to open it
	Phone     string // E.164; sealed like Email
	WebhookID string

	EmailShown string // masked, as lists show it
	PhoneShown string

	Version   int64
	CreatedAt time.Time
}
