package notifier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/event"
	"svc/schemas/ledger"
)

func idsOf(t testing.TB, c notifier.Change) (ids []string) {
	t.Helper()
	events, err := event.FromChange(c.Change, c.Offset)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

// bubble runs a test with a simulated clock.
func bubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.abort()
		test(t, r)
	})
}

func TestEveryChangeInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.hook("north", "whk_2", func(w *subscriber.Webhook) { w.Events = []string{outbound.LevelChanged} })
		r.hook("north", "whk_3", func(w *subscriber.Webhook) { w.Events, w.Rooms = []string{outbound.RoomRescored}, []int32{7} })
		r.hook("south", "whk_4")
		r.start()
		var all, levels, room []string
		for range 20 {
			ids := r.change("north", 4, 7)
			all, levels, room = append(all, ids...), append(levels, ids[0]), append(room, ids[2])
		}
		south := r.change("south")
		r.settle(time.Minute)
		r.want("whk_1", all)
		r.want("whk_2", levels)
		r.want("whk_3", room)
		r.want("whk_4", south)
		if n := r.lists.states()[outbound.Delivered]; n != len(all) {
			t.Errorf("the lists show %d delivered", n)
		}
		r.end()
	})
}

func TestRestartSendsNothingTwice(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		var all []string
		for range 5 {
			r.start()
			for range 4 {
				all = append(all, r.change("north", 1)...)
			}
			r.settle(time.Minute)
			r.commit()
			r.end()
		}
		r.want("whk_1", all)
		if n := len(r.receiver.of("whk_1")); n != len(all) {
			t.Errorf("%d requests for %d events", n, len(all))
		}
	})
}

// TestDownForADay: changes that were committed while no notifier was running are sent later.
func TestDownForADay(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		all := r.change("north")
		r.settle(time.Second)
		r.end()
		r.n = nil
		for range 100 {
			time.Sleep(time.Hour) // 100 hours in total, longer than the expiry of an event
			all = append(all, r.change("north")...)
		}
		r.start()
		r.settle(time.Minute)
		r.want("whk_1", all)
		r.end()
	})
}

// TestCheckpointRepeatsNothing: a checkpoint of the verdicts topic repeats the last change of each hospital. The
// notifier does not send the events of that change again, even after a restart.
func TestCheckpointRepeatsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		ids := r.change("north", 1, 2)
		r.settle(time.Second)
		again := r.verdicts[0]
		again.Offset = 100
		r.hand([]notifier.Change{again})
		r.settle(time.Second)
		r.end()
		r.start()
		again.Offset = 200
		r.hand([]notifier.Change{again})
		r.settle(3 * time.Hour) // ledger records are written again
		r.commit()
		r.end()
		r.start() // the restore begins long after the events
		again.Offset = 300
		r.hand([]notifier.Change{again})
		r.settle(time.Second)
		r.want("whk_1", ids)
		if n := len(r.receiver.of("whk_1")); n != 3 {
			t.Errorf("%d requests", n)
		}
		r.end()
	})
}

func TestNewEndpointStartsAtTheEnd(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.change("north")
		r.settle(time.Second)
		r.hook("north", "whk_2")
		ids := r.change("north")
		r.settle(time.Second)
		r.want("whk_2", ids)

		r.end()
	})
}

// TestSettingsOfANewEndpointArriveLate: an endpoint gets all events since its creation, even if the notifier learns of
// the endpoint long after them and was restarted in the meantime, and even if it is the first endpoint of the hospital.
func TestSettingsOfANewEndpointArriveLate(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.change("north")
		r.change("south")
		r.settle(time.Minute)
		created := time.Now()
		time.Sleep(time.Millisecond)
		north, south := r.change("north"), r.change("south")
		r.settle(time.Hour)
		r.commit()
		r.end()
		r.start()
		r.settle(time.Second)
		for hospital, id := range map[string]string{"north": "whk_2", "south": "whk_3"} {
			r.hook(hospital, id, func(w *subscriber.Webhook) { w.CreatedAt = created })
		}
		north, south = append(north, r.change("north")...), append(south, r.change("south")...)
		r.settle(time.Second)
		r.want("whk_2", north)
		r.want("whk_3", south)
		r.end()
	})
}

// TestHalfAChangeIsCompleted: if a process dies while it writes the events of a change, the next process writes the
// remaining ones.
func TestHalfAChangeIsCompleted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		ids := r.change("north")
		r.settle(time.Second)
		r.commit()
		r.end()
		c, more := r.make("north", 1, 2)
		events, err := event.FromChange(c.Change, c.Offset)
		if err != nil {
			t.Fatal(err)
		}
		events[0].Term = 1
		key, value, err := ledger.Encode(nil, &events[0])
		if err != nil {
			t.Fatal(err)
		}
		r.ledger.put([]byte(key.String()), value)
		r.start()
		r.settle(time.Second)
		ids = append(ids, more...)
		r.want("whk_1", ids)
		if n := len(r.receiver.of("whk_1")); n != len(ids) {
			t.Errorf("%d requests for %d events", n, len(ids))
		}
		r.end()
	})
}
