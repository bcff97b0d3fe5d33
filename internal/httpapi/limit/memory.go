package limit

import (
	"context"
	"sync"
	"time"
)

// Memory is a [Source] within one process, for a single instance and for tests.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*Bucket
}

// NewMemory returns a Memory without buckets.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, buckets: map[string]*Bucket{}}
}

// TakeTokens implements [Source].
func (m *Memory) TakeTokens(_ context.Context, caller string, r Rate, want float64) (got, left float64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.buckets[caller]
	if b == nil {
		b = new(Bucket)
		m.buckets[caller] = b
	}
	got = b.TakeTokens(r, m.now(), want)
	return got, b.Tokens, nil
}
