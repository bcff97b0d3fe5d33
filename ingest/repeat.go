package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"

	"svc/acuity"
	"svc/internal/httpapi"
)

// A sender that does not know whether a request arrived sends it again under the
// same Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). The identity of
// a request goes into the log with its facts, so whichever instance gets the second
// one, before or after a restart, the processor sees that it was taken already: no
// second effect, and the answer is made again from the change of the first.

// Repeated finds the change that a request made when it came first: that of a
// hospital with a version, at about an instant. ErrPending says that it is not in
// the log any more.
type Repeated func(ctx context.Context, hospital string, version int64, at acuity.Instant) (acuity.Change, error)

// maxIdempotencyKey is the length of the header in bytes.
const maxIdempotencyKey = 255

// identity is what a request says about itself: its key, and all of its body once
// that was read.
type identity struct {
	key  string // pseudonym of route and key
	body hash.Hash
	read io.ReadCloser
}

// Read implements [io.Reader].
func (i *identity) Read(p []byte) (int, error) {
	n, err := i.read.Read(p)
	i.body.Write(p[:n])
	return n, err //nolint:wrapcheck // a reader hands on what it wraps
}

// Close implements [io.Closer].
func (i *identity) Close() error { return i.read.Close() } //nolint:wrapcheck // likewise

type identityKey struct{}

// identified reads the Idempotency-Key of a request, whose body is then to be read
// from the request that it returns; false: it has answered.
func (s *server) identified(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	headers := r.Header["Idempotency-Key"]
	if len(headers) == 0 {
		return r, true
	}
	if len(headers) > 1 || !isIdempotencyKey(headers[0]) {
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: httpapi.Invalid, Message: "The Idempotency-Key must be 1 to 255 visible ASCII characters.",
			Details: []httpapi.Detail{{Path: "Idempotency-Key", Rule: "ascii:1-255"}},
		})
		return nil, false
	}
	hospital := httpapi.Caller(r.Context()).Hospital
	i := &identity{
		key:  s.Pseudonyms.Of(hospital, "request", r.URL.Path+"\x00"+headers[0]),
		body: sha256.New(), read: r.Body,
	}
	r = r.WithContext(context.WithValue(r.Context(), identityKey{}, i))
	r.Body = i
	return r, true
}

func isIdempotencyKey(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return key != "" && len(key) <= maxIdempotencyKey
}

// requestOf returns the identity of a request whose body was read; nil: it has none.
func (s *server) requestOf(r *http.Request, hospital string) *acuity.Request {
	i, ok := r.Context().Value(identityKey{}).(*identity)
	if !ok {
		return nil
	}
	return &acuity.Request{Key: i.key, Digest: s.Pseudonyms.Of(hospital, "request body", string(i.body.Sum(nil)))}
}

// repeat makes a receipt that of the request that this one repeats, if it repeats
// one. If it cannot be answered it answers itself and returns false.
func (s *server) repeat(w http.ResponseWriter, r *http.Request, got *receipt) bool {
	again := &got.change
	switch {
	case again.Repeats == 0:
		return true
	case again.Reason == acuity.ReasonReused:
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Conflict})
		return false
	}
	w.Header()["Idempotency-Replayed"] = []string{"true"}
	ctx, cancel := context.WithTimeout(r.Context(), appliedWait)
	defer cancel()
	first, err := s.Repeated(ctx, again.Hospital, again.Repeats, again.RepeatsAt)
	switch {
	case err == nil:
		got.change, got.position.Offset = first, first.Offset
	case errors.Is(err, ErrPending): // then it is a duplicate, and nothing else is known of it
	default:
		s.Shell.Log.WarnContext(r.Context(), "first answer not found", "hospital", again.Hospital, "error", err)
		w.Header().Del("Idempotency-Replayed")
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter})
		return false
	}
	return true
}
