// Package policy decides when people are told about the level of a unit.
//
// It is one pure function, [Step]. From the settings of a hospital, its [History] and
// the instant it returns the alert to send now and its reason. It also returns when
// time alone will change that. Machines get every change; people get a raise at once,
// and everything else damped.
//
//	said = the level that the last alert named, told = the tier that it was for
//	cur  = the tier of the level now
//	1. level > said, or cur > told          raised; also when there was nobody to tell, and now is
//	2. level < said for 10 minutes          lowered, at green cleared
//	3. 4 changes within 30 minutes          digest, once until 10 minutes are quiet
//	4. unanswered or unreached              escalated, at most 3 times
//	5. repeat over, unanswered              repeated
//	6. else silent: lowering, flapping, acknowledged, steady
//
// Every alert, also a digest, names the level of its moment. A higher level is a
// raise, whatever was sent before.
package policy

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
)

// The constants of the damping: our defaults, none is clinically validated.
const (
	LowerAfter    = 10 * time.Minute // time below the level of the last alert before a Lowered
	FlapChanges   = 4                // changes of the level within FlapWithin are one digest
	FlapWithin    = 30 * time.Minute
	QuietAfter    = 10 * time.Minute // time without a change that closes the digest
	MaxRounds     = 3                // escalations of one alert
	MaxReached    = 256              // recipients with channels that History remembers as alerted
	TokenLifetime = 24 * time.Hour   // lifetime of the link that acknowledges an alert
)

// Rank is a tier as a number: 0 nobody, 1 T1 (yellow), 2 T2 (orange), 3 T3 (red).
type Rank uint8

// String returns the id of the tier, "" of rank 0.
func (r Rank) String() string { return [...]string{"", "T1", "T2", "T3"}[min(r, 3)] }

// Reason says why an alert is sent, or why none is.
type Reason string

// The reasons. The first six send an alert.
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

// SendsAlert reports whether the reason sends an alert.
func (r Reason) SendsAlert() bool {
	return slices.Contains(Reasons()[:6], r)
}

// Policy is the tiers of a hospital.
type Policy struct {
	Tiers [3]outbound.Tier // T1, T2, T3; the zero value is not enabled
}

// New returns the policy with these tiers.
func New(tiers []outbound.Tier) Policy {
	var p Policy
	for _, t := range tiers {
		for rank := Rank(1); rank <= 3; rank++ {
			if t.ID == rank.String() {
				p.Tiers[rank-1] = t
			}
		}
	}
	return p
}

// Tier returns the settings of a rank above 0.
func (p *Policy) Tier(r Rank) *outbound.Tier { return &p.Tiers[r-1] }

// highest returns the highest enabled tier up to r. A disabled tier is alerted as the
// one below it.
func (p *Policy) highest(r Rank) Rank {
	for ; r > 0; r-- {
		if p.Tiers[r-1].Enabled {
			return r
		}
	}
	return 0
}

// lowest returns the level of the lowest enabled tier; below it nobody is alerted.
func (p *Policy) lowest() acuity.Level {
	for r := Rank(1); r <= 3; r++ {
		if p.Tiers[r-1].Enabled {
			return levelOf(r)
		}
	}
	return acuity.LevelGreen
}

// Decision is the alert to send now, or the reason to send none.
type Decision struct {
	Reason Reason
	Tier   Rank // of an alert: the tier of its level, 0 if none; else the tier of the last alert
	// Next is the instant at which time alone changes reason or tier; zero: never.
	// After a decision that sends an alert it is the instant itself, because more may
	// be due.
	Next time.Time
}

// Step decides at an instant. It changes nothing; [History.ApplyDecision] records a
// decision that was carried out.
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

// instants returns the instants at which a condition of decide changes, in no order.
// Some may be long past, or change nothing.
func (h *History) instants(p *Policy) []time.Time {
	if h.Episode == "" {
		return nil
	}
	var all []time.Time
	for _, since := range h.Under {
		all = append(all, since.Add(LowerAfter))
	}
	if alerted := p.highest(h.Told); alerted > 0 {
		tier := p.Tier(alerted)
		all = append(all, h.AskedAt.Add(minutes(tier.AckMinutes)), h.ToldAt.Add(minutes(tier.RepeatMinutes)))
	}
	if n := len(h.Changes); n > 0 {
		all = append(all, h.Changes[n-1].Add(QuietAfter))
	}
	return all
}

func decide(p *Policy, h *History, now time.Time) Decision {
	cur, alerted := p.highest(Rank(h.Level)), p.highest(h.Told)
	switch {
	case cur > alerted, cur > 0 && h.Level > h.Said, cur == alerted && alerted > 0 && h.Unheard && len(p.upTo(alerted)) > 0:
		return Decision{Reason: Raised, Tier: cur}
	case h.Episode == "" || p.highest(3) == 0:
		return Decision{Reason: Steady}
	case cur == 0 && (h.below(h.Said, now) || h.below(p.lowest(), now)):
		return Decision{Reason: Cleared}
	case cur > 0 && h.below(h.Said, now):
		return Decision{Reason: Lowered, Tier: cur}
	case h.flaps(now):
		return Decision{Reason: Digest, Tier: cur}
	case h.Level < h.Said:
		return Decision{Reason: Lowering, Tier: alerted}
	}
	answered := !h.AckedAt.IsZero()
	if alerted > 0 && !answered {
		tier := p.Tier(alerted)
		switch {
		case h.Round < MaxRounds && (h.Unreached || overdue(h.AskedAt, tier.AckMinutes, now)):
			return Decision{Reason: Escalated, Tier: alerted}
		case overdue(h.ToldAt, tier.RepeatMinutes, now):
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

// overdue reports whether so many minutes have passed; 0 minutes never do.
func overdue(since time.Time, m int, now time.Time) bool {
	return m > 0 && !now.Before(since.Add(minutes(m)))
}

func minutes(m int) time.Duration { return time.Duration(m) * time.Minute }

// levelOf returns the level at which a rank is alerted.
func levelOf(r Rank) acuity.Level { return acuity.Level(r) }
