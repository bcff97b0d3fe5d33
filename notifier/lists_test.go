package notifier_test

import (
	"maps"
	"slices"
	"sync"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// deliveryList implements DeliveryList in memory.
type deliveryList struct {
	mu         sync.Mutex
	deliveries map[string]outbound.Delivery
	health     map[string]outbound.Health
	progress   map[string]outbound.Progress
}

func (s *deliveryList) Delivery(e *outbound.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := e.Delivery
	if old, listed := s.deliveries[d.ID]; listed && old.State != outbound.Pending && d.State == outbound.Pending {
		return // a final state overrides a pending one
	}
	d.Attempts = slices.Clone(d.Attempts)
	s.deliveries[d.ID] = d
}

func (s *deliveryList) Health(_, endpoint string, h outbound.Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health[endpoint] = h
}

func (s *deliveryList) Progress(p outbound.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress[p.ID] = p
}

func (s *deliveryList) AlertRun(outbound.AlertRun) {}

// delivery returns a delivery while the notifier may run.
func (s *deliveryList) delivery(id string) outbound.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deliveries[id]
}

// progressOf returns the progress of a command while the notifier may run.
func (s *deliveryList) progressOf(command string) outbound.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress[command]
}

// states returns the number of deliveries to whk_1 by state.
func (s *deliveryList) states() map[outbound.State]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[outbound.State]int{}
	for _, d := range s.deliveries {
		if d.EndpointID == "whk_1" {
			n[d.State]++
		}
	}
	return n
}

// nothing discards all metrics.
type nothing struct{}

func (nothing) Event(string) {}

func (nothing) Attempt(subscriber.Channel, sending.Class, time.Duration, string) {}

func (nothing) Ended(subscriber.Channel, outbound.State) {}

func (nothing) Accepted(time.Duration, string) {}

func (nothing) Decided(string) {}

func (nothing) Waiting(subscriber.Channel, int) {}

// figures counts the deliveries that have ended.
type figures struct {
	nothing
	mu    sync.Mutex
	ended map[outbound.State]int
}

func (f *figures) Ended(_ subscriber.Channel, state outbound.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended[state]++
}

// states returns the number of deliveries that have ended, by state.
func (f *figures) states() map[outbound.State]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.ended)
}
