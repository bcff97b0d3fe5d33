package feeds

import (
	"sync"
	"time"
)

// Tally adds up what comes in between two times that it is handed on. It is safe
// for concurrent use.
type Tally struct {
	mu      sync.Mutex
	sums    map[Feed]*Sum
	notices int // of all feeds
}

// tallyAtMost bounds the feeds of a tally that nobody takes.
const tallyAtMost = 10_000

// Add adds to a feed.
func (t *Tally) Add(f Feed, sum *Sum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil {
		t.sums = map[Feed]*Sum{}
	}
	s := t.sums[f]
	if s == nil {
		if len(t.sums) >= tallyAtMost {
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

// Take returns what was added since the last time. What could not be handed on is
// added again.
func (t *Tally) Take() map[Feed]*Sum {
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
