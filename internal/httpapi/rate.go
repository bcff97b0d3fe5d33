package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
)

// policyName is what the one policy of a key is called in the headers.
const policyName = `"key"`

// held is how long a request of a key may wait for what is left of its burst, which
// lies in Redis; usually it takes a millisecond.
const held = 250 * time.Millisecond

// admit counts a request of a key and tells the key where it stands, in the form
// of draft-ietf-httpapi-ratelimit-headers-10: a quota of requests in a window of
// seconds, how many remain, and in how many seconds the quota is whole again. If
// the key has sent too many it answers and returns false.
func (s *Shell) admit(w http.ResponseWriter, r *http.Request, key *access.Key) bool {
	if s.Limits == nil || key.Rate <= 0 {
		return true
	}
	rate := rateOf(key)
	d := s.Limits.Await(r.Context(), key.ID, rate, held)
	h := w.Header()
	h["Ratelimit-Policy"] = policyOf(rate)
	b := append(make([]byte, 0, 32), policyName+";r="...)
	b = strconv.AppendInt(b, int64(d.Remaining), 10)
	b = append(b, ";t="...)
	b = strconv.AppendInt(b, seconds(d.Reset), 10)
	h["Ratelimit"] = []string{string(b)}
	if !d.Allowed {
		Fail(w, r, Problem{Kind: RateLimited, RetryAfter: d.Retry})
	}
	return d.Allowed
}

// Await counts a message of a key that comes by a protocol in which nobody can be
// told to come later: it waits until the rate allows the message, but no longer
// than the patience, after which the message may go on. The sender, who waits for
// its answer, is as slow then. It returns early with the error of ctx.
func (s *Shell) Await(ctx context.Context, key *access.Key, patience time.Duration) error {
	if s.Limits == nil || key.Rate <= 0 {
		return nil
	}
	for patience > 0 {
		d := s.Limits.Allow(key.ID, rateOf(key))
		if d.Allowed {
			return nil
		}
		pause := min(max(d.Retry, time.Millisecond), patience)
		patience -= pause
		timer := time.NewTimer(pause) //nolint:forbidigo // a pause of the limiter's own choosing
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the rate of the key: %w", ctx.Err())
		case <-timer.C:
		}
	}
	return nil
}

func rateOf(key *access.Key) limit.Rate {
	return limit.Rate{PerSecond: key.Rate, Burst: max(key.Burst, 1)}
}

// policies has the header value of each rate that was met: keys share a few.
var policies sync.Map

func policyOf(r limit.Rate) []string {
	if known, ok := policies.Load(r); ok {
		if value, ok := known.([]string); ok {
			return value
		}
	}
	window := seconds(time.Duration(float64(r.Burst) / r.PerSecond * float64(time.Second)))
	value := []string{policyName + ";q=" + strconv.Itoa(r.Burst) + ";w=" + strconv.FormatInt(max(window, 1), 10)}
	policies.Store(r, value)
	return value
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64(math.Ceil(max(d.Seconds(), 0))) }
