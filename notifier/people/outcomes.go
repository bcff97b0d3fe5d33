package people

import (
	"slices"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// applyNews applies finished messages, acknowledgments and receipts, and then decides which alerts to send. When a
// decision is repeated after a crash, the input may contain outcomes of messages that this decision sends. Therefore
// outcomes that do not match any message before the decision are applied again after it.
func (s *step) applyNews(in *notifier.Happening) {
	s.recordUnopened(in.Waiting)
	messages, commands := s.applyOutcomes(in.Ended, in.Commands)
	s.expireWebhooks()
	s.updateReach()
	s.decide()
	if n := len(messages) + len(commands); n > 0 {
		_, commands = s.applyOutcomes(messages, commands)
	}
	if s.updateReach() {
		s.decide()
	}
	for i := range in.Commands {
		c := &in.Commands[i]
		answer := notifier.Answer{Command: c.ID}
		unmatched := slices.ContainsFunc(commands, func(left outbound.Command) bool { return left.ID == c.ID })
		if c.Verb == outbound.VerbAck && unmatched {
			answer.Reason = reasonAlertRun
			if c.Episode == s.memory.History.Episode {
				answer.Reason = reasonNewer
			}
		}
		s.out.Answers = append(s.out.Answers, answer)
	}
}

// recordUnopened finds the waiting messages that could not be decrypted. Their recipients are alerted over another
// channel, while the messages are still retried.
func (s *step) recordUnopened(waiting []outbound.Entry) {
	for i := range waiting {
		d := &waiting[i].Delivery
		one := s.memory.find(d.ID)
		if one == nil || len(d.Attempts) == 0 {
			continue
		}
		wasClosed := one.Closed
		if one.Closed = d.Attempts[len(d.Attempts)-1].Class == sending.ClassSealed; one.Closed && !wasClosed {
			s.recordMissed(one)
		}
	}
}

// updateReach sets Unreached in the history if no message of the last alert, unless it is an escalation, has arrived
// or may still arrive. It sets Unaddressed if the raise must be sent again because an address can now be decrypted.
// It returns true if one of the two fields has changed.
func (s *step) updateReach() bool {
	h, before := &s.memory.History, s.memory.History
	if h.Episode == "" || !h.AckedAt.IsZero() {
		return false
	}
	if s.memory.Alert.Reason != policy.Escalated && s.memory.unreached() {
		h.Unreached = true
	}
	if s.memory.reopens(func(one *sent) bool {
		_, reason, _ := s.alerting.currentAddress(s.hospital, one.Recipient, one.Channel)
		return reason == ""
	}) {
		h.Unaddressed = true
	}
	return h.Unreached != before.Unreached || h.Unaddressed != before.Unaddressed
}

// applyOutcomes applies finished messages and commands to the memory, and returns those that do not match a
// remembered message.
func (s *step) applyOutcomes(messages []outbound.Entry, commands []outbound.Command) ([]outbound.Entry, []outbound.Command) {
	messages = slices.DeleteFunc(slices.Clone(messages), func(e outbound.Entry) bool { return s.applyEnd(&e.Delivery) })
	commands = slices.DeleteFunc(slices.Clone(commands), func(c outbound.Command) bool {
		if c.Verb == outbound.VerbReceipt {
			return s.applyReceipt(&c)
		}
		return s.applyAcknowledgment(&c)
	})
	return messages, commands
}

// applyAcknowledgment applies an acknowledgment. It returns true if the acknowledgment is for the current raise and
// not for an earlier one.
func (s *step) applyAcknowledgment(c *outbound.Command) bool {
	h := &s.memory.History
	if c.Episode == "" || c.Episode != h.Episode || c.EventID != "" && s.memory.Raise != "" && c.EventID != s.memory.Raise {
		return false
	}
	h.Ack(c.Episode, c.By, stamp(c.At))
	return true
}

// applyReceipt applies a provider's receipt for an SMS. Only a receipt that reports a failure changes the state.
// applyReceipt returns true if the SMS is remembered.
func (s *step) applyReceipt(c *outbound.Command) bool {
	one := s.memory.find(c.Delivery)
	switch {
	case one == nil:
		return false
	case c.Receipt != outbound.Failed:
	case one.State == outbound.Delivered:
		s.markUndelivered(one)
	case one.State == outbound.Pending:
		one.Refused = true // the failure receipt arrived before the result of the attempt
	}
	return true
}

// markUndelivered marks an SMS that its provider had accepted as failed.
func (s *step) markUndelivered(one *sent) {
	d := outbound.Delivery{
		ID: one.Delivery, Hospital: s.hospital, EventID: one.Event, Event: outbound.Alert, Channel: one.Channel, EndpointID: one.Recipient,
		State: outbound.Failed, Reason: reasonReceipt, OccurredAt: one.At, Attempts: one.Attempts,
	}
	s.out.Messages = append(s.out.Messages, outbound.Entry{Delivery: d})
	s.applyEnd(&d)
}

// applyEnd applies the final state of a message. If the message failed, a message over another channel may replace it.
// applyEnd returns true if the message is remembered.
func (s *step) applyEnd(d *outbound.Delivery) bool {
	one := s.memory.find(d.ID)
	if one == nil || one.State == d.State {
		return one != nil
	}
	if one.Channel == subscriber.ChannelWebhook {
		s.endWebhook(one, d.State)
		return true
	}
	one.State = d.State
	one.rememberAttempts(d)
	switch {
	case d.State == outbound.Delivered && one.Refused:
		one.Refused = false
		s.markUndelivered(one)
	case d.State == outbound.Delivered:
		one.Closed = false
	case (d.State == outbound.Failed || d.State == outbound.Expired) && !one.Closed:
		s.recordMissed(one)
	}
	return true
}

// recordMissed records that a message did not arrive. If the message belongs to the last alert, recordMissed replaces
// it with a message over the fallback channel, unless there is no such channel or it has been used. Messages of older
// alerts are not replaced.
func (s *step) recordMissed(one *sent) {
	m := s.memory
	h := &m.History
	if !slices.ContainsFunc(m.Sent, func(other sent) bool {
		return other.Recipient == one.Recipient && other.Channel == one.Channel && other.open()
	}) {
		h.RemoveReached(one.Recipient, one.Channel)
	}
	to, known := s.recipient(one.Recipient)
	if !known || one.Event != m.Alert.Event {
		return
	}
	tier := s.policy.Tier(max(m.Alert.Tier, 1))
	channel, ok := policy.Fallback(tier, &to, one.Channel)
	if !ok || m.find(event.DeliveryID(one.Event, one.Recipient, channel)) != nil {
		return
	}
	recipient, decision := one.Recipient, one.Decision // one points into a slice that is changed below
	a := s.alert(&m.Alert)
	s.writeMessage(&a, decision, policy.Addressee{Recipient: recipient, Channel: channel, State: outbound.Pending}, tier)
	if m.Alert.Reason != policy.Cleared {
		h.Reached = append(slices.Clip(h.Reached), policy.Reached{Recipient: recipient, Channel: channel})
	}
}
