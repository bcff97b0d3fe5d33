package subscribers

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"svc/internal/outbound"
)

// Register holds the webhooks, tiers and recipients of all hospitals. The follower of the
// settings feeds it. It is safe for concurrent use. Its values are shared, so nobody may
// change them: a new version is a new value.
type Register struct {
	mu        sync.RWMutex
	hospitals map[string]*subscribed
	onChange  []func(hospital string)
}

// subscribed holds the settings of one hospital.
type subscribed struct {
	webhooks   []*outbound.Webhook   // by id
	recipients []*outbound.Recipient // by id
	tiers      []*outbound.Tier      // by id; without the tiers that have their defaults
}

// NewRegister returns an empty register.
func NewRegister() *Register { return &Register{hospitals: map[string]*subscribed{}} }

// OnChange registers fn, to be called after each change, one call at a time. Call
// OnChange before the register is fed; fn must not block.
func (r *Register) OnChange(fn func(hospital string)) { r.onChange = append(r.onChange, fn) }

// SetWebhook stores a new or changed webhook.
func (r *Register) SetWebhook(w *outbound.Webhook) {
	r.change(w.Hospital, func(s *subscribed) { s.webhooks = put(s.webhooks, w, webhookID) })
}

// DropWebhook removes a webhook.
func (r *Register) DropWebhook(hospital, id string) {
	r.change(hospital, func(s *subscribed) { s.webhooks = drop(s.webhooks, id, webhookID) })
}

// SetRecipient stores a new or changed recipient.
func (r *Register) SetRecipient(p *outbound.Recipient) {
	r.change(p.Hospital, func(s *subscribed) { s.recipients = put(s.recipients, p, recipientID) })
}

// DropRecipient removes a recipient.
func (r *Register) DropRecipient(hospital, id string) {
	r.change(hospital, func(s *subscribed) { s.recipients = drop(s.recipients, id, recipientID) })
}

// SetTier stores the settings of a tier.
func (r *Register) SetTier(t *outbound.Tier) {
	r.change(t.Hospital, func(s *subscribed) { s.tiers = put(s.tiers, t, tierID) })
}

// DropTier removes the settings of a tier, so that it has its defaults again.
func (r *Register) DropTier(hospital, id string) {
	r.change(hospital, func(s *subscribed) { s.tiers = drop(s.tiers, id, tierID) })
}

// Webhooks returns the webhooks of a hospital, by id.
func (r *Register) Webhooks(hospital string) []*outbound.Webhook {
	return r.subscribedOf(hospital).webhooks
}

// Webhook returns one webhook of a hospital.
func (r *Register) Webhook(hospital, id string) (*outbound.Webhook, bool) {
	return find(r.subscribedOf(hospital).webhooks, id, webhookID)
}

// Recipients returns the recipients of a hospital, by id.
func (r *Register) Recipients(hospital string) []*outbound.Recipient {
	return r.subscribedOf(hospital).recipients
}

// Recipient returns one recipient of a hospital.
func (r *Register) Recipient(hospital, id string) (*outbound.Recipient, bool) {
	return find(r.subscribedOf(hospital).recipients, id, recipientID)
}

// Tiers returns the three tiers of a hospital, from calm to worst. A tier without
// settings has its defaults.
func (r *Register) Tiers(hospital string) []outbound.Tier {
	set := r.subscribedOf(hospital).tiers
	all := make([]outbound.Tier, 0, 3)
	for _, id := range outbound.TierIDs() {
		if t, found := find(set, id, tierID); found {
			all = append(all, *t)
		} else {
			all = append(all, outbound.DefaultTier(hospital, id))
		}
	}
	return all
}

func (r *Register) subscribedOf(hospital string) subscribed {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s := r.hospitals[hospital]; s != nil {
		return *s
	}
	return subscribed{}
}

func (r *Register) change(hospital string, do func(*subscribed)) {
	r.mu.Lock()
	changed := subscribed{}
	if s := r.hospitals[hospital]; s != nil {
		changed = *s
	}
	do(&changed)
	if r.hospitals[hospital] = &changed; len(changed.webhooks)+len(changed.recipients)+len(changed.tiers) == 0 {
		delete(r.hospitals, hospital)
	}
	r.mu.Unlock()
	for _, fn := range r.onChange {
		fn(hospital)
	}
}

func webhookID(w *outbound.Webhook) string     { return w.ID }
func recipientID(p *outbound.Recipient) string { return p.ID }
func tierID(t *outbound.Tier) string           { return t.ID }

// put returns a copy of a list, ascending by id, with one item added or replaced.
func put[T any](list []*T, one *T, id func(*T) string) []*T {
	list = append(drop(list, id(one), id), one)
	slices.SortFunc(list, func(a, b *T) int { return cmp.Compare(id(a), id(b)) })
	return list
}

// drop returns a copy of a list without an item.
func drop[T any](list []*T, gone string, id func(*T) string) []*T {
	return slices.DeleteFunc(slices.Clone(list), func(one *T) bool { return id(one) == gone })
}

func find[T any](list []*T, wanted string, id func(*T) string) (*T, bool) {
	at, found := slices.BinarySearchFunc(list, wanted, func(one *T, wanted string) int { return strings.Compare(id(one), wanted) })
	if !found {
		return nil, false
	}
	return list[at], true
}
