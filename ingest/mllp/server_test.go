package mllp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/ingest/mllp"
)

func TestManyMessagesInOrder(t *testing.T) {
	h := open(t, nil)
	c := h.dial(t)
	var sent strings.Builder
	for n := range 500 { // all messages are sent at once, so most must wait
		sent.WriteString(framed(fmt.Sprintf("MSH|%d\r", n)))
	}
	go io.WriteString(c, sent.String()) //nolint:errcheck // the answers show a failure
	c.wants(sent.String())
	c.Close()
	if l := h.next(t); l.Ended != "peer_closed" || l.Messages != 500 || l.Answered != 500 || l.Key != "key_1" || l.Peer != "127.0.0.1" {
		t.Errorf("%+v", l)
	}
	if n := h.Counts.Messages.Load(); n != 500 {
		t.Errorf("%d messages counted", n)
	}
}

// TestHowConnectionsEnd connects peers that behave in different ways. The server must close each connection, and the
// log line of the connection must name the expected reason.
func TestHowConnectionsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*mllp.Server)
		peer   func(*client)
		ended  string
	}{
		"says nothing": {
			func(s *mllp.Server) { s.Limits.Idle = 50 * time.Millisecond },
			func(*client) {}, "idle",
		},
		"says nothing more": {
			func(s *mllp.Server) { s.Limits.Idle = 100 * time.Millisecond },
			func(c *client) { c.send(framed("A")); c.wants(framed("A")) }, "idle",
		},
		"line ends for ever": {
			func(s *mllp.Server) { s.Limits.Idle = 100 * time.Millisecond },
			func(c *client) {
				for {
					if _, err := io.WriteString(c, "\r\n"); err != nil {
						return
					}
				}
			}, "idle",
		},
		"a byte now and then": {
			func(s *mllp.Server) { s.Limits.Receive = 100 * time.Millisecond },
			func(c *client) {
				c.send("\x0b")
				for tick := time.Tick(5 * time.Millisecond); ; <-tick {
					if _, err := io.WriteString(c, "x"); err != nil {
						return
					}
				}
			}, "message_too_slow",
		},
		"a message without an end": {
			nil, func(c *client) {
				for text := "\x0b" + strings.Repeat("x", 100); ; text = strings.Repeat("x", 100) {
					if _, err := io.WriteString(c, text); err != nil {
						return
					}
				}
			}, "message_too_long",
		},
		"noise without an end": {
			nil, func(c *client) { io.WriteString(c, strings.Repeat("x", 9000)) }, "message_too_long", //nolint:errcheck // the write may fail
		},
		"breaks off": {nil, func(c *client) { c.send("\x0bMSH|"); c.Close() }, "connection_lost"},
		"takes no answer": {
			func(s *mllp.Server) {
				s.Limits.Answer, s.Limits.Message = 100*time.Millisecond, 4<<20
			},
			func(c *client) {
				c.SetDeadline(time.Now().Add(3 * time.Second)) //nolint:errcheck // cannot fail in a test
				for text := framed(strings.Repeat("x", 3<<20)); ; {
					if _, err := io.WriteString(c, text); err != nil {
						return
					}
				}
			}, "answer_not_taken",
		},
		"its message is not taken": {
			func(s *mllp.Server) {
				s.Admit = func(mllp.Peer) (mllp.Sender, error) {
					return mllp.Sender{Store: func(context.Context, []byte) ([]byte, error) { return nil, io.ErrShortWrite }}, nil
				}
			},
			func(c *client) { c.send(framed("A") + framed("B")) }, "message_not_taken",
		},
		"its message is our fault": {
			func(s *mllp.Server) {
				s.Log = slog.New(slog.DiscardHandler)
				s.Admit = func(mllp.Peer) (mllp.Sender, error) {
					return mllp.Sender{Store: func(context.Context, []byte) ([]byte, error) { panic("MILLER") }}, nil
				}
			},
			func(c *client) { c.send(framed("A")) }, "",
		},
		"may not send any more": {
			func(s *mllp.Server) {
				s.Admit = func(mllp.Peer) (mllp.Sender, error) {
					return mllp.Sender{Store: func(context.Context, []byte) ([]byte, error) { return nil, mllp.ErrRefused }}, nil
				}
			},
			func(c *client) { c.send(framed("A")) }, "sender_refused",
		},
		"may not send": {
			func(s *mllp.Server) {
				s.Admit = func(mllp.Peer) (mllp.Sender, error) { return mllp.Sender{}, mllp.ErrRefused }
			},
			func(*client) {}, "sender_refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, tt.change)
			c := h.dial(t)
			tt.peer(c)
			if tt.ended != "answer_not_taken" {
				c.closed()
			}
			if tt.ended == "" {
				return // the connection is closed, but the server is still running
			}
			if l := h.next(t); l.Ended != tt.ended || l.Msg != "mllp connection" {
				t.Errorf("%+v, want %s", l, tt.ended)
			}
		})
	}
}

// TestFramesWithoutAMessage: the server skips empty frames and does not answer them.
func TestFramesWithoutAMessage(t *testing.T) {
	h := open(t, nil)
	c := h.dial(t)
	c.send(framed("") + framed("\r\n") + framed("A"))
	c.wants(framed("A"))
	c.Close()
	h.next(t)
	if n := h.Counts.Faults[mllp.Noise].Load(); n != 2 {
		t.Errorf("%d counted", n)
	}
}

func TestTooManyConnections(t *testing.T) {
	for name, limits := range map[string][2]int{"in all": {2, 9}, "of one peer": {9, 2}} {
		t.Run(name, func(t *testing.T) {
			h := open(t, func(s *mllp.Server) { s.Limits.Connections, s.Limits.ConnectionsPerPeer = limits[0], limits[1] })
			join := func() *client {
				c := h.dial(t)
				c.send(framed("A"))
				c.wants(framed("A"))
				return c
			}
			first := join()
			join()
			h.dial(t).closed()
			if l := h.next(t); l.Ended != "too_many_connections" || h.Counts.TurnedAway.Load() != 1 {
				t.Errorf("%+v", l)
			}
			first.Close()
			h.next(t)
			join()
		})
	}
}

// pipes is a listener for in-memory connections, so that a test can wait until every goroutine is blocked.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestStop: at shutdown, idle connections are closed at once. A message that has begun is read to its end and
// answered, unless this takes longer than Limits.Stop; then its connection is closed.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h := &fixture{lines: make(chan line, 100)}
		h.Server = &mllp.Server{
			Admit: func(mllp.Peer) (mllp.Sender, error) {
				return mllp.Sender{Store: func(_ context.Context, m []byte) ([]byte, error) {
					if string(m) == "B" {
						<-hold
					}
					return m, nil
				}}, nil
			},
			Limits: mllp.Limits{
				Connections: 10, ConnectionsPerPeer: 10, Message: 1000,
				Idle: time.Minute, Receive: time.Minute, Answer: time.Minute, Stop: 10 * time.Second,
			},
			Now: time.Now, Log: slog.New(slog.NewJSONHandler(h, nil)), Counts: &mllp.Counts{},
		}
		listener := make(pipes)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Serve(ctx, listener) }()
		dial := func() *client {
			ours, theirs := net.Pipe()
			listener <- theirs
			return &client{ours, t, bufio.NewReader(ours)}
		}
		resting, begun, taken, stuck := dial(), dial(), dial(), dial()
		for _, c := range []*client{resting, begun, taken, stuck} {
			c.send(framed("A"))
			c.wants(framed("A"))
		}
		begun.send("\x0bC")
		stuck.send("\x0bC")
		taken.send(framed("B"))
		synctest.Wait()
		asked := time.Now()
		cancel()
		resting.closed()
		begun.send("D\x1c\r")
		begun.wants(framed("CD"))
		begun.closed()
		close(hold)
		taken.wants(framed("B"))
		taken.closed()
		if took := time.Since(asked); took > 0 {
			t.Errorf("the stop took %v of nothing", took)
		}
		stuck.closed() // the connection is closed by force
		if err := <-ended; err != nil || time.Since(asked) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(asked))
		}
		for range 4 {
			if l := <-h.lines; l.Ended != "stopped" {
				t.Errorf("%+v", l)
			}
		}
	})
}
