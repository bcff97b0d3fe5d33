// Package limit decides whether a caller has asked more often than it may, across
// all instances, without any request waiting for those of other callers.
//
// Per caller there is one shared [Bucket], in a [Source]. An instance takes small
// portions of it ahead of need, in the background, and serves requests from what
// it holds. A caller whom it does not know yet, or who is faster than the portions
// come, is served on credit, which the next portion repays first. So several
// instances together keep to one rate, and two exceed it by no more than one
// [Rate.Lease], however the requests are spread. While the source is away each
// instance stands alone and grants the whole rate.
package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Source is where the shared buckets are.
type Source interface {
	// Take takes as many tokens of a caller's bucket as there are, up to want, and
	// returns how many, and how many are left. A bucket that is not there is full.
	Take(ctx context.Context, caller string, r Rate, want float64) (got, left float64, err error)
}

// Decision is whether a request may go on, and what its caller is told.
type Decision struct {
	Allowed   bool
	Remaining int           // requests that may follow at once, as far as this instance knows
	Reset     time.Duration // until the caller has its whole burst again
	Retry     time.Duration // if not allowed: when a request may go on
}

// Limiter is one instance. It is safe for concurrent use.
type Limiter struct {
	now    func() time.Time
	source Source
	due    chan *caller // whose portion is to be fetched

	mu      sync.RWMutex
	callers map[string]*caller

	limited atomic.Int64 // requests
	clients atomic.Int64 // callers who were limited and are not forgotten
}

// caller is one caller at one instance.
type caller struct {
	id string

	mu      sync.Mutex
	rate    Rate
	held    float64       // tokens taken ahead, as of at; negative: owed
	at      time.Time     //
	left    float64       // in the shared bucket when it was last looked at
	seen    time.Time     // when that was
	next    time.Time     // not to ask the source before
	asked   bool          // a portion is being fetched
	came    chan struct{} // closed when what is being fetched is there; nil: nobody waits for it
	alone   bool          // the source is away: own is what counts
	own     Bucket
	used    time.Time
	refused bool // at least once
}

// New returns a limiter over a source. It leases only while Run runs.
func New(source Source, now func() time.Time) *Limiter {
	return &Limiter{now: now, source: source, due: make(chan *caller, 1024), callers: map[string]*caller{}}
}

// Allow counts one request of a caller with a rate that has a limit.
func (l *Limiter) Allow(id string, r Rate) Decision {
	c := l.caller(id)
	d, _ := l.ask(c, r)
	l.note(c, d)
	return d
}

// Await is Allow for a request that can be held for a moment. A caller may be faster
// than the portions come; while there is more for it in the shared bucket, as far as
// this instance knows, its request waits for the next one, no longer than patience or
// ctx, and is not refused what is left of its burst.
func (l *Limiter) Await(ctx context.Context, id string, r Rate, patience time.Duration) Decision {
	c := l.caller(id)
	d, came := l.ask(c, r)
	if came != nil {
		enough := time.NewTimer(patience) //nolint:forbidigo // ends a wait; what is allowed goes by now
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
	l.note(c, d)
	return d
}

// note counts a refusal.
func (l *Limiter) note(c *caller, d Decision) {
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

// ask spends a token if there is one, and has the next portion fetched in time. If
// there is none now, but one on its way, came is closed when it is there.
func (l *Limiter) ask(c *caller, r Rate) (d Decision, came <-chan struct{}) {
	now := l.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rate != r { // new, or an administrator changed it
		c.rate, c.held, c.left, c.seen, c.own = r, 0, float64(r.Burst), now, Bucket{}
	}
	c.used = now
	c.decay(now)
	d = c.take(now)
	if c.held < c.rate.portion(c.left)/2 && !c.asked && !now.Before(c.next) {
		select {
		case l.due <- c:
			c.asked = true
		default: // the source is slower than the callers: the next request asks
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

// coming reports whether a portion is being fetched that has something for the caller.
func (c *caller) coming(now time.Time) bool {
	shared := Bucket{c.left, c.seen}
	shared.fill(c.rate, now)
	return c.asked && !c.alone && !now.Before(c.next) && shared.Tokens+c.held+c.rate.slack() >= 1
}

// take spends one token, of those held or on credit.
func (c *caller) take(now time.Time) Decision {
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
		// What is owed beyond the credit has to come back first.
		return Decision{Retry: max(c.next.Sub(now), c.rate.wait(1-(c.held+c.rate.slack())-shared.Tokens), time.Millisecond), Reset: c.rate.wait(float64(c.rate.Burst) - shared.Tokens - c.held)}
	}
	c.held--
	all := min(shared.Tokens+c.held, float64(c.rate.Burst))
	return Decision{Allowed: true, Remaining: int(max(all, 0)), Reset: c.rate.wait(float64(c.rate.Burst) - all)}
}

// decay gives up what is held beyond the slack at the pace at which the shared
// bucket fills meanwhile: both together are never more than a burst.
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

// Limited is how many requests were refused.
func (l *Limiter) Limited() int64 { return l.limited.Load() }

// Clients is how many callers were refused at least once in the last hour or so.
func (l *Limiter) Clients() int64 { return l.clients.Load() }

// forgetAfter is how long a caller who does not ask is remembered, unless its
// burst takes longer to come back.
const forgetAfter = time.Hour

// aloneFor is how long an instance stands alone before it asks the source again.
const aloneFor = time.Second

// Run fetches portions until ctx ends, and returns its error.
func (l *Limiter) Run(ctx context.Context) error {
	tidy := time.NewTicker(forgetAfter / 4) //nolint:forbidigo // the pace of tidying; no answer depends on it
	defer tidy.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-l.due:
			l.fetch(ctx, c)
		case <-tidy.C:
			l.forget()
		}
	}
}

// fetch takes a portion for a caller, and what it owes.
func (l *Limiter) fetch(ctx context.Context, c *caller) {
	c.mu.Lock()
	rate, want := c.rate, c.rate.portion(c.left)-c.held
	c.mu.Unlock()
	got, left, err := l.source.Take(ctx, c.id, rate, want)
	now := l.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = false
	if c.came != nil {
		close(c.came)
		c.came = nil
	}
	if c.rate != rate { // changed meanwhile: what came is of the old bucket
		return
	}
	if err != nil {
		if !c.alone {
			// What is left of the burst, as far as this instance knows.
			c.alone, c.own = true, Bucket{c.left, c.seen}
			c.own.fill(rate, now)
			c.own.Tokens += c.held
		}
		c.next = now.Add(aloneFor)
		return
	}
	if c.alone {
		c.alone, c.held = false, 0 // what was granted alone is forgiven
	}
	c.decay(now)
	c.held += got
	c.left, c.seen, c.next = left, now, now
	// An empty bucket: look again when there is something to take. A source that counts
	// to millionths may also give a trifle less of a full one.
	if got < want && left <= 0 {
		soon := max(rate.wait(rate.slack()/2), time.Millisecond)
		c.next, c.asked = now.Add(soon), true       // also if nobody asks: who waits as told finds a token
		time.AfterFunc(soon, func() { l.again(c) }) //nolint:forbidigo // when to ask again; the answer goes by now
	}
}

// again has a portion fetched for a caller who owes.
func (l *Limiter) again(c *caller) {
	select {
	case l.due <- c:
	default:
		c.mu.Lock()
		c.asked = false
		c.mu.Unlock()
	}
}

// forget drops the callers who have not asked for long.
func (l *Limiter) forget() {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.callers {
		c.mu.Lock()
		idle := now.Sub(c.used)
		if idle > forgetAfter && idle > c.rate.wait(float64(c.rate.Burst)) {
			delete(l.callers, id)
			if c.refused {
				l.clients.Add(-1)
			}
		}
		c.mu.Unlock()
	}
}
