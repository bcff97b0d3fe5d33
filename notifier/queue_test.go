package notifier_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
)

// TestLostPartitionFreesItsHost: attempts that wait for a host do not wait forever if the attempts before them belong
// to a partition that moves to another process.
func TestLostPartitionFreesItsHost(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.limits = notifier.Limits{PerHost: 1}
		for _, hospital := range []string{"flying", "parked", "ours"} {
			r.hook(hospital, "whk_"+hospital, func(w *subscriber.Webhook) { w.URL = "https://one.example/" })
		}
		r.receiver.set("whk_flying", always(sending.Result{Class: hang}))
		r.start()
		if _, _, err := r.n.Assign(t.Context(), 1, -1, ""); err != nil {
			t.Fatal(err)
		}
		for _, hospital := range []string{"flying", "parked"} {
			c, _ := r.make(hospital)
			if err := r.n.Changes(1, []notifier.Change{c}, c.Offset+1, false); err != nil {
				t.Fatal(err)
			}
			r.settle(time.Millisecond)
		}
		ids := r.change("ours")
		r.settle(time.Millisecond)
		r.n.Revoke(t.Context(), []int32{1})
		r.n.Lost([]int32{1})
		r.settle(time.Second)
		r.want("whk_ours", ids)
		r.end()
	})
}

// texting implements [notifier.People]. It sends an SMS for each change of the level.
type texting struct{}

func (texting) Step(_ context.Context, now time.Time, h notifier.Happening) (s notifier.Step) {
	for i := range h.Changes {
		s.Messages = append(s.Messages, outbound.Entry{
			Delivery: outbound.Delivery{
				ID: fmt.Sprintf("dlv_%d", h.Changes[i].Version), Hospital: h.Hospital, Event: outbound.Alert, Channel: subscriber.ChannelSMS,
				EndpointID: "rcp_1", State: outbound.Pending, OccurredAt: now,
			},
			Expires: now.Add(15 * time.Minute),
		})
	}
	return s
}

func (texting) Open(*outbound.Entry) (m sending.Message, reason string, later bool) {
	return m, "", false
}

func (texting) Test(time.Time, *outbound.Command) (e outbound.Entry, reason string) { return e, "" }

// firstFails is a gateway whose first response is 503.
type firstFails struct {
	mu sync.Mutex
	at []time.Time
}

func (f *firstFails) Send(context.Context, sending.Message) sending.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at = append(f.at, time.Now()); len(f.at) == 1 {
		return status(503)
	}
	return ok()
}

// attempts returns the times of the attempts since its last call.
func (f *firstFails) attempts() (at []time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, f.at = f.at, nil
	return at
}

// TestSlowEndpointsDoNotDelayAlerts: an SMS is retried on time even if many endpoints do not respond.
func TestSlowEndpointsDoNotDelayAlerts(t *testing.T) {
	const endpoints = 50
	bubble(t, func(t *testing.T, r *rig) {
		gateway := &firstFails{}
		r.limits, r.people, r.texts = notifier.Limits{Slow: 1}, texting{}, gateway
		for i := range endpoints {
			id := fmt.Sprintf("whk_%d", i)
			r.hook(fmt.Sprintf("h%d", i), id)
			r.receiver.set(id, always(sending.Result{Class: hang}))
		}
		r.start()
		for i := range endpoints {
			r.change(fmt.Sprintf("h%d", i))
		}
		r.settle(time.Hour)
		gateway.attempts()
		r.change("north")
		r.settle(time.Minute)
		if at := gateway.attempts(); len(at) != 2 || at[1].Sub(at[0]) > 31*time.Second {
			t.Errorf("attempts at %v", at)
		}
		r.end()
	})
}
