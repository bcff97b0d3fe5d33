package people

import (
	"cmp"
	"slices"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/alert"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// undelivered is the reason that is counted when a recipient's webhook has not accepted an alert in time. No alert is
// sent for it.
const undelivered = "undelivered"

// addEvents creates the surge.alert event for the webhooks that subscribe to it, and a second event for recipients'
// webhooks that do not subscribe to it. It remembers the deliveries to the recipients' webhooks.
func (s *step) addEvents(a *alert.Alert, decision int64, to []policy.Addressee, tier *subscriber.Tier) {
	all, err := a.Event(s.hospital, decision, "")
	if err != nil {
		return
	}
	only, err := a.Event(s.hospital, decision, "recipients")
	if err != nil {
		return
	}
	for _, one := range to {
		if one.Channel != subscriber.ChannelWebhook || one.Reason == policy.NotNotified {
			continue
		}
		r, _ := s.recipient(one.Recipient)
		hook, known := s.alerting.config.Settings.Webhook(s.hospital, r.WebhookID)
		id := all.ID
		if known && one.State == outbound.Pending && !slices.Contains(hook.Events, outbound.Alert) {
			id = only.ID
			only.Only = append(only.Only, hook.ID)
		}
		d := &sent{
			Delivery: event.DeliveryID(id, r.WebhookID, one.Channel), Event: s.memory.Alert.Event, Decision: decision,
			Recipient: one.Recipient, Channel: one.Channel, State: one.State, At: s.now, Until: s.now.Add(expires(tier)),
			Tier: s.memory.Alert.Tier,
		}
		if one.State == outbound.Pending && s.memory.find(d.Delivery) != nil { // another recipient has the same webhook
			continue
		}
		if one.State == outbound.Pending && (!known || !hook.Enabled || slices.Contains(s.paused, hook.ID)) {
			s.endWebhook(d, outbound.Failed)
		}
		s.memory.add(d)
	}
	s.out.Events = append(s.out.Events, all)
	if slices.Sort(only.Only); len(only.Only) > 0 {
		only.Only = slices.Compact(only.Only)
		s.out.Events = append(s.out.Events, only)
	}
}

// endWebhook applies the final state of an alert to a recipient's webhook. A retry may deliver the alert later. An alert
// that the webhook has accepted stays accepted, even if the webhook does not accept it again.
func (s *step) endWebhook(one *sent, state outbound.State) {
	if one.State == outbound.Delivered {
		return
	}
	wasOpen := one.open()
	if one.State = state; wasOpen && !one.open() {
		s.out.Decisions = append(s.out.Decisions, notifier.Decision{
			Reason: undelivered, Tier: cmp.Or(one.Tier, s.memory.Alert.Tier).String(), Recipient: one.Recipient, Delivery: one.Delivery,
		})
	}
}

// expireWebhooks ends the alerts that webhooks have not accepted in time, or to which nothing is sent anymore.
func (s *step) expireWebhooks() {
	for i := range s.memory.Sent {
		one := &s.memory.Sent[i]
		if one.State != outbound.Pending || one.Until.IsZero() {
			continue
		}
		r, _ := s.recipient(one.Recipient)
		switch {
		case slices.Contains(s.paused, r.WebhookID):
			s.endWebhook(one, outbound.Failed)
		case !s.now.Before(one.Until):
			s.endWebhook(one, outbound.Expired)
		}
	}
}
