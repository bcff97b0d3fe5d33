// Package limit limits what callers may send: by key, by hospital, by client address.
//
// A [Limiter] enforces the rates of keys, and a [Share] the shares of hospitals. Each of them has one [Bucket] for
// each key or hospital in a [Source], which all instances share. While the source is unavailable, each instance
// grants the whole rate independently, starting with the tokens that it last saw in the source. [Strangers] limits
// requests without a valid key, in each instance separately.
package limit

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Source holds the shared buckets.
type Source interface {
	// TakeTokens removes the wanted number of tokens from a caller's bucket if the bucket has at least that many; if
	// not, it removes none. left is the number of tokens that remain. A missing bucket counts as full.
	TakeTokens(ctx context.Context, caller string, r Rate, want float64) (taken bool, left float64, err error)
}

// Decision is the result for a request, with the values of its rate headers.
type Decision struct {
	Allowed   bool
	Remaining int           // requests that may follow immediately
	Reset     time.Duration // time until the caller has its whole burst again
	Retry     time.Duration // if not allowed: time until a request may succeed
}

const (
	sourceWithin = 250 * time.Millisecond // timeout of a call to the source, after which the source counts as unavailable
	aloneFor     = time.Second            // interval between two queries of an unavailable source
	recently     = time.Hour              // how long Clients counts a caller after a refusal
)

// Limiter is the limiter of one instance. It is safe for concurrent use.
type Limiter struct {
	now    func() time.Time
	source Source
	alone  *Memory      // the buckets as last seen in the source, used while the source is unavailable
	away   atomic.Int64 // when an unavailable source is queried again, in ns since 1970; 0: it is available

	limited  atomic.Int64 // number of refused requests
	unshared atomic.Int64 // number of requests that were decided without the source
	mu       sync.Mutex
	refused  map[string]time.Time // newest refusal by caller
}

// New returns a limiter that uses source.
func New(source Source, now func() time.Time) *Limiter {
	return &Limiter{now: now, source: source, alone: NewMemory(now), refused: map[string]time.Time{}}
}

// Allow counts one request by a caller. r.PerSecond must not be 0. If the rate of a caller changes, the caller gets a
// new bucket.
func (l *Limiter) Allow(ctx context.Context, id string, r Rate) Decision {
	bucket := id + ":" + strconv.FormatFloat(r.PerSecond, 'g', -1, 64) + ":" + strconv.Itoa(r.Burst)
	taken, left := l.takeToken(ctx, bucket, r)
	d := Decision{Allowed: taken, Remaining: int(max(left, 0)), Reset: r.wait(float64(r.Burst) - left)}
	if !taken {
		d.Retry = max(r.wait(1-left), time.Millisecond)
		l.limited.Add(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused[id] = l.now()
	}
	return d
}

// takeToken takes one token from the source or, if the source is unavailable, from the bucket of this instance.
func (l *Limiter) takeToken(ctx context.Context, bucket string, r Rate) (taken bool, left float64) {
	now := l.now()
	away := l.away.Load()
	// Only one request queries an unavailable source; the other requests do not wait.
	if away == 0 || now.UnixNano() >= away && l.away.CompareAndSwap(away, now.Add(aloneFor).UnixNano()) {
		within, cancel := context.WithTimeout(ctx, sourceWithin)
		defer cancel()
		var err error
		switch taken, left, err = l.source.TakeTokens(within, bucket, r, 1); {
		case err == nil:
			if away != 0 {
				l.away.Store(0)
			}
			l.alone.set(bucket, left)
			return taken, left
		case ctx.Err() == nil: // not canceled by the caller, so the source has failed
			l.away.Store(l.now().Add(aloneFor).UnixNano())
		}
	}
	l.unshared.Add(1)
	taken, left, _ = l.alone.TakeTokens(ctx, bucket, r, 1) //nolint:errcheck // memory does not fail
	return taken, left
}

// Limited returns how many requests were refused.
func (l *Limiter) Limited() int64 { return l.limited.Load() }

// Unshared returns how many requests were allowed or refused without the source, by the buckets of this instance.
func (l *Limiter) Unshared() int64 { return l.unshared.Load() }

// Clients returns how many callers were refused at least once in the last hour.
func (l *Limiter) Clients() int64 {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, at := range l.refused {
		if now.Sub(at) > recently {
			delete(l.refused, id)
		}
	}
	return int64(len(l.refused))
}
