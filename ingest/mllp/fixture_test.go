package mllp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/ingest/mllp"
)

// fixture is a server on its own port that acknowledges each message with the message itself. It records the log
// lines of its connections.
type fixture struct {
	*mllp.Server
	address string
	stop    func() error // stops the server gracefully
	lines   chan line
}

// line is a log line.
type line struct {
	Msg, Ended, Peer string
	Key              string `json:"key_id"`
	Messages         int
	Answered         int
	Error            string
}

func (h *fixture) Write(p []byte) (int, error) {
	var l line
	if err := json.Unmarshal(p, &l); err != nil {
		return 0, err
	}
	h.lines <- l
	return len(p), nil
}

// next returns the log line of the next connection that ends.
func (h *fixture) next(t *testing.T) line {
	t.Helper()
	select {
	case l := <-h.lines:
		return l
	case <-time.After(time.Minute):
		t.Fatal("no connection ends")
		return line{}
	}
}

func open(t *testing.T, change func(*mllp.Server)) *fixture {
	t.Helper()
	h := &fixture{lines: make(chan line, 100)}
	h.Server = &mllp.Server{
		Admit: func(mllp.Peer) (mllp.Sender, error) {
			return mllp.Sender{Key: "key_1", Store: func(_ context.Context, m []byte) ([]byte, error) { return slices.Clone(m), nil }}, nil
		},
		Limits: mllp.Limits{
			Connections: 10, ConnectionsPerPeer: 10, Message: 1000,
			Idle: time.Minute, Receive: time.Minute, Answer: time.Minute, Stop: time.Minute,
		},
		Now: time.Now, Log: slog.New(slog.NewJSONHandler(h, nil)), Counts: &mllp.Counts{},
	}
	if change != nil {
		change(h.Server)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, listener) }()
	h.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { h.stop() }) //nolint:errcheck // a test that needs the error stops the server itself
	return h
}

// client is a sender on a raw socket.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func (h *fixture) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) //nolint:errcheck // cannot fail in a test
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) wants(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c.in, got); err != nil || string(got) != text {
		c.t.Fatalf("answer %q, %v, want %q", got[:n], err, text)
	}
}

// closed checks that the server sends nothing more and closes the connection.
func (c *client) closed() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	if len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("%q, %v, want a closed connection", rest, err)
	}
}

func framed(text string) string { return "\x0b" + text + "\x1c\r" }
