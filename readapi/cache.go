package readapi

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"svc/acuity"
)

// Reads provides the results of the read API. The HTTP handlers and the callers in this process share its cache.
type Reads struct {
	cfg    Config
	trends *trendsCache

	mu          sync.RWMutex
	units       map[string]*cachedUnit // by hospital
	cachedBytes int64                  // bytes of all cached judgments
	cacheLimit  int64                  // limit of cachedBytes, unless a single judgment is larger
}

// maxCached is the maximum number of bytes of cached judgments. It is a default of this project and enough for a few
// thousand typical units, or several hundred of the largest.
const maxCached = 256 << 20

// cachedUnit is the latest judgment for one hospital. One request at a time validates it, on behalf of all requests
// that were waiting when the validation started. A request that arrives during the validation waits for the next one,
// so a result is never older than its request.
type cachedUnit struct {
	lock chan struct{} // holds one value while a request validates
	size int64         // counted in Reads.cachedBytes and guarded by Reads.mu

	mu   sync.Mutex
	next *validation // shared by the waiting requests; nil if no request waits

	details unitDetails

	// Only the request that holds the lock may use the following fields.
	last *judgment
	// moving means that the last validation found a new state. The next one then reads the state without reading its
	// version first, which saves a round trip.
	moving bool
}

// validation is one check of the cache, shared by the requests that wait for it.
type validation struct {
	done     chan struct{} // closed once the other fields are set
	judgment *judgment
	err      error
}

func newCachedUnit() *cachedUnit { return &cachedUnit{lock: make(chan struct{}, 1)} }

// current returns a judgment that is valid for the hospital at some instant between the call and its return. It
// returns the cached judgment if that is still valid.
func (s *Reads) current(ctx context.Context, hospital string) (*judgment, error) {
	u := s.cachedUnitOf(hospital)
	select {
	case u.lock <- struct{}{}:
		return s.validate(ctx, hospital, u)
	default:
	}
	u.mu.Lock()
	if u.next == nil {
		u.next = &validation{done: make(chan struct{})}
	}
	shared := u.next
	u.mu.Unlock()
	select {
	case <-shared.done:
		return shared.judgment, shared.err
	case u.lock <- struct{}{}:
		select {
		case <-shared.done: // the validation finished at the same time
			<-u.lock
			return shared.judgment, shared.err
		default:
			return s.validate(ctx, hospital, u)
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for an evaluation: %w", ctx.Err())
	}
}

// validate validates the cached judgment on behalf of all waiting requests, and releases the lock.
func (s *Reads) validate(ctx context.Context, hospital string, u *cachedUnit) (j *judgment, err error) {
	u.mu.Lock()
	shared := u.next
	u.next = nil
	u.mu.Unlock()
	err = errFault // result if the validation panics
	defer func() {
		if shared != nil {
			shared.judgment, shared.err = j, err
			close(shared.done)
		}
		<-u.lock
	}()
	if shared != nil { // other requests must not fail if this client disconnects
		ctx = context.WithoutCancel(ctx)
	}
	before := u.last
	if j, err = s.renew(ctx, hospital, u); err == nil && j != before {
		u.last = j
		s.store(hospital, u, j.size)
	}
	return j, err
}

var errFault = errors.New("cache validation panicked")

// renew returns the cached judgment if it is valid, or a judgment on the hospital's current state if not.
func (s *Reads) renew(ctx context.Context, hospital string, u *cachedUnit) (*judgment, error) {
	if u.last != nil && !u.moving {
		token, err := s.cfg.Charts.Token(ctx, hospital)
		if err != nil {
			return nil, err //nolint:wrapcheck // the interface returns this package's errors
		}
		if token == u.last.token {
			return s.rejudge(u.last), nil
		}
	}
	before := &chart{} // no previous state
	if u.last != nil {
		before = u.last.chart
	}
	state, err := s.cfg.Charts.Read(ctx, hospital, before.token)
	if err != nil {
		return nil, err //nolint:wrapcheck // the interface returns this package's errors
	}
	if u.last != nil {
		if u.moving = state.Token != before.token; !u.moving {
			return s.rejudge(u.last), nil
		}
	}
	c, err := decode(s.cfg.Charts, &state, before.rooms)
	if err != nil {
		return nil, err
	}
	return judge(c, u.last, acuity.At(s.cfg.Shell.Now())), nil
}

// rejudge returns a currently valid judgment on the same chart, which is the given judgment if that is still valid.
func (s *Reads) rejudge(last *judgment) *judgment {
	now := acuity.At(s.cfg.Shell.Now())
	if last.holds(max(now, last.head.Clock)) {
		return last
	}
	return judge(last.chart, last, now)
}

// cachedUnitOf returns the cache entry of a hospital. It adds one if there is none.
func (s *Reads) cachedUnitOf(hospital string) *cachedUnit {
	s.mu.RLock()
	u := s.units[hospital]
	s.mu.RUnlock()
	if u != nil {
		return u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u = s.units[hospital]; u == nil {
		u = newCachedUnit()
		s.units[hospital] = u
	}
	return u
}

// store caches a unit and counts its bytes. Beyond the limit, it evicts other units, which are evaluated again when
// they are next read. If u was evicted in the meantime, the map may contain a different entry for the hospital.
func (s *Reads) store(hospital string, u *cachedUnit, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.units[hospital]; old != nil {
		s.cachedBytes -= old.size
	}
	s.units[hospital], u.size = u, size
	s.cachedBytes += size
	for other, k := range s.units {
		if s.cachedBytes <= s.cacheLimit {
			return
		}
		if other != hospital {
			delete(s.units, other)
			s.cachedBytes -= k.size
		}
	}
}
