package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A request that is no valid HTTP/1.1 never reaches a handler: net/http answers it in
// plain text. Listener rewrites these answers in the envelope.

// Listener returns a listener whose connections answer everything in the envelope.
func (s *Shell) Listener(l net.Listener) net.Listener { return wireListener{l, s} }

type wireListener struct {
	net.Listener
	shell *Shell
}

// Accept implements [net.Listener].
func (l wireListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // a listener hands on what it wraps
	}
	return &wireConn{conn, l.shell}, nil
}

type wireConn struct {
	net.Conn
	shell *Shell
}

// plainRefusal matches an answer that net/http writes itself: these headers and no
// others. To an expectation it answers with nothing but the status.
var plainRefusal = regexp.MustCompile(`\AHTTP/1\.[01] (400|417|431|501|505) [^\r\n]*\r\n` +
	`(?:Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n` +
	`(?:\d{3} [A-Za-z ]+(?:: ([a-zA-Z ]{1,60}))?|Unsupported transfer encoding)` +
	`|Connection: close\r\nDate: [^\r\n]+\r\nContent-Length: 0\r\n\r\n)\z`)

const refusalAtMost = 512 // bytes

// Write implements [net.Conn].
func (c *wireConn) Write(b []byte) (int, error) {
	if len(b) > refusalAtMost || !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return c.Conn.Write(b) //nolint:wrapcheck // a connection hands on what it wraps
	}
	found := plainRefusal.FindSubmatch(b)
	if found == nil {
		return c.Conn.Write(b) //nolint:wrapcheck // likewise
	}
	kind := wireKinds[string(found[1])]
	problem := Problem{Kind: kind, Message: kind.Message()}
	if len(found[2]) > 0 {
		problem.Message = "The request is malformed: " + string(found[2]) + "."
	}
	if err := c.refuse(problem); err != nil {
		return 0, err
	}
	return len(b), nil
}

var wireKinds = map[string]Kind{
	"400": Invalid, "417": UnmetExpectation, "431": LongHead, "501": UnknownEncoding, "505": UnknownVersion,
}

// rstAvoidance is how long a refused client may go on sending. Closing a connection with
// unread bytes would also destroy the answer.
const rstAvoidance = 500 * time.Millisecond

// refuse answers with a problem, whose message is set, and ends the answers on the
// connection.
func (c *wireConn) refuse(p Problem) error {
	status := p.Kind.Status()
	r := &http.Request{Host: c.LocalAddr().String(), RemoteAddr: c.RemoteAddr().String()}
	body, err := Marshal(failure{Protocol: Protocol, Error: failureError{Code: p.Kind.Code(), Message: p.Message, Docs: c.shell.docsURL(r)}})
	if err != nil { // cannot fail for strings
		panic(err)
	}
	body = append(body, '\n')
	h := http.Header{
		"X-Request-Id": {uuid.NewString()}, "Content-Type": contentType, "Content-Length": {strconv.Itoa(len(body))}, "Connection": closing,
		"Date": {c.shell.Now().UTC().Format(http.TimeFormat)},
	}
	c.shell.secure(h, r)
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if err = h.Write(&answer); err != nil {
		return fmt.Errorf("write the head of a refusal: %w", err)
	}
	answer.WriteString("\r\n")
	answer.Write(body)
	if _, err = c.Conn.Write(answer.Bytes()); err != nil {
		return err //nolint:wrapcheck // as the write that it replaces
	}
	if c.shell.Answered != nil {
		c.shell.Answered("other", "", status, 0)
	}
	//nolint:sloglint // typed: as the line of every request
	c.shell.Log.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.String("method", "other"), slog.Int("status", status), slog.Int("bytes", len(body)), slog.String("address", c.shell.addressText(r)))
	deadline := time.Now().Add(rstAvoidance) //nolint:forbidigo // a deadline is of the clock on the wall
	if c.CloseWrite() == nil && c.SetReadDeadline(deadline) == nil {
		io.CopyN(io.Discard, c.Conn, drainAtMost) //nolint:errcheck // it has its answer
	}
	return nil
}

// CloseWrite ends sending, as net/http does after it has refused a request.
func (c *wireConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite() //nolint:wrapcheck // a connection hands on what it wraps
	}
	return net.ErrClosed
}

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
	// Such a client waits for our permission, and sends no body until then.
	waits := !b.begun && strings.EqualFold(r.Header.Get("Expect"), "100-continue")
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
