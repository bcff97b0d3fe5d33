package httpapi

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi/access"
)

// Allow is middleware that passes only keys with the scope, no more often than their
// rate. The scope "" passes every valid key. A missing, malformed, unknown, revoked or
// expired key gets the same answer for the same work. So the middleware looks up whatever
// was presented, even nothing.
func (s *Shell) Allow(scope access.Scope) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key, ok := s.Lookup(bearer(r))
			if !ok {
				s.refuse(w, r, key)
				return
			}
			from(r.Context()).key = key
			if s.Used != nil {
				s.Used(key.ID)
			}
			if !s.admit(w, r, &key) {
				return
			}
			if scope != "" && !key.Allows(scope) {
				Fail(w, r, Problem{Kind: Forbidden, Message: "This endpoint needs the scope " + string(scope) + "."})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// refuse answers a request without a valid key. An address that sends too many of them is
// only told to wait. A valid key still passes from that address.
func (s *Shell) refuse(w http.ResponseWriter, r *http.Request, former access.Key) {
	q := from(r.Context())
	q.former = former
	if retry, ok := s.Stranger(r); !ok {
		q.many = true
		Fail(w, r, Problem{
			Kind: RateLimited, RetryAfter: retry,
			Message: "Too many requests without a valid API key came from this address; see the header Retry-After.",
		})
		return
	}
	Fail(w, r, Problem{Kind: Unauthorized})
}

// Stranger counts a request of an unknown caller, like a request without a valid key. If ok is
// false the address has sent too many; retry is how long until the next one may come.
func (s *Shell) Stranger(r *http.Request) (retry time.Duration, ok bool) {
	if s.Strangers == nil {
		return 0, true
	}
	ok, retry = s.Strangers.Allow(s.address(r))
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

// notFound answers a request for a path without a route.
func notFound(w http.ResponseWriter, r *http.Request) {
	Fail(w, r, Problem{Kind: Missing, Message: "There is no such path."})
}

// methodNotAllowed answers a request whose path does not serve its method; Allow names
// the methods that it serves. A path without methods does not exist: chi calls this for
// any path if it does not know the method. HEAD works wherever GET does, and OPTIONS
// everywhere.
func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	allowed := make([]string, 0, len(methods))
	closest := math.MaxInt // a fixed path beside {id} has methods of its own
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
		options(w, r)
		return
	}
	Fail(w, r, Problem{Kind: MethodNotServed, Message: "This path serves " + w.Header().Get("Allow") + "."})
}

// methods are those that a route may have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
