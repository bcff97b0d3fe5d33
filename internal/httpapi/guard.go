package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/problem"
)

// Allow is middleware that admits only keys with the scope, or with one of the alternative scopes in parts, within
// their rate limit. The scope "" admits every valid key. A missing, malformed, unknown, revoked or expired key gets the
// same response after the same work, so the middleware looks up any token, even an empty one.
func (s *Shell) Allow(scope access.Scope, parts ...access.Scope) func(http.Handler) http.Handler {
	enough := append([]access.Scope{scope}, slices.DeleteFunc(slices.Clone(parts), func(part access.Scope) bool { return part == "" })...)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key, ok := s.Lookup(bearer(r))
			if !ok {
				s.refuse(w, r, key)
				return
			}
			from(r.Context()).key = key
			r = s.trace(r, &key)
			if s.Used != nil {
				s.Used(key.ID)
			}
			if !s.admit(w, r, &key) {
				return
			}
			if scope != "" && !slices.ContainsFunc(enough, key.Allows) {
				s.deny(w, r, scope, Problem{Message: "The endpoint requires the scope " + string(scope) + "."})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// deny responds to a request whose key lacks a scope.
func (s *Shell) deny(w http.ResponseWriter, r *http.Request, scope access.Scope, p Problem) {
	if s.Denied != nil {
		s.Denied(r.Context(), &from(r.Context()).key, method(r.Method), chi.RouteContext(r.Context()).RoutePattern(), scope)
	}
	p.Kind = problem.Forbidden
	Fail(w, r, p)
}

// AllowField reports whether the key of the request has the scope that a field of the body requires in addition to the
// endpoint's scope. If it returns false, it has sent an error response, which says that nothing was applied.
func (s *Shell) AllowField(w http.ResponseWriter, r *http.Request, field string, scope access.Scope) bool {
	if from(r.Context()).key.Allows(scope) {
		return true
	}
	s.deny(w, r, scope, Problem{
		Message: "The field " + field + " also requires the scope " + string(scope) + ", so nothing was applied. " +
			"Use a key with this scope, or omit the field.",
		Details: []Detail{{Path: field, Rule: "scope:" + string(scope)}},
	})
	return false
}

// refuse responds to a request without a valid key. An address that sends too many such requests gets 429 instead.
// Requests from this address with a valid key are still served.
func (s *Shell) refuse(w http.ResponseWriter, r *http.Request, former access.Key) {
	q := from(r.Context())
	q.former = former
	if retry, ok := s.Stranger(r); !ok {
		Fail(w, r, Problem{
			Kind: problem.RateLimited, RetryAfter: retry,
			Message: "Too many requests without a valid API key came from this address; retry after the time in Retry-After.",
		})
		return
	}
	Fail(w, r, Problem{Kind: problem.Unauthorized})
}

// Stranger counts a request from a caller without a valid key, such as a visitor who opens a link, against the limit
// of the client address. If ok is false, the address has exceeded its limit, and retry is the time until its next
// allowed request; the log does not show this request.
func (s *Shell) Stranger(r *http.Request) (retry time.Duration, ok bool) {
	if s.Strangers == nil {
		return 0, true
	}
	ok, retry = s.Strangers.Allow(s.address(r))
	if q, inside := r.Context().Value(contextKey{}).(*request); inside && !ok {
		q.many = true
	}
	return retry, ok
}

// bearer returns the token of the request; "" if there is none or more than one.
func bearer(r *http.Request) string {
	headers := r.Header["Authorization"]
	if len(headers) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// notFound responds to a request for a path without a route.
func notFound(w http.ResponseWriter, r *http.Request) {
	below, isFHIR := strings.CutPrefix(r.URL.Path, fhirBase+"/")
	if isFHIR && below != "" && (below[0] == '$' || below[0] >= 'A' && below[0] <= 'Z') { // a FHIR resource type or operation
		Fail(w, r, Problem{
			Kind:    problem.NotSupported,
			Message: "The endpoint does not serve individual resources; POST resources to " + fhirBase + ", alone or in a Bundle.",
		})
		return
	}
	Fail(w, r, Problem{Kind: problem.Missing, Message: "The path does not exist; GET /docs lists all endpoints."})
}

// methodNotAllowed responds to a request whose path does not support its method. The Allow header lists the supported
// methods. A path without methods gets 404, because chi also calls this handler for unknown paths if it does not know
// the method of the request. HEAD works wherever GET does, and OPTIONS everywhere.
func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	allowed := make([]string, 0, len(methods))
	closest := math.MaxInt // fewest parameters in a matching pattern: a fixed path takes precedence over {id}
	if routes := chi.RouteContext(r.Context()).Routes; routes != nil {
		for _, m := range methods {
			at := chi.NewRouteContext()
			if !routes.Match(at, m, path) {
				continue
			}
			open := strings.Count(at.RoutePattern(), "{")
			if open < closest {
				closest, allowed = open, allowed[:0]
			}
			if open == closest {
				if allowed = append(allowed, m); m == http.MethodGet {
					allowed = append(allowed, http.MethodHead)
				}
			}
		}
	}
	if len(allowed) == 0 {
		notFound(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
	if r.Method == http.MethodOptions {
		respondOptions(w, r)
		return
	}
	Fail(w, r, Problem{Kind: problem.MethodNotServed, Message: "The path supports " + w.Header().Get("Allow") + "."})
}

// methods are the methods that a route may have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// policyName is the name that response headers give to the only rate limit policy for a key.
const policyName = `"key"`

// admit counts a request with a key and sets the rate headers, unless the key has no rate limit. The headers have the
// form of draft-ietf-httpapi-ratelimit-headers-10: q requests in a window of w seconds, of which r remain; all are
// available again after t seconds. If the key exceeds its limit, admit sends an error response and returns false.
func (s *Shell) admit(w http.ResponseWriter, r *http.Request, key *access.Key) bool {
	if s.Limits == nil || key.Rate <= 0 {
		return true
	}
	rate := rateOf(key)
	d := s.Limits.Allow(r.Context(), key.ID, rate)
	h, values := w.Header(), []string{
		policy(";q=", int64(rate.Burst), ";w=", max(seconds(rate.Whole()), 1)),
		policy(";r=", int64(d.Remaining), ";t=", seconds(d.Reset)),
	}
	h["Ratelimit-Policy"], h["Ratelimit"] = values[:1:1], values[1:]
	if !d.Allowed {
		Fail(w, r, Problem{Kind: problem.RateLimited, RetryAfter: d.Retry})
	}
	return d.Allowed
}

// Await counts a message that arrives with a key over a protocol that cannot ask the sender to retry later. It waits
// until the rate limit allows the message, but no longer than patience; after that, the message proceeds anyway. The
// wait slows down the sender, which waits for the acknowledgment. If ctx ends first, Await returns its error.
func (s *Shell) Await(ctx context.Context, key *access.Key, patience time.Duration) error {
	if s.Limits == nil || key.Rate <= 0 {
		return nil
	}
	for patience > 0 {
		d := s.Limits.Allow(ctx, key.ID, rateOf(key))
		if d.Allowed {
			return nil
		}
		pause := min(max(d.Retry, time.Millisecond), patience)
		patience -= pause
		timer := time.NewTimer(pause) //nolint:forbidigo // the duration comes from the limiter
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the rate limit of the key: %w", ctx.Err())
		case <-timer.C:
		}
	}
	return nil
}

func rateOf(key *access.Key) limit.Rate {
	return limit.Rate{PerSecond: key.Rate, Burst: max(key.Burst, 1)}
}

// policy returns the policy name with two parameters.
func policy(first string, n int64, second string, m int64) string {
	b := append(make([]byte, 0, 64), policyName...)
	b = strconv.AppendInt(append(b, first...), n, 10)
	return string(strconv.AppendInt(append(b, second...), m, 10))
}

// seconds returns a duration in seconds, rounded up.
func seconds(d time.Duration) int64 { return int64(math.Ceil(max(d.Seconds(), 0))) }
