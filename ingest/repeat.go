package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/internal/httpapi"
	"svc/internal/httpapi/problem"
)

// A sender that does not know whether a request arrived sends it again with the same Idempotency-Key
// (draft-ietf-httpapi-idempotency-key-header). The log stores the identity of a request together with its facts, so
// the processor recognizes the second request whichever instance received it, even after a restart. The second
// request has no effect, and its response is rebuilt from the change that the first one caused.

// Repeated finds the change that the first of several identical requests caused: the change of a hospital with the
// given version, made at about the given instant. ErrPending means that the log no longer has the change.
type Repeated func(ctx context.Context, hospital string, version int64, at acuity.Instant) (acuity.Change, error)

// maxIdempotencyKey is the maximum length of the header in bytes.
const maxIdempotencyKey = 255

// identity is the Idempotency-Key of a request and the digest of the request's body. It is the reader of the body, so
// the digest is complete once the body has been read.
type identity struct {
	key  string // pseudonym of route and Idempotency-Key
	body hash.Hash
	read io.ReadCloser
}

// Read implements [io.Reader].
func (i *identity) Read(p []byte) (int, error) {
	n, err := i.read.Read(p)
	i.body.Write(p[:n])
	return n, err //nolint:wrapcheck // returns the error of the wrapped reader unchanged
}

// Close implements [io.Closer].
func (i *identity) Close() error { return i.read.Close() } //nolint:wrapcheck // returns the error of the body unchanged

type identityKey struct{}

// readIdempotencyKey reads the Idempotency-Key of a request. The caller must read the body from the returned request.
// If readIdempotencyKey returns false, it has sent an error response.
func (s *server) readIdempotencyKey(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	headers := r.Header["Idempotency-Key"]
	if len(headers) == 0 {
		return r, true
	}
	if len(headers) > 1 || !isIdempotencyKey(headers[0]) {
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: problem.Invalid, Message: "The Idempotency-Key must be 1 to 255 visible ASCII characters.",
			Details: []httpapi.Detail{{Path: "Idempotency-Key", Rule: "ascii:1-255"}},
		})
		return nil, false
	}
	hospital := httpapi.Caller(r.Context()).Hospital
	i := &identity{
		key:  s.Pseudonyms.Pseudonym(hospital, "request", r.URL.Path+"\x00"+headers[0]),
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

// requestOf returns the identity of a request whose body has been read, or nil if the request has no Idempotency-Key.
func (s *server) requestOf(r *http.Request, hospital string) *acuity.Request {
	i, ok := r.Context().Value(identityKey{}).(*identity)
	if !ok {
		return nil
	}
	return &acuity.Request{Key: i.key, Digest: s.Pseudonyms.Pseudonym(hospital, "request body", string(i.body.Sum(nil)))}
}

// resolveRepeat replaces the change in got with the change of the first request, if this request repeats one. If it
// returns false, it has already sent an error response.
func (s *server) resolveRepeat(w http.ResponseWriter, r *http.Request, got *receipt) bool {
	again := &got.change
	switch {
	case again.Repeats == 0:
		return true
	case again.Reason == facts.ReasonReused:
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Conflict})
		return false
	}
	w.Header()["Idempotency-Replayed"] = []string{"true"}
	ctx, cancel := context.WithTimeout(r.Context(), appliedWait)
	defer cancel()
	first, err := s.Repeated(ctx, again.Hospital, again.Repeats, again.RepeatsAt)
	switch {
	case err == nil:
		got.change, got.position.Offset = first, first.Offset
	case errors.Is(err, ErrPending): // the log no longer has the first change, so the response only says "duplicate"
	default:
		s.Shell.Log.WarnContext(r.Context(), "first response not read", "hospital", again.Hospital, "error", err)
		w.Header().Del("Idempotency-Replayed")
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
		return false
	}
	return true
}
