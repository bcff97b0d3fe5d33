package administration

import (
	"time"

	"svc/internal/outbound"
	"svc/schemas"
)

// The codecs of endpoints, tiers and recipients.
var (
	WebhookCodec        = schemas.NewCodec("webhook", webhookFields)
	AlertTierCodec      = schemas.NewCodec("alert-tier", alertTierFields)
	AlertRecipientCodec = schemas.NewCodec("alert-recipient", alertRecipientFields)
)

// Webhook is the record of an endpoint: an [outbound.Webhook] whose secrets are sealed, so a
// reader of the settings topic cannot sign.
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

// Secret is the record of an [outbound.Secret].
type Secret struct {
	ID     string
	Sealed []byte
	State  outbound.SecretState
	Until  time.Time
}

const lastSecretState = uint8(outbound.SecretPrevious)

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

// AlertRecipient is the record of a recipient: an [outbound.Recipient] whose address and number
// are sealed.
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
}

func alertTierFields(c *schemas.Coder, t *outbound.Tier) {
	c.Text(&t.ID)
	c.Text(&t.Hospital)
	c.Bool(&t.Enabled)
	schemas.List(c, &t.Recipients, (*schemas.Coder).Text)
	schemas.List(c, &t.Channels, schemas.Word[outbound.Channel])
	c.Number(&t.AckMinutes)
	schemas.List(c, &t.EscalateTo, (*schemas.Coder).Text)
	c.Number(&t.RepeatMinutes)
	c.Number(&t.ExpireMinutes)
	c.Text(&t.Action)
	c.Long(&t.Version)
}
