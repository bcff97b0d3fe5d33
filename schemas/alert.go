package schemas

import (
	"time"

	"svc/internal/outbound"
)

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

func alertRecipientFields(c *coder, a *AlertRecipient) {
	c.text(&a.ID)
	c.text(&a.Hospital)
	c.text(&a.Label)
	c.bytes(&a.Email)
	c.bytes(&a.Phone)
	c.text(&a.WebhookID)
	c.text(&a.EmailShown)
	c.text(&a.PhoneShown)
	c.long(&a.Version)
	c.when(&a.CreatedAt)
}

func alertTierFields(c *coder, t *outbound.Tier) {
	c.text(&t.ID)
	c.text(&t.Hospital)
	c.bool(&t.Enabled)
	list(c, &t.Recipients, (*coder).text)
	list(c, &t.Channels, word[outbound.Channel])
	c.number(&t.AckMinutes)
	list(c, &t.EscalateTo, (*coder).text)
	c.number(&t.RepeatMinutes)
	c.number(&t.ExpireMinutes)
	c.text(&t.Action)
	c.long(&t.Version)
}
