package people

import (
	"slices"

	"svc/internal/outbound"
	"svc/notifier"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// hear takes in what became of letters, who has answered and what receipts say, and
// decides. After a crash a decision is taken again of which there is news already:
// what was of nothing before the decision is taken in behind it.
func (s *step) hear(in *notifier.Happening) {
	letters, commands := s.settle(in.Ended, in.Commands)
	s.decide()
	if n := len(letters) + len(commands); n > 0 {
		if letters, commands = s.settle(letters, commands); len(letters)+len(commands) < n {
			s.decide()
		}
	}
	for i := range in.Commands {
		answer := notifier.Answer{Command: in.Commands[i].ID}
		if c := &in.Commands[i]; c.Verb == outbound.VerbAck && slices.ContainsFunc(commands, func(left outbound.Command) bool { return left.ID == c.ID }) {
			answer.Reason = reasonEpisode
		}
		s.out.Answers = append(s.out.Answers, answer)
	}
}

// settle returns what is of nothing that is remembered.
func (s *step) settle(letters []outbound.Entry, commands []outbound.Command) ([]outbound.Entry, []outbound.Command) {
	letters = slices.DeleteFunc(slices.Clone(letters), func(e outbound.Entry) bool { return s.ended(&e.Delivery) })
	commands = slices.DeleteFunc(slices.Clone(commands), func(c outbound.Command) bool {
		if c.Verb == outbound.VerbReceipt {
			return s.receipt(&c)
		}
		return s.acknowledged(&c)
	})
	if h := &s.memory.History; h.Told > 0 && h.AckedAt.IsZero() && s.memory.unreached() {
		h.Unreached = true
	}
	return letters, commands
}

// acknowledged takes in an answer. It reports whether the episode is the open one.
func (s *step) acknowledged(c *outbound.Command) bool {
	h := &s.memory.History
	if c.Episode == "" || c.Episode != h.Episode {
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
	s.out.Letters = append(s.out.Letters, notifier.Letter{Delivery: d})
	s.ended(&d)
}

// ended takes in what became of a letter: where one failed, another channel may
// take its place. It reports whether the letter is remembered.
func (s *step) ended(d *outbound.Delivery) bool {
	one := s.memory.find(d.ID)
	if one == nil || one.State == d.State {
		return one != nil
	}
	one.State = d.State
	one.taken(d)
	switch {
	case d.State == outbound.Delivered && one.Refused:
		one.Refused = false
		s.undelivered(one)
		return true
	case d.State != outbound.Failed && d.State != outbound.Expired:
		return true
	}
	h := &s.memory.History
	h.Missed(one.Recipient, one.Channel)
	to, known := s.desk.config.Settings.Recipient(s.hospital, one.Recipient)
	if !known || h.Told == 0 {
		return true
	}
	channel, ok := policy.Fallback(s.policy.Tier(h.Told), &to, one.Channel)
	if !ok || s.memory.find(event.DeliveryID(one.Event, one.Recipient, channel)) != nil {
		return true
	}
	decision := policy.Decision{Reason: s.memory.Asked, Tier: h.Told}
	a := s.alert(decision, h.Told)
	s.letter(&a, one.Event, policy.Addressee{Recipient: one.Recipient, Channel: channel, State: outbound.Pending}, s.policy.Tier(h.Told))
	h.Reached = append(slices.Clip(h.Reached), policy.Reached{Recipient: one.Recipient, Channel: channel})
	return true
}
