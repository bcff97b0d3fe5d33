// Package httpapi contains the parts that all HTTP responses of the service share: the envelopes of protocol svc.v1,
// error responses, request ids, the check of keys.
//
// A role mounts its routes on the router of a [Shell]:
//
//	r := shell.Router()
//	r.With(shell.Allow(access.ReadUnitState)).Get("/api/v1/level", level)
//
// Its handlers respond with [OK] or [Fail]; [Caller] returns the key of the request. Error responses and the access
// log never contain a value from the URL or the body of a request.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/problem"
)

// Shell is the middleware around the handlers of a role.
type Shell struct {
	Now func() time.Time // the clock
	// Lookup returns the key of a token, and reports whether the key may be used now. An invalid key is returned only
	// for the log.
	Lookup func(token string) (access.Key, bool)
	// DocsURL is the URL of the documentation in every error response. If it is "", the URL is built from the Host
	// header.
	DocsURL string
	Log     *slog.Logger
	Limits  *limit.Limiter // limits the rates of keys; nil: no limit
	// Strangers limits requests without a valid key, by address; nil: no limit.
	Strangers *limit.Strangers
	Proxies   []netip.Prefix     // proxies whose X-Forwarded-For header is trusted
	Used      func(keyID string) // called for each request with a valid key; may be nil
	Origins   []string           // exact origins of pages that may read responses in a browser (CORS), such as "https://board.example"
	// Denied is called for a request whose key lacks the scope, with the pattern of the request's route; it may be nil.
	Denied func(ctx context.Context, key *access.Key, method, route string, scope access.Scope)
	// Answered is called for every response; it may be nil. ctx is the context of the request's span, if the request
	// has one. route is the pattern of the request's route, or "" for an unknown path. Answered runs before the next
	// request on the connection, so it must not block.
	Answered func(ctx context.Context, method, route string, status int, took time.Duration)
	// Trace starts the span of a request with a valid key, for the hospital of the key. It returns the context of the
	// span, and the function that ends it. A request without a valid key has no span. If Trace is nil, no request has a
	// span.
	Trace func(r *http.Request, hospital string, at time.Time) (ctx context.Context, end func(route string, status int))
}

// Router returns a router whose responses all have the envelope, even for an unknown path or method. The roles mount
// their routes on it.
func (s *Shell) Router() *chi.Mux {
	r := chi.NewRouter()
	r.Use(s.Wrap)
	r.NotFound(notFound)
	r.MethodNotAllowed(methodNotAllowed)
	return r
}

// request is the only value that this package stores in the context of a request.
type request struct {
	id     string
	shell  *Shell
	key    access.Key // zero on a path that needs no key
	former access.Key // presented key that is no longer valid
	many   bool       // whether the address sent too many requests without a valid key; if so, this one is not logged

	hospital, user string // hospital and person (or screen) of a request for a page; see [Identify]

	start   time.Time
	traced  context.Context                //nolint:containedctx // context of the span, for the log line; nil: none
	endSpan func(route string, status int) // ends the span; nil: none

	refused Problem // the last refusal; see [Refusal]

	// These fields are part of the struct so that a request allocates once.
	seen   recorder
	body   requestBody
	header [1]string // X-Request-Id
}

type contextKey struct{}

func from(ctx context.Context) *request {
	q, ok := ctx.Value(contextKey{}).(*request)
	if !ok {
		panic("api: handler outside of Shell.Wrap")
	}
	return q
}

// Caller returns the key of the request, or the zero key on a path that does not need one.
func Caller(ctx context.Context) access.Key { return from(ctx).key }

// Identify sets the hospital, and the id of the person or screen, that the access log reports for a page. Outside of a
// [Shell] it does nothing.
func Identify(ctx context.Context, hospital, user string) {
	if q, ok := ctx.Value(contextKey{}).(*request); ok {
		q.hospital, q.user = hospital, user
	}
}

// PlainRequestID returns the id of the request if it is a UUID, as generated ids are, and "" otherwise. Any other id
// is text from the sender, which must not be logged or stored.
func PlainRequestID(ctx context.Context) string { return from(ctx).plainID() }

func (q *request) plainID() string {
	if uuid.Validate(q.id) != nil {
		return ""
	}
	return q.id
}

// Wrap gives the request its id and the response its default headers, and writes one log line. It turns a panic into
// a 500 in the envelope or, if part of a response was already sent, closes the connection. Wrap is the first
// middleware of a router. Inside another Wrap, it does nothing.
func (s *Shell) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(contextKey{}) != nil {
			next.ServeHTTP(w, r)
			return
		}
		if c := chi.RouteContext(r.Context()); c != nil && r.Method == http.MethodHead {
			c.RouteMethod = http.MethodGet // routes HEAD as GET; the server omits the body
		}
		if r.URL.Path == fhirBase+"/" { // some FHIR clients append a slash to the base URL
			r.URL.Path = fhirBase
		}
		start := s.Now()
		q := &request{id: requestID(r), shell: s, start: start}
		r = r.WithContext(context.WithValue(r.Context(), contextKey{}, q))
		if r.Body != nil && r.Body != http.NoBody {
			q.body.ReadCloser = r.Body
			r.Body = &q.body
		}
		seen := &q.seen
		seen.ResponseWriter, q.header[0] = w, q.id
		seen.Header()["X-Request-Id"] = q.header[:]
		s.setHeaders(seen.Header(), r)
		defer func() {
			fault := recover()
			if fault == http.ErrAbortHandler { //nolint:errorlint // the panic value is this error itself
				seen.aborted = true
			} else if fault != nil {
				s.logPanic(seen, r, fault)
			}
			s.recordAnswer(seen, r, q, s.Now().Sub(start))
			if seen.aborted {
				panic(http.ErrAbortHandler) // part of a response was sent, so close the connection
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// logPanic logs the location and type of a panic. The panic value is omitted, because it could contain a value from the
// request.
func (s *Shell) logPanic(seen *recorder, r *http.Request, fault any) {
	kind := "panic"
	if err, ok := fault.(interface{ RuntimeError() }); ok { // the message of a runtime error contains indices, but no values
		kind = err.(error).Error() //nolint:errcheck,forcetypeassert // a runtime error is an error
	}
	s.Log.ErrorContext(r.Context(), "handler panicked", "fault", kind, "stack", string(debug.Stack()))
	if seen.status != 0 {
		seen.aborted = true
		return
	}
	Fail(seen, r, Problem{Kind: problem.Internal})
}

// recordAnswer counts the response and logs it.
func (s *Shell) recordAnswer(seen *recorder, r *http.Request, q *request, took time.Duration) {
	route := ""
	if c := chi.RouteContext(r.Context()); c != nil {
		route = c.RoutePattern()
	}
	ctx := r.Context() //nolint:contextcheck // q.traced is derived from r.Context()
	if q.endSpan != nil {
		q.endSpan(route, seen.status)
		ctx = q.traced
	}
	if s.Answered != nil {
		s.Answered(ctx, method(r.Method), route, seen.status, took)
	}
	s.logRequest(ctx, seen, r, q, route, took)
}

// trace starts the span of a request with a valid key, if traces are on.
func (s *Shell) trace(r *http.Request, key *access.Key) *http.Request {
	q := from(r.Context())
	if s.Trace == nil || q.endSpan != nil {
		return r
	}
	q.traced, q.endSpan = s.Trace(r, key.Hospital, q.start)
	return r.WithContext(q.traced) //nolint:contextcheck // q.traced is derived from r's context
}

// logRequest writes the access log. It logs the route, never the path, and the request id only if it is a UUID.
func (s *Shell) logRequest(ctx context.Context, seen *recorder, r *http.Request, q *request, route string, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case quiet(route), q.many: // routine polls, and the requests of an address over its limit, would fill the log
		level = slog.LevelDebug
	case seen.status >= http.StatusInternalServerError:
		level = slog.LevelError
	}
	if !s.Log.Enabled(ctx, level) {
		return
	}
	key := &q.key
	if key.ID == "" {
		key = &q.former
	}
	hospital := key.Hospital
	if hospital == "" {
		hospital = q.hospital
	}
	//nolint:sloglint // typed: no allocation per value
	s.Log.LogAttrs(ctx, level, "request",
		slog.String("method", method(r.Method)),
		slog.String("route", route),
		slog.Int("status", seen.status),
		slog.Int64("bytes", seen.bytes),
		slog.Duration("duration", took),
		slog.String("address", s.addressText(r)),
		slog.String("hospital", hospital),
		slog.String("key_id", key.ID),
		slog.String("user_id", q.user),
		slog.String("request_id", q.plainID()),
	)
}

// quiet reports whether machines poll a route every few seconds, so that its log lines would be noise.
func quiet(route string) bool { return route == "/healthz" || route == "/readyz" }

// method returns the name if it is a known HTTP method, or else "other", so that arbitrary text stays out of the log.
func method(name string) string {
	if name == http.MethodHead || name == http.MethodOptions || slices.Contains(methods, name) {
		return name
	}
	return "other"
}

// requestID returns the id that the client chose if it consists of 1 to 128 visible ASCII characters. Otherwise, it
// returns a new UUID.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) < 1 || len(id) > 128 {
		return uuid.NewString()
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return uuid.NewString()
		}
	}
	return id
}

// recorder records the status and size of a response.
type recorder struct {
	http.ResponseWriter
	status  int
	bytes   int64
	aborted bool
}

func (s *recorder) WriteHeader(status int) {
	if s.status == 0 && status >= http.StatusOK { // a 1xx status is not final
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *recorder) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	n, err := s.ResponseWriter.Write(b)
	s.bytes += int64(n)
	return n, err //nolint:wrapcheck // the error of the wrapped writer is passed on unchanged
}

// Unwrap gives [http.ResponseController] access to the connection.
func (s *recorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
