package policy

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/internal/outbound/subscriber"
)

var start = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)

// standard returns the preset policy, with one role per tier.
func standard() Policy {
	mail, both := []subscriber.Channel{subscriber.ChannelMail}, []subscriber.Channel{subscriber.ChannelMail, subscriber.ChannelSMS}
	return New([]subscriber.Tier{
		{ID: "T1", Enabled: true, Recipients: []string{"charge"}, Channels: mail, ExpireMinutes: 120},
		{ID: "T2", Enabled: true, Recipients: []string{"manager"}, Channels: both, AckMinutes: 10, EscalateTo: []string{"director"}, ExpireMinutes: 30},
		{ID: "T3", Enabled: true, Recipients: []string{"director"}, Channels: both, AckMinutes: 5, RepeatMinutes: 60, ExpireMinutes: 15},
	}, func(string) bool { return true })
}

func anyone(id string) (subscriber.Recipient, bool) {
	return subscriber.Recipient{ID: id, Email: id + "@example.org", Phone: "+15550100"}, true
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

// TestFlapping: the level changes at least once every ten minutes, and every alert is acknowledged. Unless an alert
// is lowered or cleared, there are at most one digest and six raises: two for each of the three levels above green,
// one before and one after the digest.
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
