package schemas

import (
	"time"

	"svc/acuity"
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

// EncodeWebhook appends the record of h to dst, which it returns. Instants are cut
// to the millisecond.
func EncodeWebhook(dst []byte, h *Webhook) ([]byte, error) {
	w := begin(dst, &webhookV1)
	w.text(h.ID)
	w.text(h.Hospital)
	w.text(h.URL)
	w.texts(h.Events)
	w.ints(h.Rooms)
	w.bool(h.Enabled)
	w.double(h.RatePerSecond)
	w.long(int64(h.TimeoutSeconds))
	w.texts(h.ReaderKeys)
	w.items(len(h.Secrets))
	for i := range h.Secrets {
		s := &h.Secrets[i]
		w.text(s.ID)
		w.bytes(s.Sealed)
		w.enum(uint8(s.State), lastSecretState)
		w.at(acuity.At(s.Until))
	}
	w.done()
	w.long(h.Version)
	w.at(acuity.At(h.CreatedAt))
	return w.end(&webhookV1)
}

// DecodeWebhook reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeWebhook(b []byte) (*Webhook, error) {
	r, err := open(b, &webhookV1)
	if err != nil {
		return nil, err
	}
	h := new(Webhook)
	h.ID = r.text()
	h.Hospital = r.text()
	h.URL = r.text()
	h.Events = r.texts()
	h.Rooms = r.ints()
	h.Enabled = r.bool()
	h.RatePerSecond = r.double()
	h.TimeoutSeconds = int(r.int())
	h.ReaderKeys = r.texts()
	for l := r.items(); l.next(&r); {
		h.Secrets = append(h.Secrets, Secret{
			ID: r.text(), Sealed: r.bytes(), State: outbound.SecretState(r.enum(lastSecretState)), Until: r.at().Time(),
		})
	}
	h.Version = r.long()
	h.CreatedAt = r.at().Time()
	if err := r.close(&webhookV1); err != nil {
		return nil, err
	}
	return h, nil
}
