package people

import (
	"slices"

	"svc/internal/outbound"
	"svc/notifier"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// takeOutcomes takes in what became of messages, who has answered and what receipts say, and
// decides. After a crash a decision is taken again of which there is news already:
// what was of nothing before the decision is taken in behind it.
func (s *step) takeOutcomes(in *notifier.Happening) {
	s.noteUnopened(in.Waiting)
	messages, commands := s.applyOutcomes(in.Ended, in.Commands)
	s.updateReach()
	s.decide()
	if n := len(messages) + len(commands); n > 0 {
		_, commands = s.applyOutcomes(messages, commands)
	}
	if s.updateReach() {
		s.decide()
	}
	for i := range in.Commands {
		answer := notifier.Answer{Command: in.Commands[i].ID}
		if c := &in.Commands[i]; c.Verb == outbound.VerbAck && slices.ContainsFunc(commands, func(left outbound.Command) bool { return left.ID == c.ID }) {
			answer.Reason = reasonEpisode
			if c.Episode == s.memory.History.Episode {
				answer.Reason = reasonNewer
			}
		}
		s.out.Answers = append(s.out.Answers, answer)
	}
}

// noteUnopened takes in which of the messages that wait did not open: who they are for is
// told by another way, and they are tried again.
func (s *step) noteUnopened(waiting []outbound.Entry) {
	for i := range waiting {
		d := &waiting[i].Delivery
		one := s.memory.find(d.ID)
		if one == nil || len(d.Attempts) == 0 {
			continue
		}
		was := one.Closed
		if one.Closed = d.Attempts[len(d.Attempts)-1].Class == outbound.ClassSealed; one.Closed && !was {
			s.missed(one)
		}
	}
}

// updateReach takes in whether the alert has reached nobody, and whether it now could. It
// reports whether that is news.
func (s *step) updateReach() bool {
	h, before := &s.memory.History, s.memory.History
	if h.Episode == "" || !h.AckedAt.IsZero() {
		return false
	}
	if s.memory.Alert.Reason != policy.Escalated && s.memory.unreached() {
		h.Unreached = true
	}
	if s.memory.reopens(s.alerting.opens(s.hospital)) {
		h.Unheard = true
	}
	return h.Unreached != before.Unreached || h.Unheard != before.Unheard
}

// applyOutcomes returns what is of nothing that is remembered.
func (s *step) applyOutcomes(messages []outbound.Entry, commands []outbound.Command) ([]outbound.Entry, []outbound.Command) {
	messages = slices.DeleteFunc(slices.Clone(messages), func(e outbound.Entry) bool { return s.ended(&e.Delivery) })
	commands = slices.DeleteFunc(slices.Clone(commands), func(c outbound.Command) bool {
		if c.Verb == outbound.VerbReceipt {
			return s.receipt(&c)
		}
		return s.acknowledged(&c)
	})
	return messages, commands
}

// acknowledged takes in an answer. It reports whether it answers what is open: an
// answer to the raise before is none to this one.
func (s *step) acknowledged(c *outbound.Command) bool {
	h := &s.memory.History
	if c.Episode == "" || c.Episode != h.Episode || c.EventID != "" && s.memory.Raise != "" && c.EventID != s.memory.Raise {
		return false
	}
	h.Ack(c.Episode, c.By, stamp(c.At))
	return true
}

// receipt takes in what a provider says of an SMS that it had taken: of interest is
// that it did not arrive. It reports whether the SMS is remembered.
func (s *step) receipt(c *outbound.Command) bool {
	one := s.memory.find(c.Delivery)
	switch {
	case one == nil:
		return false
	case c.Receipt != outbound.Failed:
	case one.State == outbound.Delivered:
		s.undelivered(one)
	case one.State == outbound.Pending:
		one.Refused = true // before we know how the attempt ended
	}
	return true
}

// undelivered makes an SMS that its provider had taken one that failed.
func (s *step) undelivered(one *sent) {
	d := outbound.Delivery{
		ID: one.Delivery, Hospital: s.hospital, EventID: one.Event, Event: outbound.Alert, Channel: one.Channel, EndpointID: one.Recipient,
		State: outbound.Failed, Reason: reasonReceipt, OccurredAt: one.At, Attempts: one.Attempts,
	}
	s.out.Messages = append(s.out.Messages, notifier.Message{Delivery: d})
	s.ended(&d)
}

// ended takes in what became of a message: where one failed, another channel may
// take its place. It reports whether the message is remembered.
func (s *step) ended(d *outbound.Delivery) bool {
	one := s.memory.find(d.ID)
	if one == nil || one.State == d.State {
		return one != nil
	}
	one.State = d.State
	one.rememberAttempts(d)
	switch {
	case d.State == outbound.Delivered && one.Refused:
		one.Refused = false
		s.undelivered(one)
	case d.State == outbound.Delivered:
		one.Closed = false
	case (d.State == outbound.Failed || d.State == outbound.Expired) && !one.Closed:
		s.missed(one)
	}
	return true
}

// missed takes in that a message did not arrive. Of the last alert it is sent by
// another channel, where there is one; what older ones said is not news any more.
func (s *step) missed(one *sent) {
	m := s.memory
	h := &m.History
	if !slices.ContainsFunc(m.Sent, func(other sent) bool {
		return other.Recipient == one.Recipient && other.Channel == one.Channel && other.open()
	}) {
		h.Missed(one.Recipient, one.Channel)
	}
	to, known := s.alerting.config.Settings.Recipient(s.hospital, one.Recipient)
	if !known || one.Event != m.Alert.Event {
		return
	}
	tier := s.policy.Tier(max(m.Alert.Tier, 1))
	channel, ok := policy.Fallback(tier, &to, one.Channel)
	if !ok || m.find(event.DeliveryID(one.Event, one.Recipient, channel)) != nil {
		return
	}
	recipient, decision := one.Recipient, one.Decision // what one points to moves
	a := s.alert(&m.Alert)
	s.writeMessage(&a, decision, policy.Addressee{Recipient: recipient, Channel: channel, State: outbound.Pending}, tier)
	if m.Alert.Reason != policy.Cleared {
		h.Reached = append(slices.Clip(h.Reached), policy.Reached{Recipient: recipient, Channel: channel})
	}
}
