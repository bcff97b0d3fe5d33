package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
)

// policyName is the name of the only policy of a key in the headers.
const policyName = `"key"`

// held is how long a request may wait for the rest of its key's burst. That rest is in
// Redis, usually a millisecond away.
const held = 250 * time.Millisecond

// admit counts a request of a key and sets its rate headers. They have the form of
// draft-ietf-httpapi-ratelimit-headers-10: q requests in a window of w seconds, r of them left, t
// seconds until all are left again. If the key has sent too many requests, admit answers and
// returns false.
func (s *Shell) admit(w http.ResponseWriter, r *http.Request, key *access.Key) bool {
	if s.Limits == nil || key.Rate <= 0 {
		return true
	}
	rate := rateOf(key)
	d := s.Limits.Await(r.Context(), key.ID, rate, held)
	h, values := w.Header(), []string{
		policy(";q=", int64(rate.Burst), ";w=", max(seconds(rate.Whole()), 1)),
		policy(";r=", int64(d.Remaining), ";t=", seconds(d.Reset)),
	}
	h["Ratelimit-Policy"], h["Ratelimit"] = values[:1:1], values[1:]
	if !d.Allowed {
		Fail(w, r, Problem{Kind: RateLimited, RetryAfter: d.Retry})
	}
	return d.Allowed
}

// Await counts a message of a key that comes by a protocol without a "try later". It
// waits until the rate allows the message, but at most for patience; then the message may
// go on. The sender waits for its answer, so it becomes as slow. Await returns early with
// the error of ctx.
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

// policy returns the name of the policy with two parameters.
func policy(first string, n int64, second string, m int64) string {
	b := append(make([]byte, 0, 64), policyName...)
	b = strconv.AppendInt(append(b, first...), n, 10)
	return string(strconv.AppendInt(append(b, second...), m, 10))
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64(math.Ceil(max(d.Seconds(), 0))) }
