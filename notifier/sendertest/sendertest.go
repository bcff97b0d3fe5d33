// Package sendertest is the conformance suite for the notifier's channels, whatever protocol they use. It checks the
// result of an attempt when the remote side accepts, is absent, disconnects, does not respond or responds with
// garbage. It also checks what happens when the notifier interrupts an attempt. The remote side is raw TCP, so that
// it can violate the protocol in ways that server libraries do not allow.
package sendertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"svc/internal/outbound/sending"
	"svc/notifier/outcome"
)

// Channel is an implementation of [sending.Sender], together with a remote side for the tests.
type Channel struct {
	// Sender creates a sender. address is the address of the remote side, for senders that are configured with it.
	Sender func(t *testing.T, address string) sending.Sender
	// Message creates a message. address is the address of the remote side, for messages that contain it.
	Message func(address string) sending.Message
	// Serve speaks the protocol on one connection and accepts all messages until the connection is closed.
	Serve func(conn net.Conn)
}

// patience is the timeout of an attempt whose remote side does not respond.
const patience = 200 * time.Millisecond

// Conform runs the tests that every channel must pass.
func Conform(t *testing.T, c Channel) {
	t.Helper()
	attempt := func(t *testing.T, ctx context.Context, serve func(net.Conn)) sending.Result {
		t.Helper()
		address := Listen(t, serve)
		return c.Sender(t, address).Send(ctx, c.Message(address))
	}
	t.Run("accepted", func(t *testing.T) {
		got := attempt(t, t.Context(), c.Serve)
		want(t, &got, sending.ClassOK)
	})
	t.Run("nobody listens", func(t *testing.T) {
		address := Nobody(t)
		got := c.Sender(t, address).Send(t.Context(), c.Message(address))
		want(t, &got, sending.ClassRefused)
	})
	t.Run("breaks off", func(t *testing.T) {
		got := attempt(t, t.Context(), func(conn net.Conn) { Reset(conn) })
		want(t, &got, sending.ClassReset)
	})
	t.Run("hangs up", func(t *testing.T) {
		got := attempt(t, t.Context(), func(net.Conn) {})
		want(t, &got, sending.ClassReset)
	})
	t.Run("keeps silent", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got := attempt(t, ctx, Silent)
		want(t, &got, sending.ClassTimeout)
	})
	t.Run("stopped by ourselves", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := attempt(t, ctx, func(conn net.Conn) {
			cancel()
			Silent(conn)
		})
		want(t, &got, sending.ClassInterrupted)
	})
	t.Run("talks nonsense", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
		defer cancel()
		got := attempt(t, ctx, func(conn net.Conn) {
			nonsense := bytes.Repeat([]byte("\xff\xfe\x00 what? \r\n"), 1000)
			if _, err := conn.Write(nonsense); err == nil {
				io.Copy(io.Discard, conn) //nolint:errcheck // until the sender gives up
			}
		})
		if got.Class == sending.ClassOK || got.Class == "" || got.Final {
			t.Errorf("%+v, want a temporary failure", got)
		}
		bounded(t, &got)
	})
	t.Run("recovers after a failure", func(t *testing.T) {
		var mu sync.Mutex
		down := true
		address := Listen(t, func(conn net.Conn) {
			mu.Lock()
			broken := down
			mu.Unlock()
			if broken {
				Reset(conn)
				return
			}
			c.Serve(conn)
		})
		sender := c.Sender(t, address)
		got := sender.Send(t.Context(), c.Message(address))
		want(t, &got, sending.ClassReset)
		mu.Lock()
		down = false
		mu.Unlock()
		got = sender.Send(t.Context(), c.Message(address))
		want(t, &got, sending.ClassOK)
	})
	t.Run("many at once", func(t *testing.T) {
		address := Listen(t, c.Serve)
		sender := c.Sender(t, address)
		results := make(chan sending.Result)
		const many = 16
		for range many {
			go func() { results <- sender.Send(t.Context(), c.Message(address)) }()
		}
		for range many {
			got := <-results
			want(t, &got, sending.ClassOK)
		}
	})
}

// want checks the class of a result, and the properties that every result must have.
func want(t *testing.T, got *sending.Result, class sending.Class) {
	t.Helper()
	if got.Class != class {
		t.Errorf("class %q (%+v), want %q", got.Class, *got, class)
	}
	if got.Final {
		t.Errorf("final: %+v; temporary failures and successes must not be final", *got)
	}
	bounded(t, got)
}

func bounded(t *testing.T, got *sending.Result) {
	t.Helper()
	if got.Took <= 0 {
		t.Errorf("took %v", got.Took)
	}
	if !utf8.ValidString(got.Response) || utf8.RuneCountInString(got.Response) > outcome.MaxResponse {
		t.Errorf("response of %d characters", utf8.RuneCountInString(got.Response))
	}
}

// Listen opens a local address and calls serve for every connection to it, until the test ends.
func Listen(t testing.TB, serve func(net.Conn)) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	Serve(t, listener, serve)
	return listener.Addr().String()
}

// Serve is like [Listen], but on a listener that is already open.
func Serve(t testing.TB, listener net.Listener, serve func(net.Conn)) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]struct{}{}
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			} else if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			open[conn] = struct{}{}
			mu.Unlock()
			all.Go(func() {
				serve(conn)
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
				conn.Close() //nolint:errcheck // may be closed already
			})
		}
	})
	t.Cleanup(func() {
		listener.Close() //nolint:errcheck // the test has ended
		mu.Lock()
		for conn := range open {
			conn.Close() //nolint:errcheck // the test has ended
		}
		mu.Unlock()
		all.Wait()
	})
}

// Nobody returns a local address on which nothing listens.
func Nobody(t testing.TB) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// Silent reads all input and does not respond.
func Silent(conn net.Conn) {
	io.Copy(io.Discard, conn) //nolint:errcheck // until the connection is closed
}

// Reset closes a connection with RST instead of FIN, as if the machine had crashed.
func Reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) //nolint:errcheck // on error, the connection ends with FIN
	}
	conn.Close() //nolint:errcheck // closing is all that matters
}
