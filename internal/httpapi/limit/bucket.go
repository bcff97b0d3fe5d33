package limit

import (
	"context"
	"sync"
	"time"
)

// Rate is a rate limit: up to Burst requests at once, and PerSecond requests per second in the long run. If PerSecond
// is 0, there is no limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Bucket is a token bucket: it holds up to a burst of tokens and fills at the rate. The zero Bucket is full at its
// first use.
type Bucket struct {
	Tokens float64
	At     time.Time // the time for which Tokens is valid; zero: the bucket was never used
}

// fill adds the tokens for the time from b.At to the instant now. If the clock runs backwards, fill adds nothing.
func (b *Bucket) fill(r Rate, now time.Time) {
	switch passed := now.Sub(b.At); {
	case b.At.IsZero():
		b.Tokens = float64(r.Burst)
	case passed < 0:
		return
	default:
		b.Tokens = min(b.Tokens+passed.Seconds()*r.PerSecond, float64(r.Burst))
	}
	b.At = now
}

// TakeTokens removes the wanted number of tokens if the bucket has at least that many, and reports whether it did.
func (b *Bucket) TakeTokens(r Rate, now time.Time, want float64) bool {
	if b.fill(r, now); b.Tokens < want {
		return false
	}
	b.Tokens -= want
	return true
}

// wait returns how long a bucket needs to gain the given number of tokens.
func (r Rate) wait(tokens float64) time.Duration {
	if tokens <= 0 {
		return 0
	}
	return time.Duration(tokens / r.PerSecond * float64(time.Second))
}

// Whole returns how long an empty bucket needs to become full.
func (r Rate) Whole() time.Duration { return r.wait(float64(r.Burst)) }

// Memory is a [Source] within one process, for a single instance and for tests.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*Bucket
}

// NewMemory returns an empty Memory.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, buckets: map[string]*Bucket{}}
}

// set sets the number of tokens in a caller's bucket.
func (m *Memory) set(caller string, tokens float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*m.bucket(caller) = Bucket{tokens, m.now()}
}

// bucket returns the bucket of a caller. The caller of bucket must hold m.mu.
func (m *Memory) bucket(caller string) *Bucket {
	b := m.buckets[caller]
	if b == nil {
		b = new(Bucket)
		m.buckets[caller] = b
	}
	return b
}

// TakeTokens implements [Source].
func (m *Memory) TakeTokens(_ context.Context, caller string, r Rate, want float64) (taken bool, left float64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.bucket(caller)
	taken = b.TakeTokens(r, m.now(), want)
	return taken, b.Tokens, nil
}
