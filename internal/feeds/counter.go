package feeds

import (
	"sync"
	"time"
)

// Counter sums what feeds receive between two calls of [Counter.Drain]. It is safe
// for concurrent use.
type Counter struct {
	mu      sync.Mutex
	sums    map[Feed]*Sum
	notices int // of all feeds
}

// maxFeeds bounds the feeds of a Counter that nobody drains.
const maxFeeds = 10_000

// Add adds what a feed has sent.
func (t *Counter) Add(f Feed, sum *Sum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil {
		t.sums = map[Feed]*Sum{}
	}
	s := t.sums[f]
	if s == nil {
		if len(t.sums) >= maxFeeds {
			return
		}
		s = &Sum{}
		t.sums[f] = s
	}
	s.add(&sum.Counts)
	if t.notices < noticesHeld {
		t.notices += s.addNotices(sum.Notices)
	}
	if s.FirstReceived.IsZero() || !sum.FirstReceived.IsZero() && sum.FirstReceived.Before(s.FirstReceived) {
		s.FirstReceived = sum.FirstReceived
	}
	s.LastReceived = later(s.LastReceived, sum.LastReceived)
	s.LastApplied = later(s.LastApplied, sum.LastApplied)
	if !sum.LastEvent.IsZero() {
		s.LastEvent = sum.LastEvent
	}
}

// Drain returns what was added since the last call. A caller that cannot hand a sum
// on adds it again.
func (t *Counter) Drain() map[Feed]*Sum {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := t.sums
	t.sums, t.notices = nil, 0
	return sums
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
