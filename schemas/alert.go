package schemas

import (
	"time"

	"svc/acuity"
	"svc/internal/outbound"
)

// AlertRecipient is a recipient as it is kept: an [outbound.Recipient] whose
// address and number are sealed.
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

// EncodeAlertRecipient appends the record of a to dst, which it returns. Instants
// are cut to the millisecond.
func EncodeAlertRecipient(dst []byte, a *AlertRecipient) ([]byte, error) {
	w := begin(dst, &alertRecipientV1)
	w.text(a.ID)
	w.text(a.Hospital)
	w.text(a.Label)
	w.bytes(a.Email)
	w.bytes(a.Phone)
	w.text(a.WebhookID)
	w.text(a.EmailShown)
	w.text(a.PhoneShown)
	w.long(a.Version)
	w.at(acuity.At(a.CreatedAt))
	return w.end(&alertRecipientV1)
}

// DecodeAlertRecipient reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeAlertRecipient(b []byte) (*AlertRecipient, error) {
	r, err := open(b, &alertRecipientV1)
	if err != nil {
		return nil, err
	}
	a := new(AlertRecipient)
	a.ID = r.text()
	a.Hospital = r.text()
	a.Label = r.text()
	a.Email = r.bytes()
	a.Phone = r.bytes()
	a.WebhookID = r.text()
	a.EmailShown = r.text()
	a.PhoneShown = r.text()
	a.Version = r.long()
	a.CreatedAt = r.at().Time()
	if err := r.close(&alertRecipientV1); err != nil {
		return nil, err
	}
	return a, nil
}

// EncodeAlertTier appends the record of t to dst, which it returns.
func EncodeAlertTier(dst []byte, t *outbound.Tier) ([]byte, error) {
	w := begin(dst, &alertTierV1)
	w.text(t.ID)
	w.text(t.Hospital)
	w.bool(t.Enabled)
	w.texts(t.Recipients)
	w.items(len(t.Channels))
	for _, channel := range t.Channels {
		w.text(string(channel))
	}
	w.done()
	w.long(int64(t.AckMinutes))
	w.texts(t.EscalateTo)
	w.long(int64(t.RepeatMinutes))
	w.long(int64(t.ExpireMinutes))
	w.text(t.Action)
	w.long(t.Version)
	return w.end(&alertTierV1)
}

// DecodeAlertTier reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeAlertTier(b []byte) (*outbound.Tier, error) {
	r, err := open(b, &alertTierV1)
	if err != nil {
		return nil, err
	}
	t := new(outbound.Tier)
	t.ID = r.text()
	t.Hospital = r.text()
	t.Enabled = r.bool()
	t.Recipients = r.texts()
	for l := r.items(); l.next(&r); {
		t.Channels = append(t.Channels, outbound.Channel(r.text()))
	}
	t.AckMinutes = int(r.int())
	t.EscalateTo = r.texts()
	t.RepeatMinutes = int(r.int())
	t.ExpireMinutes = int(r.int())
	t.Action = r.text()
	t.Version = r.long()
	if err := r.close(&alertTierV1); err != nil {
		return nil, err
	}
	return t, nil
}
