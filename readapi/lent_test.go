package readapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
)

// retainingWriter is a response writer that keeps each slice passed to Write, and a copy of the bytes that the slice
// then contained.
type retainingWriter struct {
	http.ResponseWriter
	given, then [][]byte
}

func (k *retainingWriter) Write(b []byte) (int, error) {
	k.given, k.then = append(k.given, b), append(k.then, bytes.Clone(b))
	return len(b), nil
}

// TestNothingIsLentToHTTP2: the bytes of an HTTP/2 response must not be reused, because a write to a stream that has
// ended may return before the server has sent the bytes.
func TestNothingIsLentToHTTP2(t *testing.T) {
	h := newFixture(worked(t))
	var all []*retainingWriter
	for range 8 {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/unit-state", nil)
		r.Header.Set("Authorization", "Bearer svc_north")
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
		k := &retainingWriter{ResponseWriter: httptest.NewRecorder()}
		h.ServeHTTP(k, r)
		all = append(all, k)
		next := *h.chart
		next.Unit.Version++
		h.chart, h.token.Version = &next, h.token.Version+1
	}
	for i, k := range all {
		if len(k.given) < 2 {
			t.Fatalf("answer %d is written in %d pieces: too small to be lent", i, len(k.given))
		}
		for n := range k.given {
			if !bytes.Equal(k.given[n], k.then[n]) {
				t.Errorf("answer %d was changed after it was written", i)
			}
		}
	}
}
