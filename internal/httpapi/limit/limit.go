// Package limit enforces the rate limits of callers across all instances. A request never waits for a request of
// another caller.
//
// Each caller has one shared [Bucket] in a [Source]. An instance fetches small portions of it in the background, in
// advance, and serves requests from them. A caller that is new to the instance, or faster than the portions arrive,
// is served on credit. The next portion repays the credit first.
//
// Thus several instances together enforce one rate. Two instances exceed the rate by at most one [Rate.Lease], however
// the requests are distributed. While the source is unavailable, each instance grants the whole rate independently.
package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Source holds the shared buckets.
type Source interface {
	// TakeTokens removes up to want tokens from a caller's bucket, as many as there are. It returns how many it
	// removed, and how many are left. A missing bucket is full.
	TakeTokens(ctx context.Context, caller string, r Rate, want float64) (got, left float64, err error)
}

// Decision is the result for a request, with the values of its rate headers.
type Decision struct {
	Allowed   bool
	Remaining int           // requests that may follow immediately, as far as this instance knows
	Reset     time.Duration // time until the caller has its whole burst again
	Retry     time.Duration // if not allowed: time until a request may succeed
}

// Limiter is the limiter of one instance. It is safe for concurrent use.
type Limiter struct {
	now    func() time.Time
	source Source
	due    chan *caller // callers that need a portion

	mu      sync.RWMutex
	callers map[string]*caller

	limited atomic.Int64 // refused requests
	clients atomic.Int64 // callers in the table that were limited at least once
}

// caller is the state of one caller in one instance.
type caller struct {
	id string

	mu      sync.Mutex
	rate    Rate
	held    float64 // tokens held in advance at the time at; negative: owed
	at      time.Time
	left    float64       // tokens in the shared bucket at the time seen
	seen    time.Time     // when the shared bucket was last read
	next    time.Time     // earliest time of the next request to the source
	asked   bool          // a portion is being fetched
	came    chan struct{} // closed when the portion arrives; nil: no request waits for it
	alone   bool          // the source is unavailable: own is the bucket in use
	own     Bucket
	used    time.Time
	refused bool // at least one request was refused
}

// New returns a limiter that uses a source. It fetches portions only while Run runs.
func New(source Source, now func() time.Time) *Limiter {
	return &Limiter{now: now, source: source, due: make(chan *caller, 1024), callers: map[string]*caller{}}
}

// Allow counts one request of a caller. The rate must have a limit.
func (l *Limiter) Allow(id string, r Rate) Decision {
	c := l.caller(id)
	d, _ := l.ask(c, r)
	l.countRefusal(c, d)
	return d
}

// Await is Allow for a request that can wait, because a caller may be faster than its portions arrive. If the shared
// bucket may have more tokens, as far as this instance knows, the request waits for the next portion, at most for
// patience or until ctx ends. Thus a caller gets the rest of its burst.
func (l *Limiter) Await(ctx context.Context, id string, r Rate, patience time.Duration) Decision {
	c := l.caller(id)
	d, came := l.ask(c, r)
	if came != nil {
		enough := time.NewTimer(patience) //nolint:forbidigo // limits the wait; the decision uses now
		defer enough.Stop()
		for came != nil {
			select {
			case <-came:
				d, came = l.ask(c, r)
			case <-enough.C:
				came = nil
			case <-ctx.Done():
				came = nil
			}
		}
	}
	l.countRefusal(c, d)
	return d
}

// countRefusal counts a limited request.
func (l *Limiter) countRefusal(c *caller, d Decision) {
	if d.Allowed {
		return
	}
	l.limited.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refused {
		c.refused = true
		l.clients.Add(1)
	}
}

// ask spends a token if there is one, and requests the next portion in time. If there is no token but a portion was
// requested, came is closed when it arrives.
func (l *Limiter) ask(c *caller, r Rate) (d Decision, came <-chan struct{}) {
	now := l.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rate != r { // the caller is new, or an administrator changed its rate
		c.rate, c.held, c.left, c.seen, c.own = r, 0, float64(r.Burst), now, Bucket{}
	}
	c.used = now
	c.decay(now)
	d = c.spendToken(now)
	if c.held < c.rate.portion(c.left)/2 && !c.asked && !now.Before(c.next) {
		select {
		case l.due <- c:
			c.asked = true
		default: // the source is slower than the callers: the next request retries
		}
	}
	if d.Allowed || !c.coming(now) {
		return d, nil
	}
	if c.came == nil {
		c.came = make(chan struct{})
	}
	return d, c.came
}

// coming reports whether a portion with tokens for the caller is being fetched.
func (c *caller) coming(now time.Time) bool {
	shared := Bucket{c.left, c.seen}
	shared.fill(c.rate, now)
	return c.asked && !c.alone && !now.Before(c.next) && shared.Tokens+c.held+c.rate.slack() >= 1
}

// spendToken spends one held token, or one on credit.
func (c *caller) spendToken(now time.Time) Decision {
	if c.alone {
		c.own.fill(c.rate, now)
		d := Decision{Allowed: c.own.Tokens >= 1}
		if d.Allowed {
			c.own.Tokens--
		} else {
			d.Retry = c.rate.wait(1 - c.own.Tokens)
		}
		d.Remaining, d.Reset = int(max(c.own.Tokens, 0)), c.rate.wait(float64(c.rate.Burst)-c.own.Tokens)
		return d
	}
	shared := Bucket{c.left, c.seen}
	shared.fill(c.rate, now) // as far as this instance knows
	if c.held-1 < -c.rate.slack() {
		// The caller must first repay what it owes beyond the credit.
		repaid := c.rate.wait(1 - (c.held + c.rate.slack()) - shared.Tokens)
		return Decision{
			Retry: max(c.next.Sub(now), repaid, time.Millisecond),
			Reset: c.rate.wait(float64(c.rate.Burst) - shared.Tokens - c.held),
		}
	}
	c.held--
	all := min(shared.Tokens+c.held, float64(c.rate.Burst))
	return Decision{Allowed: true, Remaining: int(max(all, 0)), Reset: c.rate.wait(float64(c.rate.Burst) - all)}
}

// decay drops tokens held beyond the slack, as fast as the shared bucket fills, so that both together never exceed a
// burst.
func (c *caller) decay(now time.Time) {
	if passed := now.Sub(c.at); c.held > c.rate.slack() && passed > 0 {
		c.held = max(c.held-passed.Seconds()*c.rate.PerSecond, c.rate.slack())
	}
	c.at = now
}

func (l *Limiter) caller(id string) *caller {
	l.mu.RLock()
	c := l.callers[id]
	l.mu.RUnlock()
	if c != nil {
		return c
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c = l.callers[id]; c == nil {
		c = &caller{id: id}
		l.callers[id] = c
	}
	return c
}

// Limited returns how many requests were refused.
func (l *Limiter) Limited() int64 { return l.limited.Load() }

// Clients returns how many callers were refused at least once in the last hour or so.
func (l *Limiter) Clients() int64 { return l.clients.Load() }

// forgetAfter is how long the table keeps a caller without requests, or longer if its burst refills more slowly.
const forgetAfter = time.Hour

// aloneFor is how long an instance waits before it queries an unavailable source again.
const aloneFor = time.Second

// Run fetches portions until ctx ends, and returns the error of ctx.
func (l *Limiter) Run(ctx context.Context) error {
	tidy := time.NewTicker(forgetAfter / 4) //nolint:forbidigo // interval of cleanup; no decision depends on it
	defer tidy.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-l.due:
			l.fetch(ctx, c)
		case <-tidy.C:
			l.dropIdle()
		}
	}
}

// fetch requests a portion for a caller, plus the tokens that it owes.
func (l *Limiter) fetch(ctx context.Context, c *caller) {
	c.mu.Lock()
	rate, want := c.rate, c.rate.portion(c.left)-c.held
	c.mu.Unlock()
	got, left, err := l.source.TakeTokens(ctx, c.id, rate, want)
	now := l.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = false
	if c.came != nil {
		close(c.came)
		c.came = nil
	}
	if c.rate != rate { // the rate was changed in the meantime: this portion is from the old bucket
		return
	}
	if err != nil {
		if !c.alone {
			// own starts with the rest of the burst, as far as this instance knows.
			c.alone, c.own = true, Bucket{c.left, c.seen}
			c.own.fill(rate, now)
			c.own.Tokens += c.held
		}
		c.next = now.Add(aloneFor)
		return
	}
	if c.alone {
		c.alone, c.held = false, 0 // tokens granted while the source was unavailable need no repayment
	}
	c.decay(now)
	c.held += got
	c.left, c.seen, c.next = left, now, now
	// The bucket is empty: request again when it has tokens. A source that counts in millionths may also return
	// slightly less than want from a full bucket.
	if got < want && left <= 0 {
		soon := max(rate.wait(rate.slack()/2), time.Millisecond)
		c.next, c.asked = now.Add(soon), true         // even without requests, so that a caller that waits as instructed gets a token
		time.AfterFunc(soon, func() { l.refetch(c) }) //nolint:forbidigo // when to retry; the decision uses now
	}
}

// refetch requests a portion for a caller that owes tokens.
func (l *Limiter) refetch(c *caller) {
	select {
	case l.due <- c:
	default:
		c.mu.Lock()
		c.asked = false
		c.mu.Unlock()
	}
}

// dropIdle removes the callers that have been idle for long.
func (l *Limiter) dropIdle() {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.callers {
		c.mu.Lock()
		idle := now.Sub(c.used)
		if idle > forgetAfter && idle > c.rate.Whole() {
			delete(l.callers, id)
			if c.refused {
				l.clients.Add(-1)
			}
		}
		c.mu.Unlock()
	}
}
