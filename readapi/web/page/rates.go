package page

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc/readapi/web/auth"
)

// The limits on the rate of page requests in one process: for each session or wall, for all sessions of a hospital, and
// for all walls of a hospital. The numbers are defaults of this project: a person needs about one page a second, and
// pages that update themselves use streams.
const (
	sessionPerSecond, sessionBurst   = 20, 200
	hospitalPerSecond, hospitalBurst = 100, 1000
	rateIdle                         = time.Minute // idle time after which a bucket is full again
)

// rates limits the page requests of each session, wall and hospital, so that none can slow down others. The sessions of
// a hospital cannot slow down its walls either.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	swept   time.Time
}

type bucket struct {
	*rate.Limiter
	used time.Time
}

// reservePage returns how long a session or wall must wait before its next page request. If it returns 0, the request is
// permitted and has been counted.
func (s *rates) reservePage(session *auth.Session, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets == nil {
		s.buckets = map[string]*bucket{}
	}
	if now.Sub(s.swept) > rateIdle {
		for name, b := range s.buckets {
			if now.Sub(b.used) > rateIdle {
				delete(s.buckets, name)
			}
		}
		s.swept = now
	}
	one, all := "session "+session.ID, "sessions "+session.Hospital
	if session.Wall != "" {
		one, all = "wall "+session.Wall, "walls "+session.Hospital
	}
	own := s.bucket(one, sessionPerSecond, sessionBurst, now)
	hospital := s.bucket(all, hospitalPerSecond, hospitalBurst, now)
	wait := own.reserve(now)
	if wait == 0 { // a request beyond the session's limit is not counted for the hospital
		wait = hospital.reserve(now)
	}
	return wait
}

func (s *rates) bucket(name string, perSecond rate.Limit, burst int, now time.Time) *bucket {
	b := s.buckets[name]
	if b == nil {
		b = &bucket{Limiter: rate.NewLimiter(perSecond, burst)}
		s.buckets[name] = b
	}
	b.used = now
	return b
}

// reserve removes a token from the bucket and returns 0. If the bucket is empty, it returns the time until the next
// token.
func (b *bucket) reserve(now time.Time) time.Duration {
	taken := b.ReserveN(now, 1)
	wait := taken.DelayFrom(now)
	if wait > 0 {
		taken.CancelAt(now)
	}
	return wait
}

// LimitPages counts a request of a session or a wall, and reports whether the session or its hospital exceeds its rate
// limit. If LimitPages returns true, it has sent an error response. If that is a page, it reloads itself, because no
// person may be at the screen that shows it.
func (s *Site) LimitPages(w http.ResponseWriter, r *http.Request, session *auth.Session) bool {
	wait := s.rates.reservePage(session, s.config.Now())
	if wait == 0 {
		return false
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	if isRead(r) {
		s.writeFault(w, r, http.StatusTooManyRequests, session, "fault.rate", RefreshSeconds)
	} else {
		s.ShowFault(w, r, http.StatusTooManyRequests, session, "fault.throttled")
	}
	return true
}
