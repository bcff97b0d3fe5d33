package people_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

type settings struct {
	tiers      map[string]subscriber.Tier
	recipients map[string]subscriber.Recipient
	webhooks   []*subscriber.Webhook
}

func (s *settings) Tiers(string) (all []subscriber.Tier) {
	for _, id := range subscriber.TierIDs() {
		all = append(all, s.tiers[id])
	}
	return all
}

func (s *settings) Recipient(_, id string) (subscriber.Recipient, bool) {
	r, ok := s.recipients[id]
	return r, ok
}
func (s *settings) Unit(string) (string, *time.Location)  { return "Mercy L&D", time.UTC }
func (s *settings) Webhooks(string) []*subscriber.Webhook { return s.webhooks }
func (s *settings) Webhook(_, id string) (*subscriber.Webhook, bool) {
	for _, w := range s.webhooks {
		if w.ID == id {
			return w, true
		}
	}
	return nil, false
}

type alertLists struct {
	mu         sync.Mutex
	deliveries []outbound.Delivery
	alertRuns  map[string]outbound.AlertRun
	noted      map[string]time.Time // by token, the ends of links that cannot be read yet
	links      map[string]time.Time // by token, the ends of links that can be read
	followed   int
	progress   []outbound.Progress
}

func (b *alertLists) Delivery(e *outbound.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := e.Delivery
	b.deliveries = slices.DeleteFunc(b.deliveries, func(old outbound.Delivery) bool { return old.ID == d.ID })
	b.deliveries = append(b.deliveries, d)
}

func (b *alertLists) Health(string, string, outbound.Health) {}

func (b *alertLists) Progress(p outbound.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress = append(b.progress, p)
}

func (b *alertLists) AlertRun(e outbound.AlertRun) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alertRuns[e.ID] = e
}

func (b *alertLists) Link(token string, l outbound.AckLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noted[token] = l.Until
}

func (b *alertLists) Written(context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.links, b.noted)
	clear(b.noted)
}

var links = regexp.MustCompile(`https://svc\.example/a/([0-9A-Z]{12})`)

// follow checks that the links in a message that has just arrived already work, and that they work for a day.
func (b *alertLists) follow(t *testing.T, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, link := range links.FindAllStringSubmatch(message, -1) {
		b.followed++
		if until, known := b.links[link[1]]; !known {
			t.Errorf("%s leads nowhere yet", link[0])
		} else if left := time.Until(until); left < 23*time.Hour {
			t.Errorf("%s works for %v", link[0], left)
		}
	}
}

func (b *alertLists) open(t *testing.T) outbound.AlertRun {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.alertRuns {
		if e.ClosedAt.IsZero() {
			return e
		}
	}
	t.Fatal("no episode is open")
	return outbound.AlertRun{}
}

// all returns the alert runs.
func (b *alertLists) all() []outbound.AlertRun {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.alertRuns))
}

// lose deletes all lists.
func (b *alertLists) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliveries, b.alertRuns = nil, map[string]outbound.AlertRun{}
}

// to returns the latest delivery to a recipient over a channel.
func (b *alertLists) to(recipient string, channel subscriber.Channel) (found outbound.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.deliveries {
		if d.EndpointID == recipient && d.Channel == channel {
			found = d
		}
	}
	return found
}

// charge returns the state of the latest delivery to the charge nurse over a channel.
func (b *alertLists) charge(channel subscriber.Channel) outbound.State {
	return b.to("charge", channel).State
}
