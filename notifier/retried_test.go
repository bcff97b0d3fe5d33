package notifier_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// TestRetryOfALaterDelivery: if a retry delivers the probe, or a delivery that the queue has not picked since a restart,
// the queue does not send the event again, and the delivery stays delivered.
func TestRetryOfALaterDelivery(t *testing.T) {
	disable := func(r *rig) { r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = false }) }
	enable := func(r *rig) { r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = true }) }
	restart := func(r *rig) { r.end(); r.start() }
	none := func(*rig) {}
	for name, tt := range map[string]struct {
		before, after func(r *rig)
		head          outbound.State
	}{
		"probe":                     {none, none, outbound.Delivered},
		"probe, then a restart":     {none, restart, outbound.Delivered},
		"probe, then a kill":        {none, func(r *rig) { r.commit(); r.kill(); r.start() }, outbound.Delivered},
		"probe, then a late kill":   {none, func(r *rig) { r.settle(3 * time.Hour); r.commit(); r.kill(); r.start() }, outbound.Delivered},
		"probe, then filtered":      {none, func(r *rig) { r.hook("north", "whk_1", levelsOnly) }, outbound.Delivered},
		"probe, then deleted":       {none, func(r *rig) { r.unhook("north", "whk_1") }, outbound.Cancelled},
		"not picked":                {func(r *rig) { disable(r); restart(r) }, enable, outbound.Delivered},
		"not picked, then restart":  {func(r *rig) { disable(r); restart(r) }, func(r *rig) { restart(r); enable(r) }, outbound.Delivered},
		"not picked, then filtered": {func(r *rig) { disable(r); restart(r) }, func(r *rig) { r.hook("north", "whk_1", levelsOnly); enable(r) }, outbound.Delivered},
		"not picked, then deleted":  {func(r *rig) { disable(r); restart(r) }, func(r *rig) { r.unhook("north", "whk_1") }, outbound.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("north", "whk_1")
				r.start()
				r.receiver.set("whk_1", always(status(500)))
				ids := r.change("north", 7) // the head and the probe
				head := event.DeliveryID(ids[0], "whk_1", subscriber.ChannelWebhook)
				probe := event.DeliveryID(ids[1], "whk_1", subscriber.ChannelWebhook)
				r.settle(time.Hour)
				tt.before(r)
				r.settle(time.Second)
				before := r.lists.delivery(probe)
				r.receiver.set("whk_1", func(m sending.Message) sending.Result {
					if m.EventID == ids[1] {
						return ok()
					}
					return status(500)
				})
				r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbRetry, Delivery: probe})
				r.settle(time.Second)
				if d := r.lists.delivery(probe); d.State != outbound.Delivered || len(d.Attempts) != len(before.Attempts)+1 {
					t.Fatalf("%+v", d)
				}
				r.receiver.set("whk_1", always(status(500)))
				tt.after(r)
				r.settle(time.Hour)
				r.receiver.set("whk_1", always(ok()))
				r.settle(time.Hour)
				if d := r.lists.delivery(probe); d.State != outbound.Delivered || d.Reason != "" || len(d.Attempts) != len(before.Attempts)+1 {
					t.Errorf("%+v", d)
				}
				if d := r.lists.delivery(head); d.State != tt.head {
					t.Errorf("head %+v", d)
				}
				sent := 0
				for _, g := range r.receiver.of("whk_1") {
					if g.event == ids[1] {
						sent++
					}
				}
				if sent != len(before.Attempts)+1 {
					t.Errorf("%d requests, %d before the retry", sent, len(before.Attempts))
				}
				r.end()
			})
		})
	}
}

func levelsOnly(w *subscriber.Webhook) { w.Events = []string{outbound.LevelChanged} }

// TestRetryDuringAnAttempt: if a retry delivers an event while another attempt to send it is in flight, the delivery
// ends once, as delivered, however the other attempt ends.
func TestRetryDuringAnAttempt(t *testing.T) {
	for name, tt := range map[string]struct {
		answer sending.Result
		then   func(r *rig)
	}{
		"fails":    {sending.Result{Class: sending.ClassTimeout}, func(*rig) {}},
		"accepted": {ok(), func(*rig) {}},
		"killed":   {sending.Result{Class: hang}, func(r *rig) { r.commit(); r.kill(); r.start() }},
	} {
		for inFlight := range 2 {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.TimeoutSeconds = 60 })
					r.start()
					r.receiver.set("whk_1", always(status(500)))
					ids := r.change("north", 7) // the head and the probe
					r.settle(time.Hour)
					delivery := event.DeliveryID(ids[inFlight], "whk_1", subscriber.ChannelWebhook)
					hangs := true
					r.receiver.set("whk_1", func(m sending.Message) sending.Result {
						switch {
						case m.EventID != ids[inFlight]:
							return status(500)
						case !hangs:
							return ok()
						case tt.answer.Class != hang:
							time.Sleep(20 * time.Second)
						}
						return tt.answer
					})
					r.waitForAttempt(ids[inFlight])
					hangs = false
					r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery})
					r.settle(time.Second)
					if d := r.lists.delivery(delivery); d.State != outbound.Delivered {
						t.Fatalf("%+v", d)
					}
					tt.then(r)
					r.settle(time.Minute)
					sent := len(r.receiver.of("whk_1"))
					r.receiver.set("whk_1", func(m sending.Message) sending.Result {
						if m.EventID == ids[inFlight] {
							t.Error("sent again")
						}
						return ok()
					})
					r.settle(time.Hour)
					if d := r.lists.delivery(delivery); d.State != outbound.Delivered || d.Reason != "" {
						t.Errorf("%+v", d)
					}
					if n := r.figures.states()[outbound.Delivered]; n != r.lists.states()[outbound.Delivered] {
						t.Errorf("counted %d delivered, %v; %d requests", n, r.lists.states(), sent)
					}
					r.end()
				})
			})
		}
	}
}

// TestFailedRetryBeforeTheNextAttempt: a failed retry of a delivery that the queue has not picked since a restart counts
// among the attempts.
func TestFailedRetryBeforeTheNextAttempt(t *testing.T) {
	for _, at := range []int{0, 1} {
		bubble(t, func(t *testing.T, r *rig) {
			r.hook("north", "whk_1")
			r.start()
			r.receiver.set("whk_1", always(status(500)))
			ids := r.change("north", 7) // the head and the probe
			r.settle(time.Hour)
			r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = false })
			r.end()
			r.start()
			delivery := event.DeliveryID(ids[at], "whk_1", subscriber.ChannelWebhook)
			before := len(r.lists.delivery(delivery).Attempts)
			for i := range 2 {
				r.order(outbound.Command{ID: fmt.Sprintf("cmd_%d", i), Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery})
				r.settle(time.Minute)
			}
			if d := r.lists.delivery(delivery); d.State != outbound.Pending || len(d.Attempts) != min(before+2, sending.MaxAttemptsKept) {
				t.Errorf("after the retries: %d attempts before, %+v", before, d)
			}
			r.receiver.set("whk_1", always(ok()))
			r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = true })
			r.settle(time.Hour)
			d := r.lists.delivery(delivery)
			if d.State != outbound.Delivered || d.Attempts[len(d.Attempts)-1].N != before+3 {
				t.Errorf("%d attempts before, %+v", before, d)
			}
			r.end()
		})
	}
}

// TestOverlappingReplays: an event that one replay has delivered stays delivered if another replay, which was requested
// before that, is stopped while it fails to send the event again.
func TestOverlappingReplays(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Events = []string{outbound.Alert} })
		r.start()
		id := r.change("north")[0]
		r.settle(time.Minute)
		r.receiver.set("whk_1", always(refused()))
		for _, command := range []string{"cmd_1", "cmd_2"} {
			r.order(outbound.Command{
				ID: command, Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Only: outbound.SelectAll, Events: []string{outbound.LevelChanged},
			})
			r.settle(time.Second)
		}
		count := 0
		r.receiver.set("whk_1", func(sending.Message) sending.Result {
			if count++; count == 1 {
				return ok()
			}
			return refused()
		})
		r.settle(10 * time.Minute)
		delivery := event.DeliveryID(id, "whk_1", subscriber.ChannelWebhook)
		attempts := len(r.lists.delivery(delivery).Attempts)
		r.order(outbound.Command{ID: "cmd_3", Hospital: "north", Verb: outbound.VerbStop, Command: "cmd_2"})
		r.settle(time.Hour)
		if got, want := r.lists.states(), map[outbound.State]int{outbound.Delivered: 1}; !maps.Equal(got, want) || count < 2 {
			t.Errorf("states %v, want %v; %d requests", got, want, count)
		}
		if n := len(r.lists.delivery(delivery).Attempts); n < attempts {
			t.Errorf("%d attempts, %d before the stop", n, attempts)
		}
		r.end()
	})
}

// TestDisabledEndpointDoesNotHoldTheRestore: a restore need not begin at the pending delivery of an endpoint that has
// been disabled for hours, and the delivery keeps its attempts.
func TestDisabledEndpointDoesNotHoldTheRestore(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			r.hook("north", "whk_1")
			r.start()
			r.receiver.set("whk_1", always(status(500)))
			ids := r.change("north", 7) // the head and the probe
			r.settle(time.Hour)
			r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = false })
			r.settle(time.Second)
			if restarts {
				r.end()
				r.start()
			}
			before := r.lists.delivery(event.DeliveryID(ids[1], "whk_1", subscriber.ChannelWebhook))
			r.ledger.mu.Lock()
			end := len(r.ledger.records)
			r.ledger.mu.Unlock()
			r.settle(3 * time.Hour)
			r.commit()
			var low int
			if _, err := fmt.Sscanf(strings.TrimPrefix(r.mark.Note, "ledger "), "%d", &low); err != nil || low < end {
				t.Errorf("restore from %q, want at least %d: %v", r.mark.Note, end, err)
			}
			r.kill()
			r.start()
			r.receiver.set("whk_1", always(ok()))
			r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = true })
			r.settle(time.Hour)
			d := r.lists.delivery(before.ID)
			if d.State != outbound.Delivered || len(d.Attempts) != len(before.Attempts)+1 || len(before.Attempts) == 0 {
				t.Errorf("%+v, before %+v", d, before)
			}
			r.end()
		})
	}
}
