package notifier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
)

// The following tests cover the rows of the failure matrix that concern the loop. They use the test clock.

// TestMatrixDownAnHour: an endpoint that was down for an hour gets all events, in order, and does not delay other
// endpoints.
func TestMatrixDownAnHour(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_down")
		r.hook("north", "whk_up")
		r.hook("south", "whk_other")
		r.receiver.set("whk_down", always(refused()))
		r.start()
		var all, south []string
		began := time.Now()
		for time.Since(began) < time.Hour {
			all = append(all, r.change("north", 1)...)
			south = append(south, r.change("south")...)
			r.settle(10 * time.Second)
		}
		for _, g := range r.receiver.of("whk_up") {
			if late := g.at.Sub(began); late%(10*time.Second) > 200*time.Millisecond {
				t.Fatalf("one that is up waits: %v", late)
			}
		}
		r.want("whk_up", all)
		r.want("whk_other", south)
		var before time.Time
		for _, g := range r.receiver.of("whk_down") {
			if gap := g.at.Sub(before); !before.IsZero() && gap > 6*time.Minute {
				t.Errorf("nothing is tried for %v", gap)
			}
			before = g.at
		}
		r.receiver.set("whk_down", always(ok()))
		r.settle(6*time.Minute + time.Duration(len(all))*20*time.Millisecond)
		r.want("whk_down", all)
		if h := r.lists.health["whk_down"]; h.Status != "active" || h.Waiting != 0 {
			t.Errorf("%+v", h)
		}
		r.end()
	})
}

// TestMatrix500AndPoison: after a 5xx response, an event is sent again. An event that always gets 5xx is skipped
// after half an hour, once the endpoint accepts the next event.
func TestMatrix500AndPoison(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		first := r.change("north")
		r.settle(time.Second)
		r.receiver.set("whk_1", always(status(500))) // every request fails until the event's id is known
		bad := r.change("north")[0]
		r.receiver.set("whk_1", func(m sending.Message) sending.Result {
			if m.EventID == bad {
				return status(500)
			}
			return ok()
		})
		var rest []string
		for range 5 {
			rest = append(rest, r.change("north")...)
		}
		r.settle(29 * time.Minute)
		if n := r.lists.states()[outbound.Delivered]; n != len(first) {
			t.Fatalf("%d delivered within half an hour", n)
		}
		r.settle(15 * time.Minute)
		states := r.lists.states()
		if states[outbound.Poison] != 1 || states[outbound.Delivered] != len(first)+len(rest) {
			t.Fatalf("states %v", states)
		}
		r.end()
		r.start() // a restart does not send any event again
		seen := len(r.receiver.of("whk_1"))
		r.settle(time.Hour)
		if n := len(r.receiver.of("whk_1")); n != seen {
			t.Errorf("%d requests after a restart", n-seen)
		}
		r.end()
	})
}

// TestPoisonBeforeMuchElse: an event that always gets 5xx is skipped, too, if it is no longer in memory and the next
// event for the endpoint follows only after many events for other endpoints.
func TestPoisonBeforeMuchElse(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Events = []string{outbound.RoomRescored} })
		r.start()
		first := r.change("north", 7)[1:]
		r.settle(50 * time.Minute)
		r.receiver.set("whk_1", always(status(500)))
		bad := r.change("north", 7)[1:]
		for range 200 {
			r.change("north")
		}
		good := r.change("north", 7)[1:]
		r.settle(15 * time.Minute)
		r.end()
		r.receiver.set("whk_1", func(m sending.Message) sending.Result {
			if m.EventID == bad[0] {
				return status(500)
			}
			return ok()
		})
		r.start() // the restore begins after the bad event
		r.settle(time.Hour)
		states := r.lists.states()
		if states[outbound.Poison] != 1 || states[outbound.Delivered] != len(first)+len(good) {
			t.Fatalf("states %v", states)
		}
		r.end()
	})
}

func TestMatrixRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(sending.Result{Class: sending.ClassThrottled, Status: 429, RetryAfter: 600 * time.Second}))
		ids := r.change("north")
		r.settle(time.Second)
		r.end()
		r.receiver.set("whk_1", always(ok()))
		r.start() // the pause also applies after a restart
		r.settle(590 * time.Second)
		if n := len(r.receiver.of("whk_1")); n != 1 {
			t.Fatalf("%d requests within 600 s", n)
		}
		r.settle(20 * time.Second)
		r.want("whk_1", ids)
		if n := len(r.receiver.of("whk_1")); n != 2 {
			t.Errorf("%d requests", n)
		}
		r.end()
	})
}

func TestMatrixGone(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(sending.Result{Class: sending.ClassGone, Status: 410, Final: true}))
		ids := r.change("north")
		r.settle(time.Second)
		ids = append(ids, r.change("north")...)
		r.settle(time.Hour)
		if n := len(r.receiver.of("whk_1")); n != 1 {
			t.Fatalf("%d requests after 410", n)
		}
		if h := r.lists.health["whk_1"]; h.Status != "disabled" || h.Reason != "gone" {
			t.Errorf("%+v", h)
		}
		if !strings.Contains(r.log.String(), "endpoint disabled") {
			t.Error("the log does not say so")
		}
		r.wantNextAttempt(false)
		r.end()
		r.start() // after a restart, the endpoint is still disabled
		r.settle(time.Hour)
		r.receiver.set("whk_1", always(ok()))
		r.hook("north", "whk_1") // an administrator enables the endpoint
		r.settle(time.Minute)
		r.want("whk_1", ids)
		r.end()
	})
}

// TestPausedPromisesNothing: while an endpoint is disabled by an administrator, the time of its next attempt is
// unknown.
func TestPausedPromisesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		enable := func(is bool) {
			r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = is })
			r.settle(time.Second)
		}
		enable(true)
		r.receiver.set("whk_1", always(sending.Result{Class: sending.ClassStatus, Status: 503, RetryAfter: time.Hour}))
		r.start()
		r.change("north")
		r.settle(time.Second)
		r.wantNextAttempt(true)
		enable(false)
		r.wantNextAttempt(false)
		enable(true)
		r.wantNextAttempt(true)
		if n := len(r.receiver.of("whk_1")); n != 1 {
			t.Errorf("%d requests", n)
		}
		r.end()
	})
}

// wantNextAttempt checks that every pending delivery has a time for its next attempt or, if known is false, that none
// has.
func (r *rig) wantNextAttempt(known bool) {
	r.t.Helper()
	pending := 0
	for _, d := range r.lists.deliveries {
		if d.State == outbound.Pending {
			pending++
			if d.NextAttemptAt.IsZero() == known {
				r.t.Errorf("next attempt at %v", d.NextAttemptAt)
			}
		}
	}
	if pending == 0 {
		r.t.Error("nothing is pending")
	}
}

func TestMatrixHangsAndSlow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = notifier.Limits{InFlight: 40, Slow: 10, PerHost: 5}
		for i := range 100 {
			id := fmt.Sprintf("whk_hangs%d", i)
			r.hook("north", id)
			r.receiver.set(id, always(sending.Result{Class: hang}))
		}
		r.hook("south", "whk_fast")
		r.start()
		r.change("north")
		r.settle(30 * time.Second) // by then, all endpoints are known to be slow
		began := time.Now()
		var ids []string
		for range 60 {
			r.change("north")
			ids = append(ids, r.change("south")...)
			r.settle(time.Second)
		}
		r.want("whk_fast", ids)
		for i, g := range r.receiver.of("whk_fast") {
			if late := g.at.Sub(began) - time.Duration(i)*time.Second; late > 200*time.Millisecond {
				t.Fatalf("event %d is %v late behind endpoints that hang", i, late)
			}
		}
		if most := r.receiver.atOnce(); most > 40 {
			t.Errorf("%d at once", most)
		}
		r.end()
	})
}

func TestMatrixPerHost(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for i := range 100 {
			r.hook(fmt.Sprintf("h%d", i), fmt.Sprintf("whk_%d", i), func(w *subscriber.Webhook) { w.URL = "https://one.example/" })
			r.receiver.set(fmt.Sprintf("whk_%d", i), always(sending.Result{Class: hang}))
		}
		r.start()
		for i := range 100 {
			r.change(fmt.Sprintf("h%d", i))
		}
		r.settle(time.Second)
		if most := r.receiver.atOnce(); most != 32 {
			t.Errorf("%d at once to one host", most)
		}
		r.settle(time.Minute) // by then, each endpoint has been tried
		for i := range 100 {
			if len(r.receiver.of(fmt.Sprintf("whk_%d", i))) == 0 {
				t.Errorf("endpoint %d had no turn", i)
			}
		}
		r.end()
	})
}

// TestMatrixDeleted: when an endpoint is deleted, the attempt in flight finishes, pending deliveries are canceled,
// and nothing more is sent.
func TestMatrixDeleted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(sending.Result{Class: hang}))
		for range 5 {
			r.change("north")
		}
		r.settle(time.Second)
		r.unhook("north", "whk_1")
		r.settle(time.Hour)
		if states := r.lists.states(); states[outbound.Cancelled] != 5 {
			t.Errorf("states %v", states)
		}
		if n := len(r.receiver.of("whk_1")); n != 1 {
			t.Errorf("%d requests", n)
		}
		r.end()
		r.start()
		r.change("north")
		r.settle(time.Hour)
		if n := len(r.receiver.of("whk_1")); n != 1 {
			t.Errorf("%d requests after a restart", n)
		}
		r.end()
	})
}

// TestDeletedKeepsAttempts: the list shows the attempts for an event that was pending when its endpoint was deleted.
func TestDeletedKeepsAttempts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.receiver.set("whk_1", always(refused()))
		r.start()
		r.change("north")
		r.settle(10 * time.Second)
		tried := len(r.receiver.of("whk_1"))
		r.unhook("north", "whk_1")
		r.settle(time.Second)
		for _, d := range r.lists.deliveries {
			if d.State != outbound.Cancelled || len(d.Attempts) != tried {
				t.Errorf("%d attempts of %d, %+v", len(d.Attempts), tried, d)
			}
		}
		r.end()
	})
}

// TestDeletedBeforeAnAttempt: no delivery stays pending, and the list shows its attempts, if its endpoint is deleted
// while no notifier runs, or is disabled when the notifier starts and deleted later.
func TestDeletedBeforeAnAttempt(t *testing.T) {
	for name, down := range map[string]bool{"while no notifier runs": true, "while disabled": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("south", "whk_1")
				r.receiver.set("whk_1", always(refused()))
				r.start()
				r.change("south")
				r.settle(10 * time.Second)
				tried := len(r.receiver.of("whk_1"))
				r.hook("south", "whk_1", func(w *subscriber.Webhook) { w.Enabled = false })
				r.end()
				if down {
					r.unhook("south", "whk_1")
				}
				r.start()
				r.settle(time.Minute)
				if !down {
					r.unhook("south", "whk_1")
					r.settle(time.Minute)
				}
				for _, d := range r.lists.deliveries {
					if d.State != outbound.Cancelled || d.Reason != "deleted" || len(d.Attempts) != tried {
						t.Errorf("%d attempts of %d, %+v", len(d.Attempts), tried, d)
					}
				}
				r.end()
			})
		})
	}
}

// TestDeletedDuringAProbe: no delivery stays pending if an endpoint is deleted while it is probed.
func TestDeletedDuringAProbe(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.receiver.set("whk_1", always(status(500)))
		r.start()
		bad := r.change("north")[0]
		next := r.change("north")[0]
		r.settle(time.Second)
		r.receiver.set("whk_1", func(m sending.Message) sending.Result {
			if m.EventID == next {
				return sending.Result{Class: hang}
			}
			return status(500)
		})
		for seen := r.receiver.of("whk_1"); seen[len(seen)-1].event == bad; seen = r.receiver.of("whk_1") {
			r.settle(time.Second)
		}
		r.unhook("north", "whk_1")
		r.settle(time.Minute)
		if states := r.lists.states(); states[outbound.Cancelled] != 2 {
			t.Errorf("states %v", states)
		}
		r.end()
	})
}

// TestMatrixRotatedMidFlight: an attempt uses the secrets that are valid when it starts, not those when it became due
// or entered the queue.
func TestMatrixRotatedMidFlight(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = notifier.Limits{InFlight: 1}
		rotate := func(id, secret string) {
			r.hook("north", id, func(w *subscriber.Webhook) { w.Secrets = []subscriber.Secret{{ID: secret}} })
		}
		signed := map[string][]string{}
		answer := func(m sending.Message) sending.Result {
			signed[m.Webhook.ID] = append(signed[m.Webhook.ID], m.Webhook.Secrets[0].ID)
			return sending.Result{Class: hang}
		}
		for _, id := range []string{"whk_1", "whk_2"} {
			rotate(id, "old")
			r.receiver.set(id, answer)
		}
		r.start()
		r.change("north")
		r.settle(time.Second) // one attempt is in flight, and the other waits for the first
		rotate("whk_1", "new")
		rotate("whk_2", "new")
		r.settle(time.Minute)
		if len(signed["whk_1"])+len(signed["whk_2"]) < 4 || len(signed["whk_1"]) == 0 || len(signed["whk_2"]) == 0 {
			t.Fatalf("attempts %v", signed)
		}
		first := 0
		for id, with := range signed {
			for i, secret := range with {
				if secret == "old" {
					first++
					if i > 0 {
						t.Errorf("%s: attempt %d is signed with the old secret", id, i+1)
					}
				}
			}
		}
		if first != 1 {
			t.Errorf("%d attempts with the old secret; one was under way: %v", first, signed)
		}
		r.end()
	})
}

// TestMatrixClockJump: the system clock jumps 48 hours forward or back while an endpoint is down. The notifier still
// sends requests to the endpoint, and after a restart with the correct clock, the event arrives within about an hour.
func TestMatrixClockJump(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -48 * time.Hour, "ahead": 48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("north", "whk_1")
				r.start()
				r.receiver.set("whk_1", always(refused()))
				ids := r.change("north")
				r.settle(time.Minute)
				r.skew.Store(int64(jump))
				r.settle(6 * time.Minute)
				tried := len(r.receiver.of("whk_1"))
				r.settle(6 * time.Minute)
				if len(r.receiver.of("whk_1")) == tried {
					t.Error("no attempt after the jump")
				}
				r.end()
				r.skew.Store(0)
				r.receiver.set("whk_1", always(ok()))
				r.start()
				r.settle(61 * time.Minute)
				r.want("whk_1", ids)
				r.end()
			})
		})
	}
}

// TestMatrix500ChangesAMinute: at 500 changes per minute, webhooks get every change.
func TestMatrix500ChangesAMinute(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		var ids []string
		for range 500 {
			ids = append(ids, r.change("north", 3)...)
			r.settle(120 * time.Millisecond)
		}
		r.settle(5 * time.Second)
		r.want("whk_1", ids)
		r.end()
	})
}

// TestLogHoldsNoPathAndNoBody: the log contains the host of a webhook's URL, but neither the path of the URL nor the
// body of an event.
func TestLogHoldsNoPathAndNoBody(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(status(500)))
		r.change("north", 4)
		r.settle(time.Minute)
		r.end()
		if log := r.log.String(); strings.Contains(log, "canary") || strings.Contains(log, "priorLevel") || !strings.Contains(log, "whk_1.example") {
			t.Error(log)
		}
	})
}
