package people

import (
	"context"
	"slices"
	"sync"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/alert"
	"svc/notifier/policy"
)

// step is the state of one call to [Alerting.Step].
type step struct {
	alerting *Alerting
	ctx      context.Context //nolint:containedctx // lives no longer than one call to Step
	now      time.Time
	hospital string
	waiting  []outbound.Entry
	paused   []string // ids of the endpoints to which nothing is sent
	policy   policy.Policy
	memory   *memory
	rooms    func() *alert.Rooms
	out      notifier.Step
}

// mostDecisions is the maximum number of decisions in one step. A raise, a digest and an escalation in one step are
// already three decisions.
const mostDecisions = 8

// Step implements [notifier.People].
func (d *Alerting) Step(ctx context.Context, now time.Time, in notifier.Happening) notifier.Step {
	// An unreadable state is replaced by an empty one, because a repeated raise is better than a lost one.
	m, err := decode(in.Memory)
	s := step{alerting: d, ctx: ctx, now: stamp(now), hospital: in.Hospital, waiting: in.Waiting, paused: in.Paused, memory: m}
	s.policy = policy.New(d.config.Settings.Tiers(in.Hospital), func(id string) bool { _, known := s.recipient(id); return known })
	if err != nil {
		s.out.Decisions = append(s.out.Decisions, notifier.Decision{Reason: "memory_lost"})
	}
	s.rooms = sync.OnceValue(func() *alert.Rooms { return d.rooms(ctx, in.Hospital, m.Version) })
	s.observe(&in)
	s.applyNews(&in)
	if at := m.nextExpiry(); !at.IsZero() && (s.out.Next.IsZero() || at.Before(s.out.Next)) {
		s.out.Next = at
	}
	for i := range in.Notices {
		messages, err := d.notice(now, in.Hospital, &s.policy, &in.Notices[i])
		if err == nil {
			s.out.Messages = append(s.out.Messages, messages...)
		}
	}
	// If a step is repeated, messages that it queued the first time may still be pending. They have the same ids as
	// their repeats, so they must not count as superseded.
	s.out.Supersede = slices.DeleteFunc(s.out.Supersede, func(id string) bool {
		return slices.ContainsFunc(s.out.Messages, func(l outbound.Entry) bool { return l.Delivery.ID == id })
	})
	s.listAlertRun()
	if d.config.Lists != nil && len(s.out.Messages)+len(s.out.Events) > 0 {
		// Wait for the lists, because a recipient may open the link immediately.
		listed, cancel := context.WithTimeout(ctx, listedWithin)
		defer cancel()
		d.config.Lists.Written(listed)
	}
	if b, err := m.encode(); err == nil && string(b) != string(in.Memory) {
		s.out.Memory = b
	}
	return s.out
}

func (s *step) recipient(id string) (subscriber.Recipient, bool) {
	return s.alerting.config.Settings.Recipient(s.hospital, id)
}

// observe records the changes of the level, and the current level, in the memory.
func (s *step) observe(in *notifier.Happening) {
	h := &s.memory.History
	h.LimitTo(s.now)
	for i := range in.Changes {
		c := &in.Changes[i]
		s.memory.Last, s.memory.Cause, s.memory.Version = &c.Effect, c.Cause, c.Version
		h.Observe(c.Effect.Level, stamp(c.OccurredAt))
		h.LimitTo(s.now) // the clock of the processor may be ahead, too
	}
	if in.Known {
		h.Observe(in.Level, s.now)
	}
}

// decide executes decisions until the policy has no further alert to send.
func (s *step) decide() {
	m := s.memory
	for range mostDecisions {
		d := policy.Step(&s.policy, &m.History, s.now)
		s.out.Next = d.Next
		if d.Reason != m.Reason || d.Reason.SendsAlert() {
			m.Reason = d.Reason
			s.out.Decisions = append(s.out.Decisions, notifier.Decision{Reason: string(d.Reason), Tier: d.Tier.String()})
		}
		if !d.Reason.SendsAlert() {
			return
		}
		s.sendAlert(d)
	}
}

// sendAlert creates the messages and the event of a decision.
func (s *step) sendAlert(d policy.Decision) {
	m := s.memory
	h, before := &m.History, m.History
	to := policy.Route(&s.policy, h, d, s.recipient)
	h.ApplyDecision(s.hospital, d, to, s.now)
	m.Alert = sentAlert{
		At: s.now, Episode: h.Episode, Reason: d.Reason, Tier: d.Tier, Level: h.Level, Prior: before.AlertedLevel, Worst: before.Worst(),
	}
	if before.Unaddressed { // the raise had no recipient
		m.Alert.Prior = acuity.LevelGreen
	}
	if d.Reason == policy.Cleared {
		m.Alert.Episode = before.Episode
	}
	a := s.alert(&m.Alert)
	id := a.EventID(s.hospital, h.Decisions)
	m.Alert.Event = id
	switch d.Reason { //nolint:exhaustive // other reasons belong to the open raise
	case policy.Raised:
		m.Raise, m.RaiseTier = id, d.Tier
	case policy.Cleared:
		s.closeAlertRun(&before)
		m.Raise, m.RaiseTier = "", 0
	}
	s.supersede(d.Reason, to)
	tier := s.policy.Tier(max(d.Tier, min(before.AlertedTier, 3), 1))
	for _, one := range to {
		if one.Channel != subscriber.ChannelWebhook {
			s.writeMessage(&a, h.Decisions, one, tier)
		}
	}
	s.addEvents(&a, h.Decisions, to, tier)
}

// writeMessage creates the message of the last alert to one addressee, or records why it is not sent.
func (s *step) writeMessage(a *alert.Alert, decision int64, to policy.Addressee, tier *subscriber.Tier) {
	words := alert.Message{}
	if to.State == outbound.Pending {
		language := s.alerting.language(s.hospital, to.Recipient)
		if to.Channel == subscriber.ChannelSMS {
			words.Text = a.SMS(language)
		} else {
			var err error
			if words, err = a.Mail(language); err != nil {
				return
			}
		}
	}
	id := s.memory.Alert.Event
	l, err := s.alerting.message(s.hospital, id, outbound.Alert, to.Recipient, to.Channel, words, s.now, expires(tier))
	if err != nil {
		return
	}
	if to.State != outbound.Pending {
		l.Delivery.State, l.Delivery.Reason, l.Sealed, l.Expires = to.State, to.Reason, nil, time.Time{}
	}
	s.out.Messages = append(s.out.Messages, l)
	if to.Reason == policy.NotNotified { // this addressee does not need to be notified
		return
	}
	s.memory.add(&sent{
		Delivery: l.Delivery.ID, Event: id, Decision: decision, Recipient: to.Recipient, Channel: to.Channel, State: l.Delivery.State, At: s.now,
		Closed: l.Delivery.Reason == reasonKey,
	})
}

// supersede withdraws the waiting alert messages that a newer alert makes obsolete. An escalation or a repetition, which
// reports no new level, withdraws only the messages to the same recipient over the same channel; any other alert
// withdraws all.
func (s *step) supersede(reason policy.Reason, to []policy.Addressee) {
	for i := range s.waiting {
		d := &s.waiting[i].Delivery
		if d.Event != outbound.Alert || slices.Contains(s.out.Supersede, d.ID) {
			continue
		}
		same := func(a policy.Addressee) bool { return a.Recipient == d.EndpointID && a.Channel == d.Channel }
		if (reason == policy.Escalated || reason == policy.Repeated) && !slices.ContainsFunc(to, same) {
			continue
		}
		s.out.Supersede = append(s.out.Supersede, d.ID)
	}
}

// alert returns an alert with the content of t.
func (s *step) alert(t *sentAlert) alert.Alert {
	name, zone := s.alerting.config.Settings.Unit(s.hospital)
	a := alert.Alert{
		Reason: t.Reason, Tier: t.Tier, Unit: name, At: s.now.In(zone),
		Level: t.Level, Prior: t.Prior, Worst: t.Worst, Effect: effect(t.Level), Cause: s.memory.Cause,
		Rooms: s.rooms(), AlertRun: t.Episode,
	}
	if last := s.memory.Last; last != nil && last.Level == t.Level {
		a.Effect = *last
	}
	if t.Tier > 0 {
		a.Action = s.policy.Tier(t.Tier).Action
		a.AckURL = s.ackURL(t.Tier)
	}
	return a
}

// ackURL returns the link that acknowledges an alert. It returns "" if no acknowledgment is needed, if the alert has
// already been acknowledged, or if links are not configured.
func (s *step) ackURL(of policy.Rank) string {
	h, c := &s.memory.History, &s.alerting.config
	tier := s.policy.Tier(of)
	if h.Episode == "" || !h.AckedAt.IsZero() || tier.AckMinutes == 0 && tier.RepeatMinutes == 0 || c.PublicURL == "" || len(c.TokenKey) == 0 {
		return ""
	}
	return c.PublicURL + "/a/" + token(c.TokenKey, s.hospital, h.Episode, h.Raise)
}

// listAlertRun adds the open alert run to the lists, with its acknowledgment link as long as the link is valid.
func (s *step) listAlertRun() {
	h, c := &s.memory.History, &s.alerting.config
	if h.Episode == "" || c.Lists == nil {
		return
	}
	c.Lists.AlertRun(s.memory.alertRun(s.hospital, &s.policy))
	if until := s.memory.alertedAt().Add(policy.TokenLifetime); len(c.TokenKey) > 0 && until.After(s.now) {
		c.Lists.Link(token(c.TokenKey, s.hospital, h.Episode, h.Raise), outbound.AckLink{
			Hospital: s.hospital, Episode: h.Episode, Alert: s.memory.Raise, Until: until,
		})
	}
}

// closeAlertRun adds an alert run that has ended to the lists and to the ledger.
func (s *step) closeAlertRun(before *policy.History) {
	m := memory{History: *before, Sent: s.memory.Sent, Alert: sentAlert{Reason: policy.Cleared}, RaiseTier: s.memory.RaiseTier}
	e := m.alertRun(s.hospital, &s.policy)
	e.Level, e.ClosedAt, e.AckBy, e.ToldAt = s.memory.History.Level.String(), s.now, time.Time{}, s.now
	s.out.Closed = append(s.out.Closed, e)
	if s.alerting.config.Lists != nil {
		s.alerting.config.Lists.AlertRun(e)
	}
}
