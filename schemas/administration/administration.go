// Package administration defines the records that administration writes, such as settings or audit events.
package administration

import (
	"time"

	"svc/internal/admin/audit"
	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/outbound/subscriber"
	"svc/schemas"
)

// The codecs of these records.
var (
	KeyCodec            = schemas.NewCodec("key", keyFields)
	HospitalCodec       = schemas.NewCodec("hospital", hospitalFields)
	InstalledKeyCodec   = schemas.NewCodec("installed-key", installedKeyFields)
	UserCodec           = schemas.NewCodec("user", userFields)
	SessionCodec        = schemas.NewCodec("session", sessionFields)
	LinkCodec           = schemas.NewCodec("link", linkFields)
	WallCodec           = schemas.NewCodec("wall", wallFields)
	LayoutCodec         = schemas.NewCodec("layout", layoutFields)
	WebhookCodec        = schemas.NewCodec("webhook", webhookFields)
	AlertTierCodec      = schemas.NewCodec("alert-tier", alertTierFields)
	AlertRecipientCodec = schemas.NewCodec("alert-recipient", alertRecipientFields)
	ActCodec            = schemas.NewCodec("audit", auditFields)
)

func keyFields(c *schemas.Coder, k *access.Key) {
	c.Text(&k.ID)
	c.Text(&k.Hospital)
	c.Text(&k.Name)
	c.Fixed(k.Hash[:])
	schemas.List(c, &k.Scopes, schemas.Word[access.Scope])
	c.When(&k.CreatedAt)
	c.When(&k.ExpiresAt)
	c.When(&k.RevokedAt)
	c.Double(&k.Rate)
	c.Number(&k.Burst)
	c.Text(&k.Source)
	c.Text(&k.Prefix)
}

func hospitalFields(c *schemas.Coder, h *access.Hospital) {
	c.Text(&h.ID)
	c.Text(&h.Name)
	c.Text(&h.Zone)
	c.When(&h.CreatedAt)
	schemas.List(c, &h.Senders, senderFields)
	c.Long(&h.Version)
}

func senderFields(c *schemas.Coder, s *access.Sender) {
	c.Text(&s.Key)
	c.Bool(&s.OriginalMode)
	c.Bool(&s.ProductionOnly)
}

// InstalledKey is the record of a key that all processes in an installation must have.
type InstalledKey struct {
	ID          string
	Fingerprint []byte
	Sealed      []byte
	Version     int64
	ChangedAt   time.Time
}

// InstalledKeys is the prefix of the record keys of InstalledKey records. No hospital can have the id "*".
const InstalledKeys = "*/installed-key/"

func installedKeyFields(c *schemas.Coder, k *InstalledKey) {
	c.Text(&k.ID)
	c.Bytes(&k.Fingerprint)
	c.Bytes(&k.Sealed)
	c.Long(&k.Version)
	c.When(&k.ChangedAt)
}

func userFields(c *schemas.Coder, u *users.User) {
	c.Text(&u.ID)
	c.Text(&u.Hospital)
	c.Text(&u.Label)
	schemas.Word(c, &u.Role)
	c.Bytes(&u.Subject)
	c.Long(&u.Epoch)
	c.Bool(&u.Disabled)
	c.When(&u.CreatedAt)
	c.When(&u.Until)
	c.When(&u.SignedInAt)
	c.Long(&u.Version)
}

func sessionFields(c *schemas.Coder, s *users.Session) {
	c.Text(&s.ID)
	c.Text(&s.Hospital)
	c.Text(&s.User)
	c.When(&s.BegunAt)
	c.When(&s.ProvedAt)
	c.When(&s.EndsAt)
	c.Text(&s.Browser)
	schemas.List(c, &s.Epochs, func(c *schemas.Coder, e *users.SessionEpoch) {
		c.Text(&e.Hospital)
		c.Long(&e.Epoch)
	})
	c.When(&s.ShownAt)
}

func linkFields(c *schemas.Coder, l *users.Link) {
	c.Fixed(l.Hash[:])
	c.Text(&l.Hospital)
	c.Text(&l.User)
	c.Text(&l.Label)
	schemas.Word(c, &l.Role)
	c.When(&l.CreatedAt)
	c.When(&l.ExpiresAt)
	c.When(&l.UsedAt)
}

func wallFields(c *schemas.Coder, w *walls.Wall) {
	c.Text(&w.ID)
	c.Text(&w.Hospital)
	c.Text(&w.Label)
	c.Fixed(w.Hash[:])
	c.When(&w.CreatedAt)
	c.When(&w.ExpiresAt)
	c.When(&w.UsedAt)
}

func layoutFields(c *schemas.Coder, l *layout.Layout) {
	c.Text(&l.Hospital)
	c.Int(&l.Columns)
	c.Int(&l.Rows)
	schemas.List(c, &l.Rooms, func(c *schemas.Coder, p *layout.Place) {
		c.Int(&p.Room)
		c.Int(&p.X)
		c.Int(&p.Y)
		c.Int(&p.W)
		c.Int(&p.H)
	})
	schemas.List(c, &l.Landmarks, func(c *schemas.Coder, m *layout.Landmark) {
		c.Text(&m.Label)
		c.Int(&m.X)
		c.Int(&m.Y)
		c.Int(&m.W)
		c.Int(&m.H)
	})
	c.Long(&l.Version)
}

// Webhook is the record of an endpoint: a [subscriber.Webhook] whose secrets are sealed, so that a reader of the
// settings topic cannot sign requests.
type Webhook struct {
	ID             string
	Hospital       string
	URL            string
	Events         []string
	Rooms          []int32
	Enabled        bool
	RatePerSecond  float64
	TimeoutSeconds int
	ReaderKeys     []string
	Secrets        []Secret
	Version        int64
	CreatedAt      time.Time
}

// Secret is the record of a [subscriber.Secret].
type Secret struct {
	ID     string
	Sealed []byte
	State  subscriber.SecretState
	Until  time.Time
}

const lastSecretState = uint8(subscriber.SecretPrevious)

func webhookFields(c *schemas.Coder, h *Webhook) {
	c.Text(&h.ID)
	c.Text(&h.Hospital)
	c.Text(&h.URL)
	schemas.List(c, &h.Events, (*schemas.Coder).Text)
	schemas.List(c, &h.Rooms, (*schemas.Coder).Int)
	c.Bool(&h.Enabled)
	c.Double(&h.RatePerSecond)
	c.Number(&h.TimeoutSeconds)
	schemas.List(c, &h.ReaderKeys, (*schemas.Coder).Text)
	schemas.List(c, &h.Secrets, secretFields)
	c.Long(&h.Version)
	c.When(&h.CreatedAt)
}

func secretFields(c *schemas.Coder, s *Secret) {
	c.Text(&s.ID)
	c.Bytes(&s.Sealed)
	schemas.Enum(c, &s.State, lastSecretState)
	c.When(&s.Until)
}

// AlertRecipient is the record of a recipient: a [subscriber.Recipient] whose e-mail address and phone number are
// sealed.
type AlertRecipient struct {
	ID         string
	Hospital   string
	Label      string
	Email      []byte
	Phone      []byte
	WebhookID  string
	EmailShown string
	PhoneShown string
	Version    int64
	CreatedAt  time.Time
	Language   string // language of the messages
}

func alertRecipientFields(c *schemas.Coder, a *AlertRecipient) {
	c.Text(&a.ID)
	c.Text(&a.Hospital)
	c.Text(&a.Label)
	c.Bytes(&a.Email)
	c.Bytes(&a.Phone)
	c.Text(&a.WebhookID)
	c.Text(&a.EmailShown)
	c.Text(&a.PhoneShown)
	c.Long(&a.Version)
	c.When(&a.CreatedAt)
	c.Text(&a.Language)
}

func alertTierFields(c *schemas.Coder, t *subscriber.Tier) {
	c.Text(&t.ID)
	c.Text(&t.Hospital)
	c.Bool(&t.Enabled)
	schemas.List(c, &t.Recipients, (*schemas.Coder).Text)
	schemas.List(c, &t.Channels, schemas.Word[subscriber.Channel])
	c.Number(&t.AckMinutes)
	schemas.List(c, &t.EscalateTo, (*schemas.Coder).Text)
	c.Number(&t.RepeatMinutes)
	c.Number(&t.ExpireMinutes)
	c.Text(&t.Action)
	c.Long(&t.Version)
}

func auditFields(c *schemas.Coder, a *audit.Act) {
	c.Text(&a.Hospital)
	c.When(&a.At)
	c.Text(&a.By)
	c.Text(&a.Action)
	c.Text(&a.Subject)
	c.Text(&a.Before)
	c.Text(&a.After)
	c.Text(&a.Reason)
}
