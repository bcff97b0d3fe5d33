package notifier_test

import (
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
)

// TestMatrixKilledBeforeTheLedger: if a process dies before its outcomes are in the ledger, at most nine events per
// endpoint are sent again, with the same ids and bytes.
func TestMatrixKilledBeforeTheLedger(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		var ids []string
		r.receiver.set("whk_1", always(refused()))
		for range 20 {
			ids = append(ids, r.change("north")...)
		}
		r.settle(2 * time.Second)
		r.commit()
		r.ledger.goAway() // from here on, outcomes are not stored
		r.receiver.set("whk_1", always(ok()))
		r.settle(time.Minute)
		delivered := len(r.receiver.of("whk_1"))
		r.kill()
		r.settle(time.Second)
		r.start()
		r.settle(time.Minute)
		r.wantRepeated("whk_1", ids)
		if again := len(r.receiver.of("whk_1")) - len(ids); again < 1 || again > 9+2 { // the 2 are attempts that were refused at first
			t.Errorf("%d requests for %d events, %d of them before the kill", len(r.receiver.of("whk_1")), len(ids), delivered)
		}
		r.end()
	})
}

// wantRepeated is like want, but also accepts events that are repeated after a kill.
func (r *rig) wantRepeated(endpoint string, ids []string) {
	r.t.Helper()
	place := map[string]int{}
	for i, id := range ids {
		place[id] = i
	}
	next := 0
	for _, g := range r.receiver.of(endpoint) {
		at, known := place[g.event]
		switch {
		case !known:
			r.t.Fatalf("unknown event %s", g.event)
		case at > next:
			r.t.Fatalf("event %d before %d", at, next)
		case at == next:
			next++
		}
	}
	if next != len(ids) {
		r.t.Fatalf("%s: %d of %d events", endpoint, next, len(ids))
	}
}

// TestMatrixKafkaAway: while Kafka is unavailable, each queue sends at most eight more events, and
// then all queues stop.
func TestMatrixKafkaAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.hook("north", "whk_2")
		r.start()
		r.receiver.set("whk_1", always(refused()))
		r.receiver.set("whk_2", always(refused()))
		var ids []string
		for range 30 {
			ids = append(ids, r.change("north")...)
		}
		r.settle(3 * time.Second)
		back := r.ledger.goAway()
		r.receiver.set("whk_1", always(ok()))
		r.receiver.set("whk_2", always(ok()))
		before := len(r.receiver.of("whk_1"))
		r.settle(time.Hour)
		if more := len(r.receiver.of("whk_1")) - before; more != 8 {
			t.Errorf("%d more while the ledger is away", more)
		}
		r.commit()
		if r.mark.Offset > r.verdicts[len(r.verdicts)-1].Offset+1 {
			t.Errorf("position %d", r.mark.Offset)
		}
		back()
		r.settle(time.Minute)
		r.want("whk_1", ids)
		r.want("whk_2", ids)
		r.end()
	})
}

// TestMatrixPositionWaitsForTheLedger: the position of a change is committed only after the events of the change have
// been stored.
func TestMatrixPositionWaitsForTheLedger(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.change("north")
		r.settle(time.Second)
		r.commit()
		before := r.mark.Offset
		back := r.ledger.goAway()
		ids := r.change("north")
		r.settle(time.Minute)
		if r.commit(); r.mark.Offset != before {
			t.Fatalf("position %d is committed, %d was", r.mark.Offset, before)
		}
		if n := len(r.receiver.of("whk_1")); n != 1 {
			t.Fatalf("%d requests: one is not in the ledger", n)
		}
		back()
		r.settle(time.Second)
		if r.commit(); r.mark.Offset <= before {
			t.Errorf("position %d", r.mark.Offset)
		}
		if seen := r.receiver.of("whk_1"); seen[1].event != ids[0] {
			t.Errorf("another event")
		}
		r.end()
	})
}

// TestCommandBeforeAnAnswer: a command that another process wrote after an event may be read before the ledger has
// acknowledged the event. The event is sent nevertheless, even if the state of the endpoint is stored in between.
func TestCommandBeforeAnAnswer(t *testing.T) {
	bubble(t, func(_ *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		r.receiver.set("whk_1", always(refused()))
		ids := r.change("north")
		r.settle(100 * time.Millisecond)
		answer := r.ledger.delayAnswers()
		ids = append(ids, r.change("north")...)
		r.settle(time.Millisecond)
		r.order(outbound.Command{Hospital: "north", ID: "cmd_1", Verb: outbound.VerbRetry, Delivery: "dlv_unknown"})
		r.receiver.set("whk_1", always(ok()))
		r.settle(10 * time.Second) // the first event is accepted, so the endpoint has recovered
		answer()
		r.settle(time.Minute)
		r.want("whk_1", ids)
		r.end()
	})
}

// TestMatrixRebalance: a revoked partition is drained for several seconds. After that, attempts in flight are
// interrupted and not counted.
func TestMatrixRebalance(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_quick")
		r.hook("north", "whk_slow")
		r.receiver.set("whk_slow", always(sending.Result{Class: hang}))
		r.receiver.set("whk_quick", func(sending.Message) sending.Result { time.Sleep(3 * time.Second); return ok() })
		r.start()
		ids := r.change("north")
		ids = append(ids, r.change("north")...)
		r.settle(time.Second)
		began := time.Now()
		r.end()
		if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("the drain took %v", took)
		}
		if n := len(r.receiver.of("whk_quick")); n != 1 {
			t.Errorf("%d requests begun while it drains", n-1)
		}
		r.receiver.set("whk_slow", always(ok()))
		r.receiver.set("whk_quick", always(ok()))
		r.start()
		r.settle(time.Second)
		r.want("whk_quick", ids)
		r.want("whk_slow", ids)
		if g := r.receiver.of("whk_slow"); g[1].attempt != 1 {
			t.Errorf("the interrupted one counts: attempt %d", g[1].attempt)
		}
		r.end()
	})
}
