package httpapi

import (
	"io"
	"net/http"
	"strings"
)

// drainAtMost is how much of a body is still read after a request was refused: as much
// as the largest that any endpoint takes, unpacked.
const drainAtMost = 64 << 20

// requestBody is the body of a request. It remembers how far it was read.
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

// drained has do answer, and then reads what is left of the body. Most clients send
// all of it before they look for the answer: on a connection that is closed under them
// they would find none.
func (q *request) drained(w http.ResponseWriter, r *http.Request, do func()) {
	b := &q.body
	waits := !b.begun && strings.EqualFold(r.Header.Get("Expect"), "100-continue") // for our leave, and sends nothing
	if b.ReadCloser == nil || b.ended || waits {
		do()
		return
	}
	control := http.NewResponseController(w)
	whole := control.EnableFullDuplex() != nil // else net/http reads, and closes, before it answers
	do()
	if whole || control.Flush() != nil {
		return
	}
	io.CopyN(io.Discard, b, drainAtMost) //nolint:errcheck // the client is gone, or too slow
}
