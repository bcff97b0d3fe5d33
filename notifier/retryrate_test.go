package notifier_test

import (
	"fmt"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// TestRetriesKeepTheRate: the maximum rate and a Retry-After also apply from one retry to the next. A test event does
// not wait for them.
func TestRetriesKeepTheRate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1", func(w *subscriber.Webhook) { w.RatePerSecond = 2 })
		r.start()
		id := r.change("north")[0]
		r.settle(time.Minute)
		delivery := event.DeliveryID(id, "whk_1", subscriber.ChannelWebhook)
		orders := 0
		retry := func(count int) (took time.Duration) {
			before := len(r.receiver.of("whk_1"))
			for range count {
				orders++
				r.order(outbound.Command{ID: fmt.Sprintf("cmd_%d", orders), Hospital: "north", Verb: outbound.VerbRetry, Delivery: delivery})
			}
			r.settle(time.Hour)
			all := r.receiver.of("whk_1")[before:]
			if len(all) != count {
				t.Fatalf("%d requests for %d retries", len(all), count)
			}
			return all[len(all)-1].at.Sub(all[0].at)
		}
		if took := retry(11); took < 9*time.Second {
			t.Errorf("11 retries took %v at 1/s", took)
		}
		r.receiver.set("whk_1", always(sending.Result{Class: sending.ClassThrottled, Status: 429, RetryAfter: 10 * time.Minute}))
		if took := retry(2); took < 10*time.Minute {
			t.Errorf("another retry after %v", took)
		}
		r.receiver.set("whk_1", always(refused()))
		if took := retry(20); took > time.Minute {
			t.Errorf("20 retries that fail took %v", took)
		}
		r.receiver.set("whk_1", always(sending.Result{Class: sending.ClassThrottled, Status: 429, RetryAfter: 10 * time.Minute}))
		before := len(r.receiver.of("whk_1"))
		for i := range 2 {
			r.order(outbound.Command{ID: fmt.Sprintf("cmd_test%d", i), Hospital: "north", Verb: outbound.VerbTest, Endpoint: "whk_1"})
		}
		r.settle(10 * time.Second)
		if n := len(r.receiver.of("whk_1")) - before; n != 2 {
			t.Errorf("%d requests for 2 tests", n)
		}
		r.end()
	})
}
