package policy

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
)

// TestLastWord simulates random units: the level changes, alerts are acknowledged, and tiers are enabled and
// disabled. The test checks the alerts only against the level, without the rules of the policy:
//
//   - The last alert never names a level below the current one.
//   - A digest names the worst level of its window.
//   - An acknowledgment does not apply to any later raise.
//   - If a level persists without an acknowledgment, the alert escalates.
func TestLastWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUnit(t, policies().Draw(t, "policy"))
		var levels []sentAlert // the levels so far, each with the instant at which it began
		var answered time.Time
		look := func() {
			if n := len(levels); n == 0 || levels[n-1].level != u.history.Level {
				levels = append(levels, sentAlert{level: u.history.Level, at: u.now})
			}
			cur := u.policy.highest(Rank(u.history.Level))
			if cur == 0 {
				return
			}
			last := u.alerts[len(u.alerts)-1]
			if last.level < u.history.Level {
				t.Fatalf("at %v since %v people were told %v, %+v", u.history.Level, levels[len(levels)-1].at, last.level, last)
			}
			raise := len(u.alerts) - 1
			for u.alerts[raise].Reason != Raised {
				raise--
			}
			// The time for an acknowledgment starts when the alert is raised or when the unit reaches its current
			// level, whichever is later.
			held := slices.MaxFunc([]time.Time{u.alerts[raise].at, levels[len(levels)-1].at}, time.Time.Compare)
			ack := u.policy.Tier(cur).AckMinutes
			escalates := ack > 0 && u.alerts[raise].level == u.history.Level && u.alerts[raise].Tier == cur && !u.now.Before(held.Add(minutes(ack)))
			open := answered.Before(u.alerts[raise].at) || answered.IsZero()
			if escalates && open && !slices.ContainsFunc(u.alerts[raise:], func(d sentAlert) bool { return d.Reason == Escalated }) {
				t.Fatalf("%v since %v, unanswered, and not escalated: %v", u.history.Level, held, u.alerts[raise:])
			}
			if open != u.history.AckedAt.IsZero() {
				t.Fatalf("raised at %v, answered at %v, and the history says %v", u.alerts[raise].at, answered, u.history.AckedAt)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			switch rapid.IntRange(0, 7).Draw(t, "move") {
			case 0, 1, 2, 3:
				u.level(acuity.Level(rapid.IntRange(0, 3).Draw(t, "level")))
			case 4:
				u.wait(time.Duration(rapid.IntRange(1, 59).Draw(t, "seconds")) * time.Second)
			case 5:
				u.wait(time.Duration(rapid.IntRange(1, 30).Draw(t, "minutes")) * time.Minute)
			case 6:
				u.wait(1) // so that the raise, the acknowledgment and the next raise have different instants
				if u.history.Episode != "" {
					answered = u.now
				}
				u.ack()
				u.wait(1)
			case 7:
				tier := &u.policy.Tiers[rapid.IntRange(0, 2).Draw(t, "tier")]
				tier.Enabled = !tier.Enabled
				u.step()
			}
			look()
			u.wait(1) // so that no two moves have the same instant
			look()
		}
		for _, d := range u.alerts {
			if d.Reason != Digest {
				continue
			}
			for i, l := range levels {
				inWindow := i+1 == len(levels) || levels[i+1].at.After(d.at.Add(-FlapWithin))
				if after := i + FlapChanges; inWindow && !l.at.After(d.at) && (after >= len(levels) || levels[after].at.After(d.at)) && l.level > d.worst {
					t.Fatalf("a digest at %v names %v, but it was %v at %v", d.at, d.worst, l.level, l.at)
				}
			}
			if d.worst < d.level {
				t.Fatalf("a digest names %v as the worst and %v as now", d.worst, d.level)
			}
		}
	})
}
