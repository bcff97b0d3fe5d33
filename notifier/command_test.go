package notifier_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/event"
)

func TestTestOfAnEndpoint(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(refused()))
		r.change("north") // the main queue is now stuck
		r.settle(time.Minute)
		r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_1"})
		r.settle(time.Second)
		if p := r.lists.progress["cmd_1"]; !p.Done || p.Failed != 1 || p.Delivered != 0 {
			t.Errorf("to one that is down: %+v", p)
		}
		failed := r.lists.deliveries[r.lists.progress["cmd_1"].Delivery]
		if failed.State != outbound.Failed || failed.Reason != "refused" || len(failed.Attempts) != 1 || failed.Event != outbound.Ping {
			t.Errorf("%+v", failed)
		}
		r.hook("north", "whk_2", func(w *subscriber.Webhook) { w.Enabled = false }) // a test event is also sent to a paused endpoint
		r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_2", Event: outbound.LevelChanged})
		r.order(outbound.Command{ID: "cmd_3", Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_none"})
		r.settle(time.Second)
		if p := r.lists.progress["cmd_2"]; !p.Done || p.Delivered != 1 {
			t.Errorf("to one that is up: %+v", p)
		}
		if p := r.lists.progress["cmd_3"]; !p.Done || p.Reason != "no_endpoint" {
			t.Errorf("to none: %+v", p)
		}
		r.end()
		r.start() // a test event is never in the main queue
		r.settle(time.Second)
		if n := len(r.receiver.of("whk_2")); n != 1 {
			t.Errorf("%d requests", n)
		}
		r.end()
	})
}

// TestTestDoesNotWaitForAReplay: a person who sends a test event gets its outcome while a replay to the same endpoint
// waits for its next attempt, or has many events to send.
func TestTestDoesNotWaitForAReplay(t *testing.T) {
	for name, answer := range map[string]sending.Result{"failing": refused(), "long": ok(), "hanging": {Class: hang}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.RatePerSecond = 1 })
				r.start()
				began := time.Now()
				for range 100 {
					r.change("north")
				}
				r.settle(time.Hour)
				r.receiver.set("whk_1", func(m sending.Message) sending.Result {
					if m.Event == outbound.Ping {
						return ok()
					}
					return answer
				})
				r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: began, Only: outbound.SelectAll})
				r.settle(90 * time.Second)
				for _, id := range []string{"cmd_2", "cmd_3"} {
					r.order(outbound.Command{ID: id, Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_1"})
				}
				r.settle(5 * time.Second)
				for _, id := range []string{"cmd_2", "cmd_3"} {
					if p := r.lists.progressOf(id); !p.Done || p.Delivered != 1 {
						t.Errorf("%s: %+v", id, p)
					}
				}
				if p := r.lists.progressOf("cmd_1"); p.Done {
					t.Errorf("the replay: %+v", p)
				}
				r.end()
			})
		})
	}
}

func TestRetryIsTheSame(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(status(422)))
		bad := r.change("north")[0]
		r.settle(time.Minute)
		if r.lists.states()[outbound.Rejected] != 1 {
			t.Fatalf("states %v", r.lists.states())
		}
		r.receiver.set("whk_1", always(ok()))
		next := r.change("north")
		r.settle(time.Minute)
		delivery := event.DeliveryID(bad, "whk_1", subscriber.ChannelWebhook)
		r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery, EventID: bad, Endpoint: "whk_1"})
		r.settle(time.Minute)
		r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery}) // the command names only the delivery
		r.settle(time.Minute)
		for _, id := range []string{"cmd_1", "cmd_2"} {
			if p := r.lists.progress[id]; !p.Done || p.Delivered != 1 || p.Delivery != delivery {
				t.Errorf("%s: %+v", id, p)
			}
		}
		d := r.lists.deliveries[delivery]
		if d.State != outbound.Delivered || len(d.Attempts) != 5 {
			t.Errorf("%+v", d)
		}
		for i, a := range d.Attempts { // earlier attempts are kept and counted
			if a.N != i+1 || (a.Status == 422) != (i < 3) {
				t.Errorf("attempt %d: %+v", i+1, a)
			}
		}
		r.want("whk_1", []string{bad, next[0], bad})
		r.end()
	})
}

// TestRetryOfAPendingDelivery: a retry that fails does not end a delivery that svc still retries by itself, and svc does
// not send an event again that a retry has delivered.
func TestRetryOfAPendingDelivery(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(status(500)))
		id := r.change("north")[0]
		next := r.change("north")[0]
		r.settle(10 * time.Second)
		delivery := event.DeliveryID(id, "whk_1", subscriber.ChannelWebhook)
		before := r.lists.delivery(delivery)
		if before.State != outbound.Pending || before.NextAttemptAt.IsZero() {
			t.Fatalf("%+v", before)
		}
		r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery})
		r.settle(time.Second)
		if p := r.lists.progressOf("cmd_1"); !p.Done || p.Failed != 1 {
			t.Errorf("%+v", p)
		}
		after := r.lists.delivery(delivery)
		if after.State != outbound.Pending || !after.NextAttemptAt.Equal(before.NextAttemptAt) || len(after.Attempts) != len(before.Attempts)+1 {
			t.Errorf("after a retry that failed: %+v", after)
		}
		r.settle(time.Minute) // svc retries by itself
		count := len(r.lists.delivery(delivery).Attempts)
		if count <= len(after.Attempts) {
			t.Errorf("%d attempts", count)
		}
		r.receiver.set("whk_1", always(ok()))
		r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery})
		r.settle(time.Hour)
		r.end()
		r.start()
		r.settle(time.Hour)
		d := r.lists.delivery(delivery)
		if d.State != outbound.Delivered || len(d.Attempts) != count+1 || r.lists.progressOf("cmd_2").Delivered != 1 {
			t.Errorf("after a retry that succeeded: %+v", d)
		}
		for i, a := range d.Attempts {
			if a.N != i+1 {
				t.Errorf("attempt %d is number %d", i+1, a.N)
			}
		}
		all := r.receiver.of("whk_1")
		if len(all) != count+2 || all[count].event != id || all[count+1].event != next {
			t.Errorf("%d requests, want %d: %+v", len(all), count+2, all)
		}
		r.end()
	})
}

// TestRetryBeforeTheNextAttempt: svc does not send an event again that a retry has delivered, even if the event had
// not been picked since the restart or was waiting for a slot.
func TestRetryBeforeTheNextAttempt(t *testing.T) {
	const dead = 30
	for name, disabled := range map[string]bool{"not picked": true, "waiting": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.limits = notifier.Limits{Slow: 1}
				r.hook("north", "whk_1")
				r.receiver.set("whk_1", always(refused()))
				r.start()
				id := r.change("north")[0]
				r.settle(10 * time.Second)
				if disabled {
					r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = false })
					r.end()
					r.start()
				}
				for i := range dead { // they occupy the only slot for slow endpoints
					r.hook("south", fmt.Sprintf("whk_dead%d", i))
					r.receiver.set(fmt.Sprintf("whk_dead%d", i), always(sending.Result{Class: hang}))
				}
				r.change("south")
				r.settle(90 * time.Second)
				tried := len(r.receiver.of("whk_1"))
				r.receiver.set("whk_1", always(ok()))
				delivery := event.DeliveryID(id, "whk_1", subscriber.ChannelWebhook)
				r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery})
				r.settle(time.Second)
				r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = true })
				r.settle(time.Hour)
				if n := len(r.receiver.of("whk_1")); n != tried+1 {
					t.Errorf("%d requests, %d before the retry", n, tried)
				}
				if d := r.lists.delivery(delivery); d.State != outbound.Delivered || len(d.Attempts) != tried+1 {
					t.Errorf("%+v", d)
				}
				r.end()
			})
		})
	}
}

func TestReplay(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.change("north")
		r.settle(time.Hour)
		since := time.Now()
		var ids []string
		r.receiver.set("whk_1", func(m sending.Message) sending.Result {
			if len(ids) == 200 && m.EventID == ids[100] {
				return status(422)
			}
			return ok()
		})
		for range 200 {
			c, more := r.make("north")
			ids = append(ids, more...)
			r.verdicts[len(r.verdicts)-1] = c
		}
		r.hand(r.verdicts[1:])
		r.settle(time.Hour)
		until := time.Now()
		r.change("north")
		r.settle(time.Minute)
		again := func(id string, only outbound.Selection) []got {
			t.Helper()
			before := len(r.receiver.of("whk_1"))
			r.order(outbound.Command{ID: id, Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: since, Until: until, Only: only})
			r.settle(time.Minute)
			if p := r.lists.progress[id]; !p.Done || p.Reason != "" {
				t.Fatalf("%s: %+v", id, p)
			}
			return r.receiver.of("whk_1")[before:]
		}
		// A dry run counts what would be sent but sends nothing.
		for only, want := range map[outbound.Selection]int{outbound.SelectMissing: 1, outbound.SelectFailed: 1, outbound.SelectAll: 200} {
			before, id := len(r.receiver.of("whk_1")), "cmd_dry_"+string(only)
			r.order(outbound.Command{ID: id, Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: since, Until: until, Only: only, DryRun: true})
			r.settle(time.Minute)
			if p := r.lists.progress[id]; !p.Done || p.Reason != "" || p.Count != want || p.Delivered+p.Failed != 0 || len(r.receiver.of("whk_1")) != before {
				t.Errorf("dry run of %s: %+v, %d requests", only, p, len(r.receiver.of("whk_1"))-before)
			}
		}
		if list := again("cmd_missing", outbound.SelectMissing); len(list) != 3 || list[0].event != ids[100] {
			t.Errorf("missing: %d requests", len(list))
		}
		if list := again("cmd_all", outbound.SelectAll); len(list) != 202 {
			t.Errorf("all: %d requests, one event is refused three times", len(list))
		} else if err := inOrder(list, ids); err != nil {
			t.Errorf("all: %v", err)
		} else if took := list[len(list)-1].at.Sub(list[0].at); took < 200*time.Second/30 {
			t.Errorf("200 within %v: the second queue has half the rate", took)
		}
		r.receiver.set("whk_1", always(ok()))
		if list := again("cmd_failed", outbound.SelectFailed); len(list) != 1 || list[0].event != ids[100] {
			t.Errorf("failed: %d requests", len(list))
		}
		// Earlier attempts are kept: three original refusals, six refusals in two replays, and then
		// the accepted attempt.
		if d := r.lists.deliveries[event.DeliveryID(ids[100], "whk_1", subscriber.ChannelWebhook)]; len(d.Attempts) != 10 || d.Attempts[9].N != 10 || d.Attempts[0].Status != 422 {
			t.Errorf("one that was replayed three times: %+v", d)
		}
		if d := r.lists.deliveries[event.DeliveryID(ids[0], "whk_1", subscriber.ChannelWebhook)]; len(d.Attempts) != 2 {
			t.Errorf("one that was replayed once: %+v", d)
		}
		if p := r.lists.progress["cmd_all"]; p.Count != 200 || p.Delivered != 199 || p.Failed != 1 {
			t.Errorf("%+v", p)
		}
		if list := again("cmd_none", outbound.SelectMissing); len(list) != 0 {
			t.Errorf("nothing is missing: %d requests", len(list))
		}
		r.end()
	})
}

func TestReplayIsStoppedAndResumed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.RatePerSecond = 4 })
		r.start()
		since := time.Now()
		for range 100 {
			r.change("north")
		}
		r.settle(time.Hour)
		r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: since, Only: outbound.SelectAll})
		r.settle(20 * time.Second) // enough time for forty events
		r.end()
		r.start()
		r.settle(2 * time.Minute)
		list := r.receiver.of("whk_1")[100:]
		if p := r.lists.progress["cmd_1"]; !p.Done || len(list) < 100 || len(list) > 105 {
			t.Errorf("%d requests, %+v", len(list), p)
		}
		r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: since, Only: outbound.SelectAll})
		r.settle(10 * time.Second)
		r.order(outbound.Command{ID: "cmd_3", Hospital: "north", Verb: outbound.VerbStop, Command: "cmd_2"})
		r.settle(time.Second)
		sent := len(r.receiver.of("whk_1"))
		r.settle(time.Hour)
		if p := r.lists.progress["cmd_2"]; !p.Done || !p.Stopped || len(r.receiver.of("whk_1")) != sent {
			t.Errorf("after the stop: %+v", p)
		}
		if p := r.lists.progress["cmd_3"]; !p.Done || p.Reason != "" {
			t.Errorf("%+v", p)
		}
		r.end()
	})
}

// TestReplayToANewEndpoint: a replay sends events that precede the creation of the endpoint, even if the main queue has
// not begun because the endpoint is disabled.
func TestReplayToANewEndpoint(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.start()
		r.change("north")
		r.settle(time.Minute)
		began := time.Now()
		ids := append(r.change("north"), r.change("north")...)
		r.settle(time.Minute)
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = false })
		later := r.change("north")
		r.settle(time.Second)
		r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: began, Only: outbound.SelectMissing})
		r.settle(time.Minute)
		r.want("whk_1", ids)
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = true })
		r.settle(time.Minute)
		r.want("whk_1", append(ids, later...))
		r.end()
	})
}

// TestReplayToAFailingEndpointEnds: a replay sends nothing more after it has been stopped, although an event is still
// retried, or after a 410. The next command is then executed. The events keep the state that they had before, and an
// event that had never been sent is canceled.
func TestReplayToAFailingEndpointEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		answer sending.Result
		stop   bool
		reason string
	}{
		"stopped": {refused(), true, "stopped"},
		"gone":    {sending.Result{Class: sending.ClassGone, Status: 410, Final: true}, false, "gone"},
	} {
		for _, sent := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.hook("north", "whk_1", func(w *subscriber.Webhook) {
						if !sent {
							w.Events = []string{outbound.Alert}
						}
					})
					r.start()
					began := time.Now()
					for range 3 {
						r.change("north")
					}
					r.settle(time.Minute)
					r.receiver.set("whk_1", always(tt.answer))
					r.order(outbound.Command{
						ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: began, Only: outbound.SelectAll,
						Events: []string{outbound.LevelChanged},
					})
					r.settle(10 * time.Second)
					if tt.stop {
						r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbStop, Command: "cmd_1"})
						r.settle(time.Second)
					}
					if p := r.lists.progressOf("cmd_1"); !p.Done || p.Reason != tt.reason {
						t.Errorf("%+v", p)
					}
					requests := len(r.receiver.of("whk_1"))
					r.settle(time.Hour)
					r.receiver.set("whk_1", always(ok()))
					r.order(outbound.Command{ID: "cmd_3", Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_1"})
					r.settle(time.Second)
					if p := r.lists.progressOf("cmd_3"); !p.Done || p.Delivered != 1 {
						t.Errorf("%+v", p)
					}
					if n := len(r.receiver.of("whk_1")); n != requests+1 {
						t.Errorf("%d requests, %d before the test", n, requests)
					}
					want := map[outbound.State]int{outbound.Delivered: 4}
					if !sent {
						want = map[outbound.State]int{outbound.Cancelled: 1, outbound.Delivered: 1}
					}
					if got := r.lists.states(); !maps.Equal(got, want) {
						t.Errorf("states %v, want %v", got, want)
					}
					for _, d := range r.lists.deliveries {
						if d.State == outbound.Cancelled && d.Reason != tt.reason {
							t.Errorf("%+v", d)
						}
					}
					r.end()
				})
			})
		}
	}
}

// TestReplayPassesPoison: an event that always gets 5xx holds up a replay for at most 42 minutes: a probe is due after
// half an hour, the next attempt of the event follows within 6 minutes, and the probe within another 6. The position of
// the event does not matter, although the event after number 63 must first be read from the ledger.
func TestReplayPassesPoison(t *testing.T) {
	for _, at := range []int{3, 63, 64} { // a replay keeps 64 events in memory
		bubble(t, func(t *testing.T, r *rig) {
			r.hook("north", "whk_1")
			r.start()
			var ids []string
			for range 70 {
				ids = append(ids, r.change("north")...)
			}
			r.settle(time.Minute)
			r.receiver.set("whk_1", func(m sending.Message) sending.Result {
				if m.EventID == ids[at] {
					return status(500)
				}
				return ok()
			})
			r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Only: outbound.SelectAll})
			r.settle(42*time.Minute + 10*time.Second) // the other events also need time
			if p := r.lists.progress["cmd_1"]; !p.Done || p.Delivered != 69 || p.Failed != 1 {
				t.Errorf("with event %d refused: %+v", at, p)
			}
			r.end()
		})
	}
}

// TestRefillOfACommand: a command that ends while the lists are rebuilt stays done, although the rebuild read its record
// before that.
func TestRefillOfACommand(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		gate := make(chan struct{})
		r.receiver.set("whk_1", func(sending.Message) sending.Result {
			<-gate
			return ok()
		})
		r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_1", Channel: subscriber.ChannelWebhook})
		r.settle(time.Second)
		clear(r.lists.progress)
		refilled := make(chan error)
		go func() { refilled <- r.n.RefillLists(t.Context(), 0, func(context.Context) {}) }()
		synctest.Wait() // the rebuild has begun to read the ledger
		close(gate)
		synctest.Wait()
		if err := <-refilled; err != nil {
			t.Fatal(err)
		}
		if p := r.lists.progress["cmd_1"]; !p.Done || p.Delivered != 1 {
			t.Errorf("progress %+v", p)
		}
		r.receiver.set("whk_1", always(sending.Result{Class: hang}))
		r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_1", Channel: subscriber.ChannelWebhook})
		r.settle(time.Second)
		clear(r.lists.progress)
		if err := r.n.RefillLists(t.Context(), 0, func(context.Context) {}); err != nil {
			t.Fatal(err)
		}
		if one, two := r.lists.progress["cmd_1"], r.lists.progress["cmd_2"]; !one.Done || two.Done || two.Count != 1 {
			t.Errorf("then progress %+v and %+v", one, two)
		}
		r.end()
	})
}
