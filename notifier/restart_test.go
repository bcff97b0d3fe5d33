package notifier_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// TestProbeEndsAfterARestart: a probe that was pending before a restart ends, even if its endpoint no longer wants it.
func TestProbeEndsAfterARestart(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(r *rig)
		head      outbound.State
		probe     outbound.State
		reason    string
		attempts  int // more attempts of the probe
	}{
		"unchanged": {func(*rig) {}, outbound.Delivered, outbound.Delivered, "", 1},
		"filtered": {func(r *rig) {
			r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Events = []string{outbound.LevelChanged} })
		}, outbound.Delivered, outbound.Cancelled, "unsubscribed", 0},
		"deleted": {func(r *rig) { r.unhook("north", "whk_1") }, outbound.Cancelled, outbound.Cancelled, "deleted", 0},
	} {
		for _, graceful := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.hook("north", "whk_1")
					r.start()
					r.receiver.set("whk_1", always(status(500)))
					ids := r.change("north", 7)
					head := event.DeliveryID(ids[0], "whk_1", subscriber.ChannelWebhook)
					probe := event.DeliveryID(ids[1], "whk_1", subscriber.ChannelWebhook)
					r.settle(time.Hour)
					before := r.lists.delivery(probe)
					if before.State != outbound.Pending || len(before.Attempts) == 0 {
						t.Fatalf("probe %+v", before)
					}
					if graceful {
						r.end()
					} else {
						r.commit()
						r.kill()
					}
					tt.meanwhile(r)
					r.receiver.set("whk_1", always(ok()))
					r.start()
					r.settle(time.Hour)
					d := r.lists.delivery(probe)
					if d.State != tt.probe || d.Reason != tt.reason || len(d.Attempts) != len(before.Attempts)+tt.attempts {
						t.Errorf("probe %+v", d)
					}
					if d := r.lists.delivery(head); d.State != tt.head {
						t.Errorf("head %+v", d)
					}
					r.end()
				})
			})
		}
	}
}

// TestStoppedReplayEndsAfterARestart: a delivery of a replay that was pending before a restart ends with the replay,
// whenever the replay is stopped, and whenever its endpoint is deleted.
func TestStoppedReplayEndsAfterARestart(t *testing.T) {
	stop := func(r *rig) {
		r.order(outbound.Command{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbStop, Command: "cmd_1"})
	}
	hangs := func(r *rig) { r.receiver.set("whk_1", always(sending.Result{Class: hang})) }
	none := func(*rig) {}
	for name, tt := range map[string]struct {
		before, meanwhile, atOnce, later func(r *rig)
		reason                           string
	}{
		"while down":                  {none, stop, none, none, "stopped"},
		"at once":                     {none, none, stop, none, "stopped"},
		"later":                       {none, none, none, stop, "stopped"},
		"with an attempt in flight":   {func(r *rig) { hangs(r); r.settle(30 * time.Second); stop(r); r.settle(time.Second) }, none, none, none, "stopped"},
		"endpoint deleted while down": {none, func(r *rig) { r.unhook("north", "whk_1") }, none, none, "deleted"},
		"endpoint deleted at once":    {none, none, func(r *rig) { r.unhook("north", "whk_1") }, none, "deleted"},
		"endpoint deleted later":      {none, none, none, func(r *rig) { r.unhook("north", "whk_1") }, "deleted"},
		"not stopped":                 {none, none, none, func(r *rig) { r.receiver.set("whk_1", always(ok())) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Events = []string{outbound.Alert} })
				r.start()
				began := time.Now()
				ids := append(r.change("north"), r.change("north")...)
				r.settle(time.Minute)
				r.receiver.set("whk_1", always(refused()))
				r.order(outbound.Command{
					ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay, Endpoint: "whk_1", Since: began, Only: outbound.SelectMissing,
					Events: []string{outbound.LevelChanged},
				})
				r.settle(time.Minute)
				delivery := event.DeliveryID(ids[0], "whk_1", subscriber.ChannelWebhook)
				if d := r.lists.delivery(delivery); d.State != outbound.Pending {
					t.Fatalf("%+v", d)
				}
				tt.before(r)
				r.commit()
				r.kill()
				tt.meanwhile(r)
				r.start()
				tt.atOnce(r)
				r.settle(time.Minute)
				tt.later(r)
				r.settle(time.Hour)
				want := map[outbound.State]int{outbound.Cancelled: 1}
				if tt.reason == "" {
					want = map[outbound.State]int{outbound.Delivered: 2}
				}
				if got := r.lists.states(); !maps.Equal(got, want) {
					t.Errorf("states %v, want %v", got, want)
				}
				if d := r.lists.delivery(delivery); d.Reason != tt.reason || len(d.Attempts) == 0 || !d.NextAttemptAt.IsZero() {
					t.Errorf("%+v", d)
				}
				if p := r.lists.progressOf("cmd_1"); !p.Done {
					t.Errorf("%+v", p)
				}
				sent := len(r.receiver.of("whk_1"))
				r.end()
				r.start()
				r.settle(time.Hour)
				if n := len(r.receiver.of("whk_1")); n != sent {
					t.Errorf("%d requests after another restart", n-sent)
				}
				r.end()
			})
		})
	}
}

// TestEveryDeliveryEnds: after any sequence of changes, commands, new settings and restarts, no delivery is pending once
// the receivers have accepted all requests for long enough.
func TestEveryDeliveryEnds(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				random := rand.New(rand.NewPCG(seed, 1))
				began, orders, replay, events := time.Now(), 0, "", []string{}
				order := func(c outbound.Command) {
					orders++
					c.ID, c.Hospital, c.Endpoint = fmt.Sprintf("cmd_%d", orders), "north", "whk_1"
					r.order(c)
				}
				wanted := func(w *subscriber.Webhook) {
					w.Events = [][]string{{outbound.LevelChanged}, {outbound.RoomRescored}, {outbound.LevelChanged, outbound.RoomRescored}}[random.IntN(3)]
				}
				r.hook("north", "whk_1", wanted)
				r.start()
				for range 60 {
					switch random.IntN(14) {
					case 0, 1:
						events = append(events, r.change("north", 7)...)
					case 2:
						r.receiver.set("whk_1", always([]sending.Result{ok(), refused(), status(500), status(500), status(422), {Class: hang}}[random.IntN(6)]))
					case 3:
						r.hook("north", "whk_1", wanted)
					case 4:
						r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = random.IntN(2) == 0 })
					case 5:
						if random.IntN(4) == 0 {
							r.unhook("north", "whk_1")
						}
					case 6:
						order(outbound.Command{
							Verb: outbound.VerbReplay, Since: began, Only: outbound.SelectAll,
							Events: []string{outbound.LevelChanged, outbound.RoomRescored},
						})
						replay = fmt.Sprintf("cmd_%d", orders)
					case 7:
						order(outbound.Command{Verb: outbound.VerbStop, Command: replay})
					case 8:
						order(outbound.Command{Verb: outbound.VerbTest})
						if len(events) > 0 {
							id := event.DeliveryID(events[random.IntN(len(events))], "whk_1", subscriber.ChannelWebhook)
							order(outbound.Command{Verb: outbound.VerbRetry, Delivery: id})
						}
					case 9, 10:
						if random.IntN(2) == 0 {
							r.end()
						} else {
							r.commit()
							r.settle(time.Duration(random.IntN(3)) * time.Second)
							r.kill()
						}
						r.start()
					default:
						r.settle([]time.Duration{0, time.Second, time.Minute, time.Hour, time.Hour}[random.IntN(5)])
					}
				}
				r.receiver.set("whk_1", always(ok()))
				if _, there := r.settings.Webhook("north", "whk_1"); there {
					r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.Enabled = true })
				}
				r.settle(100 * time.Hour)
				for id, d := range r.lists.deliveries {
					if d.State == outbound.Pending {
						t.Errorf("%s: %+v", id, d)
					}
				}
				for id, p := range r.lists.progress {
					if !p.Done {
						t.Errorf("%s: %+v", id, p)
					}
				}
				r.end()
			})
		})
	}
}
