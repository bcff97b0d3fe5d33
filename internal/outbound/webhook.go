package outbound

import "time"

// Events that partners may subscribe to. The first two are the default.
const (
	LevelChanged = "surge.level_changed"
	RoomRescored = "room.rescored"
	Alert        = "surge.alert"
	Ping         = "ping" // sent by a test
)

// The bounds of an endpoint's settings and of its lists.
const (
	MaxWebhooks       = 50 // per hospital
	DefaultRate       = 50 // deliveries per second
	DefaultTimeout    = 10 // seconds for a whole attempt
	LeastSecret       = 24 // characters of a secret that the partner chose
	MostSecret        = 128
	MaxBody           = 64 << 10 // bytes of an event
	MaxAttemptsKept   = 20       // attempts of a delivery that lists show
	RecentPerEndpoint = 10_000   // deliveries that lists show
)

// Webhook is one endpoint of a hospital's partner.
type Webhook struct {
	ID             string // "whk_" + 16 hex
	Hospital       string
	URL            string
	Events         []string
	Rooms          []int32 // filter of room.rescored; nil: all rooms
	Enabled        bool
	RatePerSecond  float64
	TimeoutSeconds int
	ReaderKeys     []string // ids of keys that may list its deliveries
	Secrets        []Secret // at most three, newest first
	Version        int64    // + 1 each write
	CreatedAt      time.Time
}

// SecretState is where a secret is in its rotation.
type SecretState uint8

// The states. During the overlap of a rotation Next signs beside Current until it is
// promoted. Afterwards Previous signs beside Current until it is retired.
const (
	SecretNext SecretState = iota + 1
	SecretCurrent
	SecretPrevious
)

// Secret is one signing secret of an endpoint, in the clear. It is sealed before it
// is written anywhere.
type Secret struct {
	ID    string // "sec_" + 8 hex; names it in lists
	Value string // whsec_ + base64 of 32 bytes, or 24-128 characters of the partner's own
	State SecretState
	Until time.Time // Next: when it is promoted; Previous: when it is retired; zero: no end
}
