package acuity

import (
	"testing"
	"time"
)

// A past that is to be told again, after a restore or because it changed, is told
// in pieces, and what is cut is what a unit cuts that nobody disturbed.
func TestPastIsRecalledInPieces(t *testing.T) {
	const days, piece = 6, 7
	events, end := ward(2, days), day.Add(days*24*time.Hour)
	told := func() (*Unit, []Change) {
		u := NewUnit(testHospital)
		var all []Change
		for i := 0; i < len(events); i += 100 {
			all = append(all, feed(u, Observation{ReceivedAt: end, Channel: ChannelBatch, Events: events[i:min(i+100, len(events))]})...)
		}
		return u, all
	}
	now := end.Add(time.Minute)
	whole, want := told()
	want = whole.advance(want, now)
	for name, disturb := range map[string]func(*testing.T, *Unit, changelog) *Unit{
		"restored": func(t *testing.T, _ *Unit, log changelog) *Unit { t.Helper(); return log.restore(t) },
		"changed":  func(_ *testing.T, u *Unit, _ changelog) *Unit { u.past = nil; return u },
	} {
		t.Run(name, func(t *testing.T) {
			u, got := told()
			for range 3 * 24 {
				c, more := u.Advance(now)
				if !more {
					t.Fatal("no backfill goes on")
				}
				got = append(got, c)
			}
			log := changelog{}
			log.write(u)
			u = disturb(t, u, log)
			pieces := 0
			for more := true; more; {
				n, there := u.Recall(now, piece)
				if n > piece {
					t.Fatalf("%d events in one piece", n)
				}
				if !there {
					pieces++
					continue
				}
				p, before := u.past, 0
				if p != nil {
					before = p.told
				}
				var c Change
				if c, more = u.Advance(now); more {
					got = append(got, c)
				}
				if p != nil && p.told != before {
					t.Fatalf("an hour took %d more events", p.told-before)
				}
			}
			if least := len(events) / 2 / piece; pieces < least {
				t.Errorf("%d pieces, want %d: nothing was told again", pieces, least)
			}
			if a, b := rendered(got), rendered(want); a != b {
				t.Errorf("%d changes, undisturbed %d\n%s", len(got), len(want), difference(a, b))
			}
		})
	}
}
