// Package policy decides when people are alerted to the level of a unit.
//
// Its core is one pure function, [Step]. From the settings of a hospital, its [History] and the current instant,
// Step computes the alert to send now, its reason, and the instant at which the result changes if nothing happens
// before. Webhooks get every change; people get a raise immediately and everything else damped.
//
//	alerted = level of the last alert, tier = its tier, cur = tier of the current level
//	1. level > alerted, or cur > tier       raised; also when the tier gets its first recipient
//	2. level < alerted for 10 minutes       lowered; cleared if the level is green
//	3. 4 changes within 30 minutes          digest; no other digest until the level is stable for 10 minutes
//	4. unanswered or unreached              escalated, at most 3 times
//	5. repeat interval elapsed, unanswered  repeated
//	6. otherwise                            no alert: lowering, flapping, acknowledged, steady
//
// Every alert, including a digest, names the current level. A higher level is a raise, whatever was sent before.
package policy

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/internal/outbound/subscriber"
)

// The damping constants. They are defaults of this project and not clinically validated.
const (
	LowerAfter    = 10 * time.Minute // time below the level of the last alert before Lowered is sent
	FlapChanges   = 4                // number of changes within FlapWithin that cause a digest
	FlapWithin    = 30 * time.Minute
	QuietAfter    = 10 * time.Minute // time without a change that closes the digest
	MaxRounds     = 3                // maximum number of escalations of one alert
	MaxReached    = 256              // maximum number of pairs of recipient and channel that History remembers as alerted
	TokenLifetime = 24 * time.Hour   // lifetime of the acknowledgment link
)

// Rank is a tier as a number: 0 none, 1 T1 (yellow), 2 T2 (orange), 3 T3 (red).
type Rank uint8

// String returns the id of the tier, or "" for rank 0.
func (r Rank) String() string { return [...]string{"", "T1", "T2", "T3"}[min(r, 3)] }

// Reason says why an alert is sent or not.
type Reason string

// The reasons for a decision. An alert is sent only for the first six.
const (
	Raised       Reason = "raised"
	Lowered      Reason = "lowered"
	Cleared      Reason = "cleared"
	Digest       Reason = "digest"
	Escalated    Reason = "escalated"
	Repeated     Reason = "repeated"
	Lowering     Reason = "lowering"
	Flapping     Reason = "flapping"
	Acknowledged Reason = "acknowledged"
	Steady       Reason = "steady"
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{Raised, Lowered, Cleared, Digest, Escalated, Repeated, Lowering, Flapping, Acknowledged, Steady}
}

// SendsAlert reports whether an alert is sent for the reason.
func (r Reason) SendsAlert() bool {
	return slices.Contains(Reasons()[:6], r)
}

// Policy contains the tiers of a hospital.
type Policy struct {
	Tiers [3]subscriber.Tier // T1, T2, T3; the zero Tier is disabled
}

// New returns the policy with the given tiers, without their recipients that are not known. A tier may name a recipient
// who has just been deleted.
func New(tiers []subscriber.Tier, known func(recipient string) bool) Policy {
	var p Policy
	unknown := func(recipient string) bool { return !known(recipient) }
	for _, t := range tiers {
		t.Recipients = slices.DeleteFunc(slices.Clone(t.Recipients), unknown)
		t.EscalateTo = slices.DeleteFunc(slices.Clone(t.EscalateTo), unknown)
		for rank := Rank(1); rank <= 3; rank++ {
			if t.ID == rank.String() {
				p.Tiers[rank-1] = t
			}
		}
	}
	return p
}

// Tier returns the settings of a rank above 0.
func (p *Policy) Tier(r Rank) *subscriber.Tier { return &p.Tiers[r-1] }

// highest returns the highest enabled tier that is not above r. Alerts of a disabled tier go to the next lower one.
func (p *Policy) highest(r Rank) Rank {
	for ; r > 0; r-- {
		if p.Tiers[r-1].Enabled {
			return r
		}
	}
	return 0
}

// lowest returns the level of the lowest enabled tier; lower levels cause no alert.
func (p *Policy) lowest() acuity.Level {
	for r := Rank(1); r <= 3; r++ {
		if p.Tiers[r-1].Enabled {
			return levelOf(r)
		}
	}
	return acuity.LevelGreen
}

// Decision is the alert to send now, or the reason not to send one.
type Decision struct {
	Reason Reason
	Tier   Rank // tier of the alert or, if no alert is sent, of the last alert; 0: none
	// Next is the instant at which the passing of time alone changes Reason or Tier; zero: never. After a decision that
	// sends an alert, it is the current instant, because another alert may be due.
	Next time.Time
}

// Step decides what to send at an instant. It does not change the history; [History.ApplyDecision] records a decision
// that was executed.
func Step(p *Policy, h *History, now time.Time) Decision {
	d := decide(p, h, now)
	if d.Reason.SendsAlert() {
		d.Next = now
		return d
	}
	instants := h.instants(p)
	slices.SortFunc(instants, time.Time.Compare)
	for _, at := range instants {
		if at.After(now) && decide(p, h, at) != (Decision{Reason: d.Reason, Tier: d.Tier}) {
			d.Next = at
			break
		}
	}
	return d
}

// instants returns the instants at which a condition of decide changes, in no particular order. Some may be in the
// past or change nothing.
func (h *History) instants(p *Policy) []time.Time {
	if h.Episode == "" {
		return nil
	}
	var all []time.Time
	for _, since := range h.Under {
		all = append(all, since.Add(LowerAfter))
	}
	if alerted := p.highest(h.AlertedTier); alerted > 0 {
		tier := p.Tier(alerted)
		all = append(all, h.AskedAt.Add(minutes(tier.AckMinutes)), h.AlertedAt.Add(minutes(tier.RepeatMinutes)))
	}
	if n := len(h.Changes); n > 0 {
		all = append(all, h.Changes[n-1].Add(QuietAfter))
	}
	return all
}

func decide(p *Policy, h *History, now time.Time) Decision {
	cur, alerted := p.highest(Rank(h.Level)), p.highest(h.AlertedTier)
	switch {
	case cur > alerted, cur > 0 && h.Level > h.AlertedLevel, cur == alerted && alerted > 0 && h.Unaddressed && len(p.upTo(alerted)) > 0:
		return Decision{Reason: Raised, Tier: cur}
	case h.Episode == "" || p.highest(3) == 0:
		return Decision{Reason: Steady}
	case cur == 0 && (h.below(h.AlertedLevel, now) || h.below(p.lowest(), now)):
		return Decision{Reason: Cleared}
	case cur > 0 && h.below(h.AlertedLevel, now):
		return Decision{Reason: Lowered, Tier: cur}
	case h.flaps(now):
		return Decision{Reason: Digest, Tier: cur}
	case h.Level < h.AlertedLevel:
		return Decision{Reason: Lowering, Tier: alerted}
	}
	answered := !h.AckedAt.IsZero()
	if alerted > 0 && !answered {
		tier := p.Tier(alerted)
		switch {
		case h.Round < MaxRounds && (h.Unreached || overdue(h.AskedAt, tier.AckMinutes, now)):
			return Decision{Reason: Escalated, Tier: alerted}
		case overdue(h.AlertedAt, tier.RepeatMinutes, now):
			return Decision{Reason: Repeated, Tier: alerted}
		}
	}
	switch {
	case h.flapping(now):
		return Decision{Reason: Flapping, Tier: alerted}
	case answered:
		return Decision{Reason: Acknowledged, Tier: alerted}
	}
	return Decision{Reason: Steady, Tier: alerted}
}

// overdue reports whether m minutes have passed since an instant. If m is 0, it returns false.
func overdue(since time.Time, m int, now time.Time) bool {
	return m > 0 && !now.Before(since.Add(minutes(m)))
}

func minutes(m int) time.Duration { return time.Duration(m) * time.Minute }

// levelOf returns the level for which the tier of a rank is alerted.
func levelOf(r Rank) acuity.Level { return acuity.Level(r) }
