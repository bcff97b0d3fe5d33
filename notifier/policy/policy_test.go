package policy

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/internal/outbound"
)

var start = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)

// standard returns the preset policy, with one role per tier.
func standard() Policy {
	mail, both := []outbound.Channel{outbound.ChannelMail}, []outbound.Channel{outbound.ChannelMail, outbound.ChannelSMS}
	return New([]outbound.Tier{
		{ID: "T1", Enabled: true, Recipients: []string{"charge"}, Channels: mail, ExpireMinutes: 120},
		{ID: "T2", Enabled: true, Recipients: []string{"manager"}, Channels: both, AckMinutes: 10, EscalateTo: []string{"director"}, ExpireMinutes: 30},
		{ID: "T3", Enabled: true, Recipients: []string{"director"}, Channels: both, AckMinutes: 5, RepeatMinutes: 60, ExpireMinutes: 15},
	})
}

func anyone(id string) (outbound.Recipient, bool) {
	return outbound.Recipient{ID: id, Email: id + "@example.org", Phone: "+15550100"}, true
}

// unit drives a history as the notifier does: it calls Step only at each change and at each Next.
type unit struct {
	t       rapid.TB
	policy  Policy
	history History
	now     time.Time
	next    time.Time
	last    Decision
	alerts  []sentAlert
}

type sentAlert struct {
	Decision
	at    time.Time
	level acuity.Level // level of the alert
	worst acuity.Level // worst level of a digest
}

func newUnit(t rapid.TB, p Policy) *unit { return &unit{t: t, policy: p, now: start} }

func (u *unit) step() {
	for range 10 {
		d := Step(&u.policy, &u.history, u.now)
		if !d.Reason.SendsAlert() {
			u.last, u.next = d, d.Next
			return
		}
		u.alerts = append(u.alerts, sentAlert{d, u.now, u.history.Level, u.history.Worst()})
		u.history.ApplyDecision("mercy", d, Route(&u.policy, &u.history, d, anyone), u.now)
	}
	u.t.Fatalf("it never falls silent: %v", u.alerts)
}

func (u *unit) wait(d time.Duration) {
	for end := u.now.Add(d); ; u.step() {
		if u.next.IsZero() || u.next.After(end) {
			u.now = end
			return
		}
		u.now = u.next
	}
}

func (u *unit) level(l acuity.Level) {
	u.history.Observe(l, u.now)
	u.step()
}

func (u *unit) ack() {
	u.history.Ack(u.history.Episode, "link", u.now)
	u.step()
}

func (u *unit) reasons() []Reason {
	var all []Reason
	for _, d := range u.alerts {
		all = append(all, d.Reason)
	}
	return all
}

func (u *unit) want(reasons ...Reason) {
	u.t.Helper()
	if got := u.reasons(); !slices.Equal(got, reasons) {
		u.t.Fatalf("told %v, want %v", got, reasons)
	}
}

func TestPolicy(t *testing.T) {
	const green, yellow, orange, red = acuity.LevelGreen, acuity.LevelYellow, acuity.LevelOrange, acuity.LevelRed
	for name, play := range map[string]func(u *unit){
		"a raise at once, cleared after ten minutes": func(u *unit) {
			u.level(yellow)
			u.want(Raised)
			u.wait(time.Hour)
			u.level(green)
			u.wait(10*time.Minute - 1)
			u.want(Raised)
			u.wait(1)
			u.want(Raised, Cleared)
		},
		"lowered step by step": func(u *unit) {
			u.level(red)
			u.ack()
			u.level(orange)
			u.wait(10 * time.Minute)
			u.level(yellow)
			u.wait(10 * time.Minute)
			u.level(green)
			u.wait(10 * time.Minute)
			u.want(Raised, Lowered, Lowered, Cleared)
		},
		"a dip is not told": func(u *unit) {
			u.level(orange)
			u.ack()
			u.level(yellow)
			u.wait(9 * time.Minute)
			u.level(orange)
			u.wait(time.Hour)
			u.want(Raised)
		},
		"each higher tier is a raise": func(u *unit) {
			u.level(yellow)
			u.level(orange)
			u.level(red)
			u.want(Raised, Raised, Raised)
		},
		"forty flaps are a raise, a digest, and a raise above what that said": func(u *unit) {
			for range 40 {
				u.level(orange)
				u.wait(5 * time.Second)
				u.level(green)
				u.wait(5 * time.Second)
			}
			u.want(Raised, Digest, Raised)
			u.wait(time.Hour)
			u.want(Raised, Digest, Raised, Cleared)
		},
		"a digest that says green is not the last word of a unit that is red": func(u *unit) {
			for range 2 {
				u.level(red)
				u.wait(time.Second)
				u.level(green)
				u.wait(time.Second)
			}
			u.level(red)
			u.want(Raised, Digest, Raised)
			if u.alerts[1].level != green || u.alerts[2].level != red {
				u.t.Fatalf("told %+v", u.alerts)
			}
		},
		"a digest that says what is, and what somebody has taken": func(u *unit) {
			u.level(yellow)
			u.level(red)
			u.ack()
			u.level(green)
			u.level(red)
			u.want(Raised, Raised, Digest)
			u.wait(24 * time.Hour)
			u.want(Raised, Raised, Digest)
		},
		"red after a digest that said less is a raise, and needs an answer of its own": func(u *unit) {
			for range 2 {
				u.level(red)
				u.ack()
				u.wait(time.Second)
				u.level(green)
				u.wait(time.Second)
			}
			if digest := u.alerts[1]; digest.Reason != Digest || digest.level != green || digest.worst != red {
				u.t.Fatalf("digest %+v", digest)
			}
			u.level(red)
			u.want(Raised, Digest, Raised)
			u.wait(5 * time.Minute)
			u.want(Raised, Digest, Raised, Escalated)
		},
		"a digest that said green is followed by a word that it is over": func(u *unit) {
			for range 2 {
				u.level(orange)
				u.level(green)
			}
			u.want(Raised, Digest)
			u.wait(10 * time.Minute)
			u.want(Raised, Digest, Cleared)
			u.wait(time.Hour)
			u.want(Raised, Digest, Cleared)
		},
		"red is a raise also where its tier is off": func(u *unit) {
			u.policy.Tiers[2].Enabled = false
			u.level(orange)
			u.level(red)
			u.want(Raised, Raised)
			if u.alerts[1].Tier != 2 {
				u.t.Fatalf("tier %v", u.alerts[1].Tier)
			}
		},
		"flapping again after quiet is a second digest": func(u *unit) {
			for range 2 {
				for range 4 {
					u.level(orange)
					u.level(green)
				}
				u.level(orange)
				u.ack()
				u.wait(time.Hour)
			}
			u.want(Raised, Digest, Raised, Digest)
		},
		"three rounds without an answer": func(u *unit) {
			u.level(orange)
			u.wait(9*time.Minute + 59*time.Second)
			u.want(Raised)
			u.wait(24 * time.Hour)
			u.want(Raised, Escalated, Escalated, Escalated)
			if got := u.alerts[3].at.Sub(start); got != 30*time.Minute {
				u.t.Fatalf("the third round came after %v", got)
			}
		},
		"an answer stops the escalation": func(u *unit) {
			u.level(orange)
			u.wait(11 * time.Minute)
			u.ack()
			u.wait(24 * time.Hour)
			u.want(Raised, Escalated)
			if u.last.Reason != Acknowledged {
				u.t.Fatalf("then %v", u.last)
			}
		},
		"red is repeated until answered": func(u *unit) {
			u.level(red)
			u.wait(15*time.Minute + 2*time.Hour)
			u.want(Raised, Escalated, Escalated, Escalated, Repeated, Repeated)
			u.ack()
			u.wait(24 * time.Hour)
			u.want(Raised, Escalated, Escalated, Escalated, Repeated, Repeated)
		},
		"a raise needs an answer of its own": func(u *unit) {
			u.level(orange)
			u.ack()
			u.level(red)
			u.wait(6 * time.Minute)
			u.want(Raised, Raised, Escalated)
		},
		"nobody was reached": func(u *unit) {
			u.level(yellow)
			u.history.Unreached = true
			u.step()
			u.wait(24 * time.Hour)
			u.want(Raised, Escalated)
		},
		"a tier that is switched off is told as the one below": func(u *unit) {
			u.policy.Tiers[1].Enabled = false
			u.level(orange)
			u.want(Raised)
			if u.alerts[0].Tier != 1 {
				u.t.Fatalf("tier %v", u.alerts[0].Tier)
			}
			u.policy.Tiers[1].Enabled = true
			u.step()
			u.want(Raised, Raised)
		},
		"the first recipient hears of a level that was there before": func(u *unit) {
			recipients := u.policy.Tiers[0].Recipients
			u.policy.Tiers[0].Recipients = nil
			u.level(yellow)
			u.wait(time.Minute)
			u.want(Raised)
			u.policy.Tiers[0].Recipients = recipients
			u.step()
			u.wait(time.Hour)
			u.want(Raised, Raised)
		},
		"no tier, nothing told": func(u *unit) {
			u.policy = Policy{}
			u.level(red)
			u.wait(time.Hour)
			u.level(green)
			u.wait(time.Hour)
			u.want()
		},
	} {
		t.Run(name, func(t *testing.T) { play(newUnit(t, standard())) })
	}
}

// policies draws random settings for the tiers.
func policies() *rapid.Generator[Policy] {
	return rapid.Custom(func(t *rapid.T) Policy {
		p := standard()
		for i := range p.Tiers {
			tier := &p.Tiers[i]
			tier.Enabled = rapid.IntRange(0, 5).Draw(t, "enabled") > 0
			tier.AckMinutes = rapid.SampledFrom([]int{0, 1, 5, 10}).Draw(t, "ack")
			tier.RepeatMinutes = rapid.SampledFrom([]int{0, 3, 60}).Draw(t, "repeat")
		}
		return p
	})
}

// play draws an hour or more in the life of a unit: levels, waits, acknowledgments.
func play(t *rapid.T, u *unit, look func()) {
	for range rapid.IntRange(1, 40).Draw(t, "moves") {
		switch rapid.IntRange(0, 5).Draw(t, "move") {
		case 0, 1, 2:
			u.level(acuity.Level(rapid.IntRange(0, 3).Draw(t, "level")))
		case 3, 4:
			u.wait(time.Duration(rapid.IntRange(0, 1200).Draw(t, "seconds")) * time.Second)
		case 5:
			u.ack()
		}
		look()
	}
}

// TestNextIsExact: the decision does not change before Next, but changes at Next.
func TestNextIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		same := func(a, b Decision) bool { return a.Reason == b.Reason && a.Tier == b.Tier }
		play(t, u, func() {
			d := Step(&u.policy, &u.history, u.now)
			before := u.now.Add(30 * 24 * time.Hour)
			if !d.Next.IsZero() {
				if !d.Next.After(u.now) {
					t.Fatalf("next %v is not after now %v", d.Next, u.now)
				}
				if at := Step(&u.policy, &u.history, d.Next); same(d, at) {
					t.Fatalf("nothing changes at next: %v", at)
				}
				before = d.Next.Add(-1)
			}
			at := u.now.Add(time.Duration(rapid.Int64Range(0, int64(before.Sub(u.now))).Draw(t, "at")))
			for _, at := range []time.Time{at, before} {
				if got := Step(&u.policy, &u.history, at); !same(d, got) {
					t.Fatalf("%v at %v, but %v at %v, before next %v", d, u.now, got, at, d.Next)
				}
			}
		})
	})
}

// TestEveryRaiseIsAlerted: after each Step, the alerted tier is at least the tier of the level.
func TestEveryRaiseIsAlerted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		before := Rank(0)
		play(t, u, func() {
			cur := u.policy.highest(Rank(u.history.Level))
			if u.history.AlertedTier < cur || cur > 0 && u.history.AlertedLevel < u.history.Level {
				t.Fatalf("at %v, told %v, said %v", cur, u.history.AlertedTier, u.history.AlertedLevel)
			}
			if cur > before && (len(u.alerts) == 0 || !slices.ContainsFunc(u.alerts, func(d sentAlert) bool { return d.Reason == Raised && d.Tier == cur })) {
				t.Fatalf("%v was reached and never told", cur)
			}
			before = u.history.AlertedTier
		})
	})
}

// TestLoweredOnlyAfterTenMinutes: Lowered is sent only after ten uninterrupted minutes below the level of the last
// alert. If a digest has already named the lower level, Lowered is sent only at a level below those of all tiers.
func TestLoweredOnlyAfterTenMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		var levels []sentAlert // levels, each with its start
		seen, said := 0, acuity.LevelGreen
		play(t, u, func() {
			if n := len(levels); n == 0 || levels[n-1].level != u.history.Level {
				levels = append(levels, sentAlert{level: u.history.Level, at: u.now})
			}
			for ; seen < len(u.alerts); seen++ {
				d := u.alerts[seen]
				for i, l := range levels { // levels within the last ten minutes
					end := u.now
					if i+1 < len(levels) {
						end = levels[i+1].at
					}
					below := l.level < said || d.Reason == Cleared && u.policy.highest(Rank(l.level)) == 0
					if (d.Reason == Lowered || d.Reason == Cleared) && !below && end.After(d.at.Add(-LowerAfter)) && l.at.Before(d.at) {
						t.Fatalf("%v from %v at %v, but %v from %v to %v", d.Reason, said, d.at, l.level, l.at, end)
					}
				}
				said = d.level
			}
		})
	})
}

// TestAnsweredIsSilent: after an acknowledgment, nothing is escalated or repeated until another
// alert is sent.
func TestAnsweredIsSilent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		play(t, u, func() {})
		u.ack()
		n := len(u.alerts)
		for range rapid.IntRange(1, 20).Draw(t, "moves") {
			u.level(acuity.Level(rapid.IntRange(0, int(u.history.Level)).Draw(t, "level")))
			u.wait(time.Duration(rapid.IntRange(0, 600).Draw(t, "seconds")) * time.Second)
			for _, d := range u.alerts[n:] {
				if d.Reason == Raised {
					return
				}
				if d.Reason == Escalated || d.Reason == Repeated {
					t.Fatalf("%v though answered", d.Reason)
				}
			}
		}
	})
}

// TestFlapping: while the level changes more often than every ten minutes, each level is raised at
// most once before a digest and once after it. Every alert is acknowledged, so that none is
// escalated or repeated.
func TestFlapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		for range 40 {
			u.level((u.history.Level + acuity.Level(rapid.IntRange(1, 3).Draw(t, "by"))) % 4)
			u.wait(time.Duration(rapid.IntRange(0, 599).Draw(t, "seconds")) * time.Second)
			if u.history.AlertedTier > 0 && u.history.AckedAt.IsZero() {
				u.ack()
			}
			if rapid.IntRange(0, 30).Draw(t, "settle") == 0 {
				break
			}
		}
		count := map[Reason]int{}
		for _, d := range u.alerts {
			count[d.Reason]++
		}
		if lows := count[Lowered] + count[Cleared]; lows == 0 && (count[Raised] > 6 || count[Digest] > 1) {
			t.Fatalf("told %v", u.reasons())
		}
	})
}

// TestBounded: the history remains small whatever happens.
func TestBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		play(t, u, func() {
			if h := &u.history; len(h.Changes) > FlapChanges || len(h.Before) != len(h.Changes) || len(h.Reached) > MaxReached || h.Round > MaxRounds {
				t.Fatalf("%d changes, %d reached, round %d", len(h.Changes), len(h.Reached), h.Round)
			}
		})
	})
}
