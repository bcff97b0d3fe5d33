package policy

import (
	"slices"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// The reasons why an addressee of an alert does not get a message.
const (
	NotNotified = "not_told"   // the recipient was not notified when the alert was raised, so is not notified of its end
	NoAddress   = "no_address" // the recipient has no address for the channel
)

// Addressee is one recipient of an alert over one channel.
type Addressee struct {
	Recipient string
	Channel   subscriber.Channel
	State     outbound.State // Pending if a message is to be sent, otherwise Suppressed
	Reason    string         // why State is Suppressed
}

// Route returns the addressees of an alert: recipients in the order of the tiers, each over one or more channels.
//
//   - A raise or its repetition goes to the recipients of its tier and of lower tiers, over the channels of its tier.
//   - A digest goes to the recipients of the alerted tier and of lower tiers, and to all recipients alerted before.
//   - Lowered and Cleared go only to recipients alerted before, over the same channels. The other recipients of the
//     alerted tier and of lower tiers are returned with the state Suppressed.
//   - An escalation goes to escalateTo. If that is empty, it goes to the recipients of the next higher tier that is
//     enabled and has recipients. If there is no such tier, it goes to the same recipients again.
//
// A recipient without an address for a channel is returned with the state Suppressed. Deleted recipients are omitted.
func Route(p *Policy, h *History, d Decision, recipients func(id string) (subscriber.Recipient, bool)) []Addressee {
	var ids []string
	var tier *subscriber.Tier
	switch d.Reason {
	case Raised, Repeated:
		tier, ids = p.Tier(d.Tier), p.upTo(d.Tier)
	case Escalated:
		tier, ids = p.Tier(d.Tier), p.above(d.Tier)
	case Lowered, Cleared, Digest:
		alerted := p.highest(h.AlertedTier)
		tier, ids = p.Tier(max(alerted, 1)), p.upTo(alerted)
		for _, r := range h.Reached {
			if !slices.Contains(ids, r.Recipient) {
				ids = append(ids, r.Recipient)
			}
		}
	case Lowering, Flapping, Acknowledged, Steady: // no alert
		return nil
	}
	var all []Addressee
	for _, id := range ids {
		r, known := recipients(id)
		if !known {
			continue
		}
		for _, channel := range outboundChannels {
			lowers := d.Reason == Lowered || d.Reason == Cleared
			follows := (lowers || d.Reason == Digest) && slices.Contains(h.Reached, Reached{id, channel})
			if !follows && !slices.Contains(tier.Channels, channel) { // recipients keep the channel over which they were alerted
				continue
			}
			a := Addressee{Recipient: id, Channel: channel, State: outbound.Pending}
			switch {
			case !hasAddress(&r, channel):
				a.State, a.Reason = outbound.Suppressed, NoAddress
			case lowers && !follows:
				a.State, a.Reason = outbound.Suppressed, NotNotified
			}
			all = append(all, a)
		}
	}
	return all
}

var outboundChannels = []subscriber.Channel{subscriber.ChannelMail, subscriber.ChannelSMS, subscriber.ChannelWebhook}

// Fallback returns the channel that replaces a permanently failed one: SMS instead of e-mail. It returns false if the
// failed channel is not e-mail, if the tier already uses SMS, or if the recipient has no phone number.
func Fallback(tier *subscriber.Tier, r *subscriber.Recipient, failed subscriber.Channel) (subscriber.Channel, bool) {
	if failed != subscriber.ChannelMail || !hasAddress(r, subscriber.ChannelSMS) || slices.Contains(tier.Channels, subscriber.ChannelSMS) {
		return "", false
	}
	return subscriber.ChannelSMS, true
}

// hasAddress reports whether a recipient has an address for a channel, even if it cannot be decrypted.
func hasAddress(r *subscriber.Recipient, c subscriber.Channel) bool {
	switch c {
	case subscriber.ChannelMail:
		return r.Email+r.EmailShown != ""
	case subscriber.ChannelSMS:
		return r.Phone+r.PhoneShown != ""
	case subscriber.ChannelWebhook:
		return r.WebhookID != ""
	}
	return false
}

// upTo returns the recipients of the enabled tiers up to and including a rank, without duplicates.
func (p *Policy) upTo(r Rank) []string {
	var ids []string
	for rank := Rank(1); rank <= r; rank++ {
		if tier := p.Tier(rank); tier.Enabled {
			for _, id := range tier.Recipients {
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// above returns the recipients to whom an alert of tier r escalates.
func (p *Policy) above(r Rank) []string {
	if ids := p.Tier(r).EscalateTo; len(ids) > 0 {
		return ids
	}
	for rank := r + 1; rank <= 3; rank++ {
		if tier := p.Tier(rank); tier.Enabled && len(tier.Recipients) > 0 {
			return tier.Recipients
		}
	}
	return p.upTo(r)
}
