package notifier_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
)

// heap returns the number of live bytes on the heap.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// clearFakes empties the fakes except the ledger, because their memory is not the notifier's.
func (r *rig) clearFakes() {
	r.receiver.mu.Lock()
	r.receiver.seen = nil
	r.receiver.mu.Unlock()
	r.lists.mu.Lock()
	r.lists.deliveries, r.lists.health = map[string]outbound.Delivery{}, map[string]outbound.Health{}
	r.lists.mu.Unlock()
	r.verdicts, r.log = nil, bytes.Buffer{}
}

// TestIdleEndpointsAreSmall measures the memory of 10,000 idle endpoints in 1,000 hospitals, excluding settings and
// lists. Each endpoint has received one event.
func TestIdleEndpointsAreSmall(t *testing.T) {
	const hospitals, each = 1000, 10
	bubble(t, func(t *testing.T, r *rig) {
		for h := range hospitals {
			for e := range each {
				r.hook(fmt.Sprintf("h%d", h), fmt.Sprintf("whk_%d-%d", h, e))
			}
		}
		before := heap()
		r.start()
		for h := range hospitals {
			r.change(fmt.Sprintf("h%d", h))
		}
		r.settle(time.Minute)
		if n := len(r.receiver.seen); n != hospitals*each {
			t.Fatalf("%d requests", n)
		}
		r.clearFakes()
		r.ledger.mu.Lock()
		r.ledger.records, r.ledger.times = nil, nil
		r.ledger.mu.Unlock()
		one := (int64(heap()) - int64(before)) / (hospitals * each)
		t.Logf("an idle endpoint takes %d bytes", one)
		if one > 4<<10 {
			t.Errorf("an idle endpoint takes %d bytes", one)
		}
		r.end()
	})
}

// TestHospitalsWithoutEndpointsAreSmall: the notifier keeps no events of a hospital without endpoints in memory. An
// endpoint that is added to such a hospital gets only later events.
func TestHospitalsWithoutEndpointsAreSmall(t *testing.T) {
	const hospitals, changes = 300, 60
	bubble(t, func(t *testing.T, r *rig) {
		live := func(changes int) uint64 {
			for range changes {
				for h := range hospitals {
					r.change(fmt.Sprintf("h%d", h))
				}
			}
			r.settle(time.Second)
			return heap()
		}
		r.start()
		before := live(1)
		live(changes)
		r.clearFakes()
		r.ledger.mu.Lock()
		r.ledger.records, r.ledger.times = nil, nil
		r.ledger.mu.Unlock()
		one := (int64(heap()) - int64(before)) / hospitals / changes
		if one > 100 {
			t.Errorf("an event that nobody waits for takes %d bytes", one)
		}
		r.end()
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		for range changes {
			r.change("late")
		}
		r.settle(time.Minute)
		r.hook("late", "whk_late")
		for range 3 {
			r.change("late")
		}
		r.settle(time.Minute)
		if n := len(r.receiver.seen); n != 3 {
			t.Errorf("%d requests after the endpoint came, want 3", n)
		}
		r.end()
	})
}

// TestAnHourOfDeadEndpoints: 1,000 of the 10,000 endpoints of 100 hospitals are down for an hour, while their
// hospitals cause more events than the memory limit allows. Memory stays within the limit plus a small amount per
// endpoint, even after a restart. Once an endpoint is up again, it gets all events.
func TestAnHourOfDeadEndpoints(t *testing.T) {
	const hospitals, dead, asleep, changes = 100, 10, 89, 90
	limits := notifier.Limits{Memory: 2 << 20}
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = limits
		for h := range hospitals {
			hospital := fmt.Sprintf("h%d", h)
			for e := range dead {
				id := fmt.Sprintf("whk_%d-dead%d", h, e)
				r.hook(hospital, id)
				r.receiver.set(id, always(refused()))
			}
			for e := range asleep {
				r.hook(hospital, fmt.Sprintf("whk_%d-asleep%d", h, e), func(w *subscriber.Webhook) { w.Events = []string{outbound.Alert} })
			}
			r.hook(hospital, fmt.Sprintf("whk_%d-up", h))
		}
		before := heap()
		check := func(when string) {
			t.Helper()
			r.clearFakes()
			ledger := r.ledger.size()
			held := int64(heap()) - int64(before) - ledger
			t.Logf("%s %d MiB are held beside a ledger of %d MiB", when, held>>20, ledger>>20)
			if most := int64(limits.Memory) + hospitals*(dead+asleep+1)*4<<10; held > most { // 4 KiB for each endpoint
				t.Errorf("%s %d MiB are held, %d may be", when, held>>20, most>>20)
			}
		}
		r.start()
		var ids []string // events of the first hospital
		for range changes {
			for h := range hospitals {
				if c := r.change(fmt.Sprintf("h%d", h)); h == 0 {
					ids = append(ids, c...)
				}
			}
			r.settle(time.Hour / changes)
			for h := range hospitals {
				if id := fmt.Sprintf("whk_%d-up", h); len(r.receiver.of(id)) != 1 {
					t.Fatalf("%s waits for one that is down", id)
				}
			}
			r.clearFakes()
		}
		check("after an hour")
		r.settle(10 * time.Minute) // records are written again, so that a restore skips most events
		r.commit()
		r.end()
		r.verdicts = nil
		r.start()
		r.settle(10 * time.Minute)
		check("after a restart")
		if most, reads := r.ledger.most, r.ledger.reads; most > 8 || reads > hospitals*dead+2 { // the 2 are one read per takeover
			t.Errorf("the ledger is read %d times, by %d at once", reads, most)
		}
		r.receiver.set("whk_0-dead0", always(ok()))
		r.settle(10 * time.Minute)
		r.want("whk_0-dead0", ids)
		r.end()
	})
}

// TestBacklogsAreBounded: endpoints are down while their hospitals cause more events than the memory limit allows.
// Once the endpoints are up again, they get all events, which the notifier reads back from the ledger.
func TestBacklogsAreBounded(t *testing.T) {
	const hospitals, changes = 10, 400
	bubble(t, func(_ *testing.T, r *rig) {
		r.limits = notifier.Limits{Memory: 1 << 20}
		ids := make([][]string, hospitals)
		for h := range hospitals {
			id := fmt.Sprintf("whk_%d", h)
			r.hook(fmt.Sprintf("h%d", h), id, func(w *subscriber.Webhook) { w.RatePerSecond = 500 })
			r.receiver.set(id, always(refused()))
		}
		r.start()
		for range changes {
			for h := range hospitals {
				ids[h] = append(ids[h], r.change(fmt.Sprintf("h%d", h), 1)...)
			}
			r.settle(time.Second)
		}
		for h := range hospitals {
			r.receiver.set(fmt.Sprintf("whk_%d", h), always(ok()))
		}
		r.settle(20 * time.Minute)
		for h := range hospitals {
			r.want(fmt.Sprintf("whk_%d", h), ids[h])
		}
		r.end()
	})
}

// TestMemoryIsFreed: events that were read from the ledger do not count as memory in use after their partition has
// moved or their endpoint has been deleted. Otherwise, the events of healthy endpoints would be read from the ledger,
// too.
func TestMemoryIsFreed(t *testing.T) {
	const moves, backlog = 200, 100
	for name, free := range map[string]func(r *rig){
		"moved": func(r *rig) {
			r.commit()
			r.n.Lost([]int32{0})
			if _, _, err := r.n.Assign(r.t.Context(), 0, r.mark.Offset, r.mark.Note); err != nil {
				r.t.Fatal(err)
			}
			r.hand(nil)
		},
		"deleted": func(r *rig) {
			created := r.settings.all["north"]["whk_dead"].CreatedAt
			r.unhook("north", "whk_dead")
			r.settle(time.Second)
			r.hook("north", "whk_dead", func(w *subscriber.Webhook) { w.CreatedAt = created })
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.limits = notifier.Limits{Memory: 150 << 10}
				r.hook("north", "whk_dead")
				r.hook("south", "whk_slow")
				r.receiver.set("whk_dead", always(refused()))
				r.start()
				r.change("south")
				for range 500 {
					r.change("north")
				}
				r.settle(2 * time.Hour) // a restore begins after these events
				for range moves {
					free(r)
					r.settle(time.Second)
				}
				r.unhook("north", "whk_dead")
				r.settle(time.Second)
				r.ledger.mu.Lock()
				before := r.ledger.reads
				r.ledger.mu.Unlock()
				r.receiver.set("whk_slow", always(sending.Result{Class: hang}))
				for range backlog {
					r.change("south")
				}
				r.settle(time.Second)
				r.receiver.set("whk_slow", always(ok()))
				r.settle(time.Hour)
				if n := len(r.receiver.of("whk_slow")); n < backlog {
					t.Errorf("%d requests", n)
				}
				r.ledger.mu.Lock()
				reads := r.ledger.reads - before
				r.ledger.mu.Unlock()
				if reads > 0 {
					t.Errorf("%d reads of the ledger for events that fit into memory", reads)
				}
				r.end()
			})
		})
	}
}
