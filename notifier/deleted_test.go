package notifier_test

import (
	"maps"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// waitForAttempt waits until an attempt to send the event is in flight.
func (r *rig) waitForAttempt(id string) {
	r.t.Helper()
	for range 3600 {
		r.receiver.mu.Lock()
		found := r.receiver.flying > 0 && r.receiver.seen[len(r.receiver.seen)-1].event == id
		r.receiver.mu.Unlock()
		if found {
			return
		}
		r.settle(time.Second)
	}
	r.t.Fatal("no attempt")
}

// TestDeletedDuringAnAttempt: if an endpoint is deleted during an attempt, the deliveries of its head and its probe end,
// even if the attempt is interrupted or the process dies. Each is counted once.
func TestDeletedDuringAnAttempt(t *testing.T) {
	canceled := map[outbound.State]int{outbound.Cancelled: 2}
	for name, tt := range map[string]struct {
		then   func(r *rig)
		answer sending.Result // of the attempt in flight
		want   map[outbound.State]int
		counts bool // whether the process lives long enough to count both
	}{
		"fails":       {func(*rig) {}, sending.Result{Class: sending.ClassTimeout}, canceled, true},
		"accepts":     {func(*rig) {}, ok(), map[outbound.State]int{outbound.Cancelled: 1, outbound.Delivered: 1}, true},
		"interrupted": {func(r *rig) { r.end(); r.start() }, sending.Result{Class: hang}, canceled, true},
		"killed":      {func(r *rig) { r.settle(time.Second); r.commit(); r.kill(); r.start() }, sending.Result{Class: hang}, canceled, false},
	} {
		for inFlight := range 2 {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.TimeoutSeconds = 60 })
					r.start()
					r.receiver.set("whk_1", always(status(500)))
					ids := r.change("north", 7) // the head and the probe
					r.settle(time.Hour)
					if d := r.lists.delivery(event.DeliveryID(ids[1], "whk_1", subscriber.ChannelWebhook)); d.State != outbound.Pending {
						t.Fatalf("probe %+v", d)
					}
					r.receiver.set("whk_1", func(m sending.Message) sending.Result {
						if m.EventID != ids[inFlight] {
							return status(500)
						}
						if tt.answer.Class != hang {
							time.Sleep(5 * time.Second)
						}
						return tt.answer
					})
					r.waitForAttempt(ids[inFlight])
					r.unhook("north", "whk_1")
					tt.then(r)
					r.settle(time.Hour)
					if got := r.lists.states(); !maps.Equal(got, tt.want) {
						t.Errorf("states %v, want %v", got, tt.want)
					}
					if got := r.figures.states(); tt.counts && !maps.Equal(got, tt.want) {
						t.Errorf("counted %v, want %v", got, tt.want)
					}
					r.end()
				})
			})
		}
	}
}

// TestReplayStoppedDuringAnAttempt: if a replay is stopped during an attempt, the delivery ends once, when the attempt
// ends, even if the attempt is interrupted.
func TestReplayStoppedDuringAnAttempt(t *testing.T) {
	for name, tt := range map[string]struct {
		then   func(r *rig)
		answer sending.Result
		want   outbound.State
	}{
		"fails":       {func(*rig) {}, sending.Result{Class: sending.ClassTimeout}, outbound.Cancelled},
		"accepts":     {func(*rig) {}, ok(), outbound.Delivered},
		"interrupted": {func(r *rig) { r.end(); r.start() }, sending.Result{Class: hang}, outbound.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Events, w.TimeoutSeconds = []string{outbound.Alert}, 60 })
				r.start()
				id := r.change("north")[0]
				r.settle(time.Minute)
				r.receiver.set("whk_1", always(refused()))
				r.order(outbound.Command{
					ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Only: outbound.SelectMissing,
					Events: []string{outbound.LevelChanged},
				})
				r.settle(time.Minute)
				r.receiver.set("whk_1", func(sending.Message) sending.Result {
					if tt.answer.Class != hang {
						time.Sleep(5 * time.Second)
					}
					return tt.answer
				})
				r.settle(time.Second)
				r.waitForAttempt(id)
				r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbStop, Command: "cmd_1"})
				r.settle(time.Second)
				tt.then(r)
				r.settle(time.Hour)
				want := map[outbound.State]int{tt.want: 1}
				if got := r.lists.states(); !maps.Equal(got, want) {
					t.Errorf("states %v, want %v", got, want)
				}
				if got := r.figures.states(); !maps.Equal(got, want) {
					t.Errorf("counted %v, want %v", got, want)
				}
				r.end()
			})
		})
	}
}

// TestRetryStoppedDuringAnAttempt: if a retry of a pending delivery is stopped during its attempt, which fails or is
// interrupted, svc still retries the delivery by itself.
func TestRetryStoppedDuringAnAttempt(t *testing.T) {
	for name, then := range map[string]func(r *rig){"fails": func(*rig) {}, "interrupted": func(r *rig) { r.end(); r.start() }} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("north", "whk_1")
				r.start()
				r.receiver.set("whk_1", always(refused()))
				delivery := event.DeliveryID(r.change("north")[0], "whk_1", subscriber.ChannelWebhook)
				r.settle(time.Hour)
				r.receiver.set("whk_1", always(sending.Result{Class: hang}))
				r.order(outbound.Command{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery})
				r.settle(time.Second)
				r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbStop, Command: "cmd_1"})
				r.settle(time.Second)
				then(r)
				r.settle(20 * time.Second)
				if d := r.lists.delivery(delivery); d.State != outbound.Pending {
					t.Errorf("%+v", d)
				}
				r.receiver.set("whk_1", always(ok()))
				r.settle(time.Hour)
				if d := r.lists.delivery(delivery); d.State != outbound.Delivered || r.figures.states()[outbound.Delivered] != 1 {
					t.Errorf("%+v, counted %v", d, r.figures.states())
				}
				r.end()
			})
		})
	}
}
