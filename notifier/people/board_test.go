package people_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/outbound"
)

type settings struct {
	tiers      map[string]outbound.Tier
	recipients map[string]outbound.Recipient
	webhooks   []*outbound.Webhook
}

func (s *settings) Tiers(string) (all []outbound.Tier) {
	for _, id := range outbound.TierIDs() {
		all = append(all, s.tiers[id])
	}
	return all
}

func (s *settings) Recipient(_, id string) (outbound.Recipient, bool) {
	r, ok := s.recipients[id]
	return r, ok
}
func (s *settings) Unit(string) (string, *time.Location) { return "Mercy L&D", time.UTC }
func (s *settings) Webhooks(string) []*outbound.Webhook  { return s.webhooks }
func (s *settings) Webhook(_, id string) (*outbound.Webhook, bool) {
	for _, w := range s.webhooks {
		if w.ID == id {
			return w, true
		}
	}
	return nil, false
}

type board struct {
	mu         sync.Mutex
	deliveries []outbound.Delivery
	episodes   map[string]outbound.Episode
	links      map[string]outbound.AckLink
	progress   []outbound.Progress
}

func (b *board) Delivery(e *outbound.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := e.Delivery
	b.deliveries = slices.DeleteFunc(b.deliveries, func(old outbound.Delivery) bool { return old.ID == d.ID })
	b.deliveries = append(b.deliveries, d)
}

func (b *board) Health(string, string, outbound.Health) {}

func (b *board) Progress(p outbound.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress = append(b.progress, p)
}

func (b *board) Episode(e outbound.Episode) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.episodes[e.ID] = e
}

func (b *board) Link(token string, l outbound.AckLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.links[token] = l
}

func (b *board) open(t *testing.T) outbound.Episode {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.episodes {
		if e.ClosedAt.IsZero() {
			return e
		}
	}
	t.Fatal("no episode is open")
	return outbound.Episode{}
}

// lose forgets everything.
func (b *board) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliveries, b.episodes, b.links = nil, map[string]outbound.Episode{}, map[string]outbound.AckLink{}
}

// to is the newest delivery to a recipient by a channel.
func (b *board) to(recipient string, channel outbound.Channel) (found outbound.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.deliveries {
		if d.EndpointID == recipient && d.Channel == channel {
			found = d
		}
	}
	return found
}

// charge is the state of the newest delivery to the charge nurse by a channel.
func (b *board) charge(channel outbound.Channel) outbound.State { return b.to("charge", channel).State }
