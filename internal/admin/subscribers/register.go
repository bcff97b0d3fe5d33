package subscribers

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"svc/internal/outbound/subscriber"
)

// Register holds the webhooks, tiers and recipients of all hospitals. The reader of the settings topic updates it. A
// Register is safe for concurrent use. Its values are shared and must not be modified; a new version of a setting is a
// new value.
type Register struct {
	mu         sync.RWMutex
	webhooks   byHospital[subscriber.Webhook]
	recipients byHospital[subscriber.Recipient]
	tiers      byHospital[subscriber.Tier] // only tiers that differ from the defaults
	onChange   []func(hospital string)
}

// byHospital holds settings of one kind by hospital and id.
type byHospital[T any] map[string]map[string]*T

// NewRegister returns an empty register.
func NewRegister() *Register {
	return &Register{
		webhooks: byHospital[subscriber.Webhook]{}, recipients: byHospital[subscriber.Recipient]{}, tiers: byHospital[subscriber.Tier]{},
	}
}

// OnChange registers fn, which is then called after each change with the id of the hospital whose settings changed. A
// register has a single writer, so calls do not overlap. fn must not block. OnChange must be called before the first
// change.
func (r *Register) OnChange(fn func(hospital string)) { r.onChange = append(r.onChange, fn) }

// SetWebhook stores a new or changed webhook.
func (r *Register) SetWebhook(w *subscriber.Webhook) { change(r, r.webhooks, w.Hospital, w.ID, w) }

// DropWebhook removes a webhook.
func (r *Register) DropWebhook(hospital, id string) { change(r, r.webhooks, hospital, id, nil) }

// SetRecipient stores a new or changed recipient.
func (r *Register) SetRecipient(p *subscriber.Recipient) {
	change(r, r.recipients, p.Hospital, p.ID, p)
}

// DropRecipient removes a recipient.
func (r *Register) DropRecipient(hospital, id string) { change(r, r.recipients, hospital, id, nil) }

// SetTier stores the settings of a tier.
func (r *Register) SetTier(t *subscriber.Tier) { change(r, r.tiers, t.Hospital, t.ID, t) }

// DropTier removes the settings of a tier, which restores its defaults.
func (r *Register) DropTier(hospital, id string) { change(r, r.tiers, hospital, id, nil) }

// change stores a setting. If setting is nil, it removes the setting with the given id.
func change[T any](r *Register, all byHospital[T], hospital, id string, setting *T) {
	r.mu.Lock()
	switch {
	case setting == nil:
		if delete(all[hospital], id); len(all[hospital]) == 0 {
			delete(all, hospital)
		}
	case all[hospital] == nil:
		all[hospital] = map[string]*T{id: setting}
	default:
		all[hospital][id] = setting
	}
	r.mu.Unlock()
	for _, fn := range r.onChange {
		fn(hospital)
	}
}

// Webhooks returns the webhooks of a hospital, sorted by id.
func (r *Register) Webhooks(hospital string) []*subscriber.Webhook {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.webhooks[hospital]), func(a, b *subscriber.Webhook) int { return strings.Compare(a.ID, b.ID) })
}

// Webhook returns a webhook of a hospital, and reports whether it exists.
func (r *Register) Webhook(hospital, id string) (*subscriber.Webhook, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	w, known := r.webhooks[hospital][id]
	return w, known
}

// Recipients returns the recipients of a hospital, sorted by id.
func (r *Register) Recipients(hospital string) []*subscriber.Recipient {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.recipients[hospital]), func(a, b *subscriber.Recipient) int { return strings.Compare(a.ID, b.ID) })
}

// Recipient returns a recipient of a hospital, and reports whether it exists.
func (r *Register) Recipient(hospital, id string) (*subscriber.Recipient, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	p, known := r.recipients[hospital][id]
	return p, known
}

// Tiers returns the three tiers of a hospital, from the lowest to the highest level. A tier without settings has the
// defaults.
func (r *Register) Tiers(hospital string) []subscriber.Tier {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]subscriber.Tier, 0, 3)
	for _, id := range subscriber.TierIDs() {
		if t, set := r.tiers[hospital][id]; set {
			all = append(all, *t)
		} else {
			all = append(all, subscriber.DefaultTier(hospital, id))
		}
	}
	return all
}
