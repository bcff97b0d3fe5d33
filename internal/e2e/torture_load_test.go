package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/schemas"
)

// crowd is the load of TestTorture: senders and readers of several hospitals. Each sender and each reader uses the
// instances in turn. A sender repeats a request with its Idempotency-Key until the request is acknowledged.
type crowd struct {
	partners      []*partner
	ingest, reads []string // base addresses of the instances
	stopping      chan struct{}
	stop          func() // closes the channel stopping; further calls have no effect
	done          sync.WaitGroup

	mu      sync.Mutex
	inputs  []sentInput
	seen    []seenRead
	wrong   []defect
	refused map[int]int // number of responses other than 200, by status; under 0, requests without a response
	waiting map[string]time.Time
}

const (
	crowdSenders = 4 // per hospital
	crowdRetry   = 100 * time.Millisecond
)

// gather starts a load of about perSecond inputs per second, and two reads per second for each hospital.
func gather(t *testing.T, perSecond int, partners []*partner, ingest, reads []string) *crowd {
	t.Helper()
	c := &crowd{partners: partners, ingest: ingest, reads: reads, stopping: make(chan struct{}), refused: map[int]int{}, waiting: map[string]time.Time{}}
	c.stop = sync.OnceFunc(func() { close(c.stopping) })
	t.Cleanup(func() {
		c.stop()
		c.done.Wait()
	})
	every := time.Second * time.Duration(len(partners)*crowdSenders) / time.Duration(perSecond)
	for i, p := range partners {
		for n := range crowdSenders {
			c.done.Go(func() { c.sendAll(p, n, rand.New(rand.NewPCG(uint64(i), uint64(n))), every) })
		}
		c.done.Go(func() { c.readAll(p, i) })
	}
	return c
}

// at returns a partner that uses one instance.
func (p *partner) at(base string) *partner {
	other := *p
	other.base = base
	return &other
}

func (c *crowd) sendAll(p *partner, sender int, random *rand.Rand, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-c.stopping:
			return
		case <-tick.C:
		}
		path, body := request(random, sender, n)
		c.send(p, path, body, fmt.Sprintf("torture-%s-%d-%d", p.hospital, sender, n), n+sender)
	}
}

// send repeats a request until it is acknowledged. If it is not acknowledged within two minutes after the load was
// stopped, send gives up and records a defect.
func (c *crowd) send(p *partner, path, body, key string, turn int) {
	first := time.Now()
	c.mu.Lock()
	c.waiting[key] = first
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, key)
		c.mu.Unlock()
	}()
	var ended time.Time
	for ; ; turn++ {
		sent := time.Now()
		a, err := p.at(c.ingest[turn%len(c.ingest)]).do(http.MethodPost, "/api/ingest/"+path, "application/json", body, "Idempotency-Key", key)
		if c.answered(p, path, first, sent, a, err) {
			return
		}
		select {
		case <-time.After(crowdRetry): // a client's pause before it retries
		case <-c.stopping:
			if ended.IsZero() {
				ended = time.Now()
			}
			if time.Since(ended) > 2*time.Minute {
				c.fault(p.hospital, "an input (%s) is not acknowledged two minutes after the last fault: %v", path, a)
				return
			}
			<-time.After(crowdRetry)
		}
	}
}

// answered records the response to an input, and reports whether it is an acknowledgment.
func (c *crowd) answered(p *partner, path string, first, sent time.Time, a *answer, err error) bool {
	now := time.Now()
	if err != nil {
		c.refuse(0)
		return false
	}
	if a.status != http.StatusOK {
		c.refuse(a.status)
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			c.fault(p.hospital, "%s: %v, Retry-After %q", path, a, a.header.Get("Retry-After"))
		}
		return false
	}
	var in ingested
	if err = json.Unmarshal(a.Data, &in); err != nil {
		c.fault(p.hospital, "%s: %v in %s", path, err, a.raw)
	}
	at, err := parsePosition(in.Position)
	if err != nil {
		c.fault(p.hospital, "%s: position %q", path, in.Position)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inputs = append(c.inputs, sentInput{p.hospital, path, at, first, sent, now, in.Applied})
	return true
}

func (c *crowd) refuse(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[status]++
}

// fault records a defect that a sender or reader notices. Only the first hundred are kept.
func (c *crowd) fault(hospital, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) < 100 {
		c.wrong = append(c.wrong, defect{wrong, hospital, time.Now(), fmt.Sprintf(format, args...)})
	}
}

// readAll reads the state of a unit twice a second, from each instance in turn.
func (c *crowd) readAll(p *partner, turn int) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for ; ; turn++ {
		select {
		case <-c.stopping:
			return
		case <-tick.C:
		}
		began := time.Now()
		a, err := p.at(c.reads[turn%len(c.reads)]).do(http.MethodGet, "/api/v1/unit-state", "", "")
		switch {
		case err != nil:
		case a.status == http.StatusOK:
			var u struct{ Version int64 }
			if err := json.Unmarshal(a.Data, &u); err != nil {
				c.fault(p.hospital, "read: %v in %s", err, a.raw)
			}
			c.mu.Lock()
			c.seen = append(c.seen, seenRead{p.hospital, began, u.Version})
			c.mu.Unlock()
		case a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "":
			c.fault(p.hospital, "read: %v, Retry-After %q", a, a.header.Get("Retry-After"))
		}
	}
}

// bystander reads committed records, and records when each change became visible.
type bystander struct {
	mu      sync.Mutex
	applied map[position]time.Time // by input
	visible map[string][]time.Time // by hospital: element i is for version i+1
}

func watchChanges(t *testing.T, brokers, prefix string) *bystander {
	t.Helper()
	b := &bystander{applied: map[position]time.Time{}, visible: map[string][]time.Time{}}
	followTopics(t, brokers, func(fetches kgo.Fetches) {
		fetches.EachRecord(func(r *kgo.Record) { b.record(t, r) })
	}, prefix+schemas.Verdicts().Name)
	return b
}

func (b *bystander) record(t *testing.T, r *kgo.Record) {
	if !schemas.IsChange(r.Key) {
		return
	}
	c, err := schemas.ChangeCodec.Decode(r.Value)
	if err != nil {
		t.Errorf("change %d:%d: %v", r.Partition, r.Offset, err)
		return
	}
	now, hospital := time.Now(), string(r.Key)
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := (position{r.Partition, c.Offset}); b.applied[at].IsZero() {
		b.applied[at] = now // a change that a timer caused has the offset of the preceding input
	}
	for int64(len(b.visible[hospital])) < c.Version {
		b.visible[hospital] = append(b.visible[hospital], time.Time{})
	}
	if at := &b.visible[hospital][c.Version-1]; at.IsZero() {
		*at = now
	}
}

// settledAfter returns an error until three conditions hold: every input whose first attempt was before the given
// instant is acknowledged; every hospital has an acknowledged input that was sent after this instant and whose change
// is visible; and every reader serves every hospital.
func (c *crowd) settledAfter(since time.Time, b *bystander) error {
	fresh := map[string]bool{}
	c.mu.Lock()
	b.mu.Lock()
	for i := len(c.inputs) - 1; i >= 0 && c.inputs[i].answered.After(since); i-- {
		if in := &c.inputs[i]; in.sent.After(since) && !b.applied[in.position].IsZero() {
			fresh[in.hospital] = true
		}
	}
	late := 0
	for _, first := range c.waiting {
		if first.Before(since) {
			late++
		}
	}
	b.mu.Unlock()
	c.mu.Unlock()
	if late > 0 {
		return fmt.Errorf("%d inputs from before are not acknowledged", late)
	}
	for _, p := range c.partners {
		if !fresh[p.hospital] {
			return fmt.Errorf("%s: no new input is applied", p.hospital)
		}
		for _, base := range c.reads {
			a, err := p.at(base).do(http.MethodGet, "/api/v1/unit-state", "", "")
			if err != nil {
				return err
			}
			if a.status != http.StatusOK {
				return fmt.Errorf("%s: %v", p.hospital, a)
			}
		}
	}
	return nil
}

// evidence copies what the load has recorded so far.
func (c *crowd) evidence(b *bystander) (e *evidence, faults []defect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	e = &evidence{inputs: c.inputs, reads: c.seen, visible: map[string][]time.Time{}}
	for hospital, all := range b.visible {
		e.visible[hospital] = append([]time.Time{}, all...)
	}
	return e, c.wrong
}
