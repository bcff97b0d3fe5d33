package notifier_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/schemas/ledger"
)

// TestMatrixLateFailure: a former owner of the partition was suspended during an attempt. If this attempt fails late,
// it does not delay the current owner's attempts to the same endpoint.
func TestMatrixLateFailure(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		late := make(chan struct{})
		r.receiver.set("whk_1", func(sending.Message) sending.Result {
			<-late
			return sending.Result{Class: sending.ClassThrottled, Status: 429, RetryAfter: time.Hour}
		})
		r.start()
		ids := r.change("north")
		r.settle(time.Second)
		stop, done := r.stop, r.done
		r.receiver.set("whk_1", always(ok()))
		r.start() // another notifier takes over; the first one does not know it
		ids = append(ids, r.change("north")...)
		r.settle(time.Second)
		close(late)
		r.settle(time.Second)
		r.commit()
		r.end()
		r.start()
		ids = append(ids, r.change("north")...)
		r.settle(time.Second)
		r.wantRepeated("whk_1", ids)
		if h := r.lists.health["whk_1"]; h.Status != "active" {
			t.Errorf("%+v", h)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.end()
	})
}

// TestMatrixLateEntry: a former owner of the partition was suspended and resumes. If it writes an entry after the new
// owner has written, a restore ignores that entry and uses the new owner's entries.
func TestMatrixLateEntry(t *testing.T) {
	for name, tt := range map[string]struct {
		late     any
		messages int    // number of messages and alerts that [People] is told about
		memory   string // stored state of [People]
		alerts   int    // number of alerts that the endpoint got
	}{
		"nothing":  {nil, 0, "of the second", 0},
		"a memory": {&outbound.HospitalState{Hospital: "north", Policy: []byte("of the first"), Term: 1}, 0, "of the second", 0},
		"a message": {&outbound.Entry{Position: -1, Term: 1, Delivery: outbound.Delivery{
			ID: "dlv_1", Hospital: "north", EventID: "evt_1", Event: outbound.Alert, Channel: subscriber.ChannelMail, EndpointID: "rcp_1", State: outbound.Pending,
		}}, 0, "of the second", 0},
		"an alert": {&outbound.Event{
			ID: "evt_1", Hospital: "north", Event: outbound.Alert, Source: -1, RoomID: -1, OccurredAt: time.Now(), Body: []byte("{}"), Term: 1, Only: []string{"whk_1"},
		}, 0, "of the second", 0},
		"a message of our own": {&outbound.Entry{Position: -1, Term: 2, Delivery: outbound.Delivery{
			ID: "dlv_1", Hospital: "north", EventID: "evt_1", Event: outbound.Alert, Channel: subscriber.ChannelMail, EndpointID: "rcp_1", State: outbound.Pending,
		}}, 1, "of the second", 0},
		"an alert of our own": {&outbound.Event{
			ID: "evt_1", Hospital: "north", Event: outbound.Alert, Source: -1, RoomID: -1, OccurredAt: time.Now(), Body: []byte("{}"), Term: 2, Only: []string{"whk_1"},
		}, 1, "of the second", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				asked := &asked{}
				r.people = asked
				r.hook("north", "whk_1")
				for _, entry := range []any{
					&outbound.EndpointQueue{Hospital: "north", Endpoint: "whk_1", Cursor: -1, Version: 1, Term: 1},
					&outbound.HospitalState{Hospital: "north", Policy: []byte("of the second"), Term: 2},
					tt.late,
				} {
					if entry == nil {
						continue
					}
					key, value, err := ledger.Encode(nil, entry)
					if err != nil {
						t.Fatal(err)
					}
					r.ledger.put([]byte(key.String()), value)
				}
				r.start()
				r.settle(time.Second)
				asked.mu.Lock()
				defer asked.mu.Unlock()
				if asked.first == nil || string(asked.first.Memory) != tt.memory || len(asked.told) != tt.messages {
					t.Errorf("people are asked with %+v, and told about %v", asked.first, asked.told)
				}
				if n := len(r.receiver.of("whk_1")); n != tt.alerts {
					t.Errorf("%d alerts", n)
				}
				r.end()
			})
		})
	}
}

// asked implements [People] and records only the first Happening.
type asked struct {
	mu    sync.Mutex
	first *notifier.Happening
	told  map[string]bool // ids of the deliveries that were waiting or ended
}

func (a *asked) Step(_ context.Context, _ time.Time, h notifier.Happening) notifier.Step {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first == nil {
		a.first, a.told = &h, map[string]bool{}
	}
	for _, e := range slices.Concat(h.Waiting, h.Ended) {
		a.told[e.Delivery.ID] = true
	}
	return notifier.Step{}
}

func (a *asked) Open(*outbound.Entry) (sending.Message, string, bool) {
	return sending.Message{}, "", false
}

func (a *asked) Test(time.Time, *outbound.Command) (outbound.Entry, string) {
	return outbound.Entry{}, "no_recipient"
}

// TestMatrixLateWriter: a former owner of the partition was suspended and resumes. The entries that it still writes
// have no effect.
func TestMatrixLateWriter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hook("north", "whk_1")
		r.start()
		ids := r.change("north")
		r.settle(time.Second)
		r.commit()
		old, stop, done := r.n, r.stop, r.done
		r.start() // another notifier takes over; the first one does not know it
		c, more := r.make("north")
		r.hand([]notifier.Change{c})
		r.settle(time.Second)
		if err := old.Changes(0, []notifier.Change{c}, c.Offset+1, false); err != nil {
			t.Fatal(err)
		}
		r.settle(time.Second)
		ids = append(ids, more...)
		late := r.change("north")
		ids = append(ids, late...)
		r.settle(time.Second)
		r.commit()
		r.end()
		seen := len(r.receiver.of("whk_1"))
		r.start()
		r.settle(time.Minute)
		if n := len(r.receiver.of("whk_1")); n != seen {
			t.Errorf("%d requests after the next restore", n-seen)
		}
		r.wantRepeated("whk_1", ids)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.end()
	})
}
