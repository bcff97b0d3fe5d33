package notifier_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/internal/outbound/sending"
)

// got is one request that a receiver received.
type got struct {
	at       time.Time
	endpoint string
	event    string
	body     string
	attempt  int
}

// receiver answers requests in place of the webhook sender.
type receiver struct {
	mu     sync.Mutex
	seen   []got
	answer map[string]func(m sending.Message) sending.Result // by endpoint; an endpoint without an answer function returns 200
	flying int
	most   int
}

// atOnce returns the largest number of attempts that were in flight at once.
func (r *receiver) atOnce() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

func (r *receiver) Send(ctx context.Context, m sending.Message) sending.Result {
	r.mu.Lock()
	r.seen = append(r.seen, got{time.Now(), m.Webhook.ID, m.EventID, string(m.Body), m.Attempt})
	r.flying++
	r.most = max(r.most, r.flying)
	answer := r.answer[m.Webhook.ID]
	r.mu.Unlock()
	began := time.Now()
	result := ok()
	if answer != nil {
		result = answer(m)
	}
	if result.Class == hang {
		select {
		case <-ctx.Done():
			result = sending.Result{Class: sending.ClassTimeout}
		case <-time.After(time.Duration(m.Webhook.TimeoutSeconds) * time.Second):
			result = sending.Result{Class: sending.ClassTimeout}
		}
	}
	result.Took = time.Since(began)
	r.mu.Lock()
	r.flying--
	r.mu.Unlock()
	return result
}

const hang sending.Class = "hang"

func ok() sending.Result { return sending.Result{Class: sending.ClassOK, Status: 200} }

func status(code int) sending.Result {
	return sending.Result{Class: sending.ClassStatus, Status: code}
}

func refused() sending.Result { return sending.Result{Class: sending.ClassRefused} }

func (r *receiver) set(endpoint string, answer func(sending.Message) sending.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer[endpoint] = answer
}

// always returns a function that answers every request with the same result.
func always(result sending.Result) func(sending.Message) sending.Result {
	return func(sending.Message) sending.Result { return result }
}

// of returns the requests to an endpoint.
func (r *receiver) of(endpoint string) (list []got) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.seen {
		if g.endpoint == endpoint {
			list = append(list, g)
		}
	}
	return list
}

// inOrder returns an error unless the requests are for exactly the given events, in order. An event may be repeated
// immediately after itself, but only with the same bytes.
func inOrder(seen []got, ids []string) error {
	var order []string
	bodies := map[string]string{}
	for _, g := range seen {
		if body, known := bodies[g.event]; known && body != g.body {
			return fmt.Errorf("event %s has two bodies", g.event)
		}
		bodies[g.event] = g.body
		if len(order) == 0 || order[len(order)-1] != g.event {
			order = append(order, g.event)
		}
	}
	if !slices.Equal(order, ids) {
		return fmt.Errorf("%d events, want %d: %w", len(order), len(ids), errOrder)
	}
	return nil
}

var errOrder = errors.New("other events, or another order")
