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

	"svc/internal/httpapi/problem"
)

// A request that is not valid HTTP/1.1 never reaches a handler: net/http responds in plain text. Listener rewrites
// these responses in the envelope.

// Listener returns a listener whose connections send all responses in the envelope.
func (s *Shell) Listener(l net.Listener) net.Listener { return wireListener{l, s} }

type wireListener struct {
	net.Listener
	shell *Shell
}

// Accept implements [net.Listener].
func (l wireListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // the error of the wrapped listener is unchanged
	}
	return &wireConn{conn, l.shell}, nil
}

type wireConn struct {
	net.Conn
	shell *Shell
}

// plainRefusal matches a response that net/http itself writes. Such a response has exactly these headers. The
// response to an unmet expectation has no body.
var plainRefusal = regexp.MustCompile(`\AHTTP/1\.[01] (400|417|431|501|505) [^\r\n]*\r\n` +
	`(?:Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n` +
	`(?:\d{3} [A-Za-z ]+(?:: ([a-zA-Z ]{1,60}))?|Unsupported transfer encoding)` +
	`|Connection: close\r\nDate: [^\r\n]+\r\nContent-Length: 0\r\n\r\n)\z`)

const refusalAtMost = 512 // bytes

// Write implements [net.Conn].
func (c *wireConn) Write(b []byte) (int, error) {
	if len(b) > refusalAtMost || !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return c.Conn.Write(b) //nolint:wrapcheck // the error of the wrapped connection is unchanged
	}
	found := plainRefusal.FindSubmatch(b)
	if found == nil {
		return c.Conn.Write(b) //nolint:wrapcheck // the error of the wrapped connection is unchanged
	}
	kind := wireKinds[string(found[1])]
	p := Problem{Kind: kind, Message: kind.Message()}
	if len(found[2]) > 0 {
		p.Message = "The request is malformed: " + string(found[2]) + "."
	}
	if err := c.refuse(p); err != nil {
		return 0, err
	}
	return len(b), nil
}

var wireKinds = map[string]problem.Kind{
	"400": problem.Invalid, "417": problem.UnmetExpectation, "431": problem.LongHead, "501": problem.UnknownEncoding,
	"505": problem.UnknownVersion,
}

// rstAvoidance is how long a refused client may continue to send. Closing a connection with unread bytes would also
// destroy the response.
const rstAvoidance = 500 * time.Millisecond

// refuse sends a problem, which must have a message, as the last response on the connection.
func (c *wireConn) refuse(p Problem) error {
	status := p.Kind.Status()
	r := &http.Request{Host: c.LocalAddr().String(), RemoteAddr: c.RemoteAddr().String()}
	body, err := Marshal(failure{Protocol: Protocol, Error: failureError{Code: p.Kind.Code(), Message: p.Message, Docs: c.shell.docsURL(r)}})
	if err != nil { // encoding strings cannot fail
		panic(err)
	}
	body = append(body, '\n')
	h := http.Header{
		"X-Request-Id": {uuid.NewString()}, "Content-Type": contentType, "Content-Length": {strconv.Itoa(len(body))}, "Connection": closing,
		"Date": {c.shell.Now().UTC().Format(http.TimeFormat)},
	}
	c.shell.setHeaders(h, r)
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if err = h.Write(&answer); err != nil {
		return fmt.Errorf("write the header of a rejected request: %w", err)
	}
	answer.WriteString("\r\n")
	answer.Write(body)
	if _, err = c.Conn.Write(answer.Bytes()); err != nil {
		return err //nolint:wrapcheck // returned unchanged, like the error of the write that this response replaces
	}
	if c.shell.Answered != nil {
		c.shell.Answered(context.Background(), "other", "", status, 0)
	}
	//nolint:sloglint // typed: as the line of every request
	c.shell.Log.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.String("method", "other"), slog.Int("status", status), slog.Int("bytes", len(body)), slog.String("address", c.shell.addressText(r)))
	deadline := time.Now().Add(rstAvoidance) //nolint:forbidigo // a deadline uses the wall clock
	if c.CloseWrite() == nil && c.SetReadDeadline(deadline) == nil {
		io.CopyN(io.Discard, c.Conn, drainAtMost) //nolint:errcheck // the response is already sent
	}
	return nil
}

// CloseWrite shuts down the sending side, as net/http does after it has refused a request.
func (c *wireConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite() //nolint:wrapcheck // the error of the wrapped connection is unchanged
	}
	return net.ErrClosed
}

// drainAtMost is the maximum number of body bytes that are read after a request was refused. No endpoint accepts a
// larger decompressed body.
const drainAtMost = 64 << 20

// requestBody is the body of a request. It records how much of the body was read.
type requestBody struct {
	io.ReadCloser
	begun, ended bool
}

// Read implements [io.Reader].
func (b *requestBody) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err //nolint:wrapcheck // the error of the wrapped reader is unchanged
}

// respondAndDrain calls the function do, which responds, and then reads the rest of the body. Most clients send the
// whole body before they read the response. If the connection were closed earlier, they would not get the response.
func (q *request) respondAndDrain(w http.ResponseWriter, r *http.Request, do func()) {
	b := &q.body
	// A client with "Expect: 100-continue" does not send the body until it gets permission.
	waits := !b.begun && strings.EqualFold(r.Header.Get("Expect"), "100-continue")
	if b.ReadCloser == nil || b.ended || waits {
		do()
		return
	}
	control := http.NewResponseController(w)
	whole := control.EnableFullDuplex() != nil // without full duplex, net/http reads and closes the body before it responds
	do()
	if whole || control.Flush() != nil {
		return
	}
	io.CopyN(io.Discard, b, drainAtMost) //nolint:errcheck // an error means that the client has disconnected or is too slow
}
