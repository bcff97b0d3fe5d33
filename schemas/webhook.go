package schemas

import (
	"time"

	"svc/internal/outbound"
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

func webhookFields(c *coder, h *Webhook) {
	c.text(&h.ID)
	c.text(&h.Hospital)
	c.text(&h.URL)
	list(c, &h.Events, (*coder).text)
	list(c, &h.Rooms, (*coder).int)
	c.bool(&h.Enabled)
	c.double(&h.RatePerSecond)
	c.number(&h.TimeoutSeconds)
	list(c, &h.ReaderKeys, (*coder).text)
	list(c, &h.Secrets, secretFields)
	c.long(&h.Version)
	c.when(&h.CreatedAt)
}

func secretFields(c *coder, s *Secret) {
	c.text(&s.ID)
	c.bytes(&s.Sealed)
	enum(c, &s.State, lastSecretState)
	c.when(&s.Until)
}
