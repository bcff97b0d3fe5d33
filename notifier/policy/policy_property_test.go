package policy

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
)

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

// play makes up to 40 random moves on a unit: level changes, waits and acknowledgments. It calls look after each
// move.
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

// TestNextIsExact: as long as only time passes, Step returns the same reason and tier until Next, and a different
// reason or tier at Next.
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

// TestEveryRaiseIsAlerted: after each move, neither the level nor the tier of the last alert is below the current
// one. When the current tier rises above that of the last alert, the new tier gets a raise.
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

// TestLoweredOnlyAfterTenMinutes: Lowered and Cleared are sent only after ten uninterrupted minutes below the level
// of the last alert. Cleared is also sent after ten minutes below the levels of all tiers, because a digest may
// already have named the lower level.
func TestLoweredOnlyAfterTenMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		var levels []sentAlert // the levels so far, each with the instant at which it began
		seen, said := 0, acuity.LevelGreen
		play(t, u, func() {
			if n := len(levels); n == 0 || levels[n-1].level != u.history.Level {
				levels = append(levels, sentAlert{level: u.history.Level, at: u.now})
			}
			for ; seen < len(u.alerts); seen++ {
				d := u.alerts[seen]
				for i, l := range levels { // checks only the levels in the ten minutes before the alert
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

// TestAnsweredIsSilent: after an acknowledgment, no alert is escalated or repeated until the next raise.
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

// TestBounded: the lists and counters in the history never exceed their limits.
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
