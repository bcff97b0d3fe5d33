package notifier_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// TestLimits: there are at most 512 concurrent requests in total, and at most 128 to slow endpoints.
func TestLimits(t *testing.T) {
	const endpoints, all, slow = 700, 512, 128
	bubble(t, func(t *testing.T, r *rig) {
		for i := range endpoints {
			id := fmt.Sprintf("whk_%d", i)
			r.hook(fmt.Sprintf("h%d", i), id)
			r.receiver.set(id, always(sending.Result{Class: hang}))
		}
		r.start()
		for i := range endpoints {
			r.change(fmt.Sprintf("h%d", i))
		}
		r.settle(time.Second)
		if most := r.receiver.atOnce(); most != all {
			t.Errorf("%d at once, want %d", most, all)
		}
		r.settle(30 * time.Second) // by then, each endpoint has been tried and found slow
		r.receiver.mu.Lock()
		r.receiver.most = 0
		r.receiver.mu.Unlock()
		r.settle(5 * time.Minute)
		if most := r.receiver.atOnce(); most != slow {
			t.Errorf("%d at once to slow ones, want %d", most, slow)
		}
		r.end()
	})
}

// TestLateEventsAreNotTried: events that expire while an endpoint is down are not sent when the endpoint is up again.
func TestLateEventsAreNotTried(t *testing.T) {
	const late = 200
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.receiver.set("whk_1", always(refused()))
		r.start()
		for range late {
			r.change("north")
		}
		r.settle(72*time.Hour + 6*time.Minute)
		if states := r.lists.states(); states[outbound.Expired] != late {
			t.Errorf("states %v", states)
		}
		r.receiver.set("whk_1", always(ok()))
		ids := r.change("north")
		r.settle(6 * time.Minute)
		seen := r.receiver.of("whk_1")
		if last := seen[len(seen)-1]; last.event != ids[0] {
			t.Errorf("the last request is of %s", last.event)
		}
		r.end()
	})
}

// TestReplayAtHalfTheRate: a replay sends events at half the endpoint's maximum rate.
func TestReplayAtHalfTheRate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.RatePerSecond = 2 })
		r.start()
		began := time.Now()
		for range 60 {
			r.change("north")
		}
		r.settle(time.Minute)
		if n := len(r.receiver.of("whk_1")); n != 60 {
			t.Fatalf("%d of 60 events within a minute at 2 a second", n)
		}
		r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: began.Add(-time.Minute), Only: outbound.SelectAll})
		r.settle(30 * time.Second)
		if n := len(r.receiver.of("whk_1")) - 60; n < 28 || n > 33 {
			t.Errorf("%d events again within 30 s at 1 a second", n)
		}
		r.end()
	})
}

// TestRestoreIsShort: a restore reads little more than the last hour of the ledger, even if some queues have been
// idle for longer.
func TestRestoreIsShort(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_busy")
		r.hook("north", "whk_asleep", func(w *subscriber.Webhook) { w.Events = []string{outbound.Alert} })
		r.hook("south", "whk_seldom")
		r.start()
		r.change("south")
		for range 5 * 60 {
			r.change("north")
			r.settle(time.Minute)
		}
		r.commit()
		text, _, _ := strings.Cut(strings.TrimPrefix(r.mark.Note, "ledger "), " ")
		low, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(r.ledger.times[low]); age > 65*time.Minute {
			t.Errorf("a restore would begin %v ago", age)
		}
		r.end()
	})
}

// TestAttemptsKept: the last twenty attempts are kept, with their numbers.
func TestAttemptsKept(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.receiver.set("whk_1", always(refused()))
		r.start()
		r.change("north")
		r.settle(4 * time.Hour)
		n := len(r.receiver.of("whk_1"))
		for _, d := range r.lists.deliveries {
			if kept := len(d.Attempts); kept != sending.MaxAttemptsKept || d.Attempts[kept-1].N != n {
				t.Errorf("%d attempts kept of %d, the last is %d", kept, n, d.Attempts[kept-1].N)
			}
		}
		r.end()
	})
}

// TestReplayKeepsToItsWindow: a replay sends exactly the events in [Since, Until).
func TestReplayKeepsToItsWindow(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		var ids []string
		began := time.Now()
		for range 5 {
			ids = append(ids, r.change("north")...)
			r.settle(10 * time.Second)
		}
		r.order(outbound.Command{
			ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Only: outbound.SelectAll,
			Since: began.Add(10 * time.Second), Until: began.Add(30 * time.Second),
		})
		r.settle(time.Minute)
		r.want("whk_1", append(ids, ids[1:3]...))
		r.end()
	})
}

// TestNoteOfAnotherLedger: the ledger offset in a committed note is ignored if the ledger has since been recreated.
func TestNoteOfAnotherLedger(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		ids := r.change("north")
		r.settle(time.Second)
		r.end()
		r.mark.Note = "ledger 1000 another"
		r.start()
		ids = append(ids, r.change("north")...)
		r.settle(time.Second)
		r.want("whk_1", ids)
		r.commit()
		if low, _, _ := strings.Cut(strings.TrimPrefix(r.mark.Note, "ledger "), " "); len(low) > 2 {
			r.t.Errorf("the next restore would begin by %q", r.mark.Note)
		}
		r.end()
	})
}

// TestFiltersHoldWhenAnEventIsSent: filters apply when an event is sent, not when it was created. An endpoint that
// was down gets only the events that match its filters at the time when it is up again.
func TestFiltersHoldWhenAnEventIsSent(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.receiver.set("whk_1", always(refused()))
		r.start()
		first := r.change("north", 1, 2) // changes the level and two rooms
		r.settle(time.Second)
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Rooms = []int32{2} })
		second := r.change("north", 1, 2)
		r.settle(time.Second)
		r.receiver.set("whk_1", always(ok()))
		r.settle(time.Hour)
		r.want("whk_1", []string{first[0], first[2], second[0], second[2]})
		r.end()
	})
}

// TestUnsubscribedFromAFailingEvent: an endpoint that fails for an event gets the next event as soon as it no longer
// subscribes to the failing one, also if that is known only after a restart.
func TestUnsubscribedFromAFailingEvent(t *testing.T) {
	for name, restart := range map[string]bool{"running": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("north", "whk_1")
				r.receiver.set("whk_1", func(m sending.Message) sending.Result {
					if m.Event == outbound.RoomRescored {
						return refused()
					}
					return ok()
				})
				r.start()
				ids := r.change("north", 1)
				r.settle(10 * time.Second)
				if restart {
					r.end()
				}
				r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Events = []string{outbound.LevelChanged} })
				if restart {
					r.start()
				}
				r.settle(time.Second)
				failed := r.lists.delivery(event.DeliveryID(ids[1], "whk_1", subscriber.ChannelWebhook))
				if failed.State != outbound.Cancelled || failed.Reason != "unsubscribed" || len(failed.Attempts) != 3 {
					t.Errorf("%+v", failed)
				}
				ids = append(ids, r.change("north")...)
				r.settle(time.Minute)
				r.want("whk_1", ids)
				r.end()
			})
		})
	}
}

// TestUnsubscribedFromTheProbe: if an endpoint no longer subscribes to the event with which svc probes it, the failing
// event before it is sent after a restart, too.
func TestUnsubscribedFromTheProbe(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.receiver.set("whk_1", always(status(500)))
		r.start()
		ids := r.change("north", 1)
		probe := event.DeliveryID(ids[1], "whk_1", subscriber.ChannelWebhook)
		for len(r.lists.delivery(probe).Attempts) == 0 {
			r.settle(time.Minute)
		}
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Events = []string{outbound.LevelChanged} })
		r.settle(time.Second)
		if state := r.lists.delivery(probe).State; state != outbound.Cancelled {
			t.Error(state)
		}
		r.end()
		r.receiver.set("whk_1", always(ok()))
		r.start()
		r.settle(20 * time.Minute)
		if head := r.lists.delivery(event.DeliveryID(ids[0], "whk_1", subscriber.ChannelWebhook)); head.State != outbound.Delivered {
			t.Errorf("%+v", head)
		}
		r.end()
	})
}
