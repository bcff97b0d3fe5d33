package limit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Strangers limits how often an address may send requests without a valid key. Each instance counts independently, in a
// bounded table, to avoid a round trip to Redis. Strangers is safe for concurrent use.
type Strangers struct {
	now  func() time.Time
	rate Rate

	mu      sync.Mutex
	buckets map[netip.Prefix]*Bucket
	tidied  time.Time

	limited atomic.Int64
}

const (
	strangersAtMost = 10_000
	strangersTidied = time.Second // minimum interval between two cleanings of the table
	homeBits        = 64          // bits of an IPv6 address that identify one customer
)

// NewStrangers returns an empty table. A rate of 0 means no limit.
func NewStrangers(rate Rate, now func() time.Time) *Strangers {
	return &Strangers{now: now, rate: rate, buckets: map[netip.Prefix]*Bucket{}}
}

// Allow counts a request without a valid key. If the address has exceeded its limit, ok is false and retry is the time
// until the next allowed request.
func (s *Strangers) Allow(from netip.Addr) (ok bool, retry time.Duration) {
	if s.rate.PerSecond <= 0 || !from.IsValid() {
		return true, 0
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(from, now)
	if !b.TakeTokens(s.rate, now, 1) {
		s.limited.Add(1)
		return false, s.rate.wait(1 - b.Tokens)
	}
	return true, 0
}

// bucket returns the bucket of an address, and creates it if it does not exist. Before bucket adds a bucket to a full
// table, it removes all full buckets, at most once a second. If the table is still full, bucket removes an arbitrary
// one.
func (s *Strangers) bucket(from netip.Addr, now time.Time) *Bucket {
	from = from.Unmap()
	home, err := from.WithZone("").Prefix(min(from.BitLen(), homeBits))
	if err != nil { // cannot happen, because the prefix is not longer than the address
		home = netip.Prefix{}
	}
	b := s.buckets[home]
	if b != nil {
		return b
	}
	if len(s.buckets) >= strangersAtMost && now.Sub(s.tidied) >= strangersTidied {
		s.tidied = now
		for other, b := range s.buckets {
			if b.fill(s.rate, now); b.Tokens >= float64(s.rate.Burst) { // a full bucket is equivalent to a missing one
				delete(s.buckets, other)
			}
		}
	}
	for other := range s.buckets {
		if len(s.buckets) < strangersAtMost {
			break
		}
		delete(s.buckets, other)
	}
	b = new(Bucket)
	s.buckets[home] = b
	return b
}

// Limited returns how many requests were refused.
func (s *Strangers) Limited() int64 { return s.limited.Load() }
