package httpapi

import (
	"io"
	"net/http"
	"strings"
)

// drainAtMost is how many bytes of a body are still read after a request was refused. No endpoint
// accepts a larger unpacked body.
const drainAtMost = 64 << 20

// requestBody is the body of a request. It records how far it was read.
type requestBody struct {
	io.ReadCloser
	begun, ended bool
}

// Read implements [io.Reader].
func (b *requestBody) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err //nolint:wrapcheck // a reader hands on what it wraps
}

// drained calls do to answer, and then reads the rest of the body. Most clients send the
// whole body before they read the answer. If the connection closed before, they would get
// no answer.
func (q *request) drained(w http.ResponseWriter, r *http.Request, do func()) {
	b := &q.body
	waits := !b.begun && strings.EqualFold(r.Header.Get("Expect"), "100-continue") // for our permission, and the client sends no body until then
	if b.ReadCloser == nil || b.ended || waits {
		do()
		return
	}
	control := http.NewResponseController(w)
	whole := control.EnableFullDuplex() != nil // otherwise net/http reads the body, and closes it, before it answers
	do()
	if whole || control.Flush() != nil {
		return
	}
	io.CopyN(io.Discard, b, drainAtMost) //nolint:errcheck // the client is gone, or too slow
}
