// Package mllp exchanges HL7 v2 messages over TCP with the Minimal Lower Layer Protocol. A message is framed by 0x0B
// and 0x1C 0x0D. Its acknowledgment is sent on the same connection with the same framing.
//
// [Server] receives the messages of many senders. On one connection, it reads a message only after it has
// acknowledged the previous one; later messages wait in the TCP buffers. A message that could not be stored is never
// acknowledged: the server closes the connection, and the sender sends the message again. [Reader] and [Append] read
// and write the frames, for either side.
//
// The package does not interpret messages.
package mllp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Peer is the remote end of a connection.
type Peer struct {
	Address netip.Addr
	// Names are the common name and the DNS names of the peer's certificate. They are empty unless the peer has
	// proved possession of the certificate's key.
	Names []string
}

// Sender accepts the messages of one peer.
type Sender struct {
	Key, Hospital string // for the log
	// Store stores a message and returns its acknowledgment, which is empty if none is to be sent. It returns only
	// after the message has been stored. After an error, the server closes the connection without an acknowledgment.
	Store func(ctx context.Context, message []byte) (ack []byte, err error)
}

// ErrRefused means that the sender is not, or no longer, allowed to send.
var ErrRefused = errors.New("the sender is not allowed")

// Limits apply to each listener.
type Limits struct {
	Connections        int           // maximum number of open connections
	ConnectionsPerPeer int           // maximum number of open connections from one address
	Message            int           // maximum length of a message in bytes
	Idle               time.Duration // maximum time between two messages
	Receive            time.Duration // time limit for receiving a message from its first byte to its last, and for a TLS handshake
	Answer             time.Duration // time limit for the peer to read an acknowledgment
	Pause              time.Duration // wait before closing a connection whose message was not accepted; some senders retry immediately
	Stop               time.Duration // time limit for finishing started messages during a graceful shutdown
}

// Server serves listeners.
type Server struct {
	Admit  func(Peer) (Sender, error)
	TLS    *tls.Config // nil: plain TCP
	Limits Limits
	Now    func() time.Time
	Log    *slog.Logger
	Counts *Counts // may be shared by several servers
}

// Serve accepts connections until ctx ends. It then closes the listener and the idle connections, and waits for
// started messages to finish. After [Limits].Stop, it closes the remaining connections. It returns an error only if
// the listener fails.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	behind, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	l := &connTable{limits: &s.Limits, open: map[*conn]struct{}{}, peers: map[netip.Addr]int{}}
	var all sync.WaitGroup
	defer context.AfterFunc(ctx, func() {
		listener.Close() //nolint:errcheck // Accept returns the relevant error
		l.closeIdle(s.Now())
	})()
	var fault error
	for {
		socket, err := listener.Accept()
		if err == nil {
			all.Go(func() { s.serve(behind, l, socket) })
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if !errors.Is(err, net.ErrClosed) && sleep(ctx, acceptPause) { // out of file descriptors, or the peer has already disconnected
			continue
		}
		fault = fmt.Errorf("accept: %w", err)
		break
	}
	grace, done := context.WithTimeout(behind, s.Limits.Stop)
	defer done()
	defer context.AfterFunc(grace, func() { cut(); l.closeAll() })()
	all.Wait()
	return fault
}

const acceptPause = 100 * time.Millisecond

// sleep pauses for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err() == nil
}

// serve handles one connection until it ends, and writes one log line for it. Each connection has its own goroutine.
func (s *Server) serve(ctx context.Context, l *connTable, socket net.Conn) {
	c := &conn{Server: s, conns: l, socket: socket, began: s.Now(), peer: Peer{Address: address(socket)}}
	defer socket.Close() //nolint:errcheck // fails only if the peer has disconnected
	s.Counts.Connections.Add(1)
	if !l.add(c) {
		s.Counts.TurnedAway.Add(1)
		c.logEnd(ctx, endTooMany, nil)
		return
	}
	s.Counts.Open.Add(1)
	why, err := c.run(ctx)
	l.remove(c)
	s.Counts.Open.Add(-1)
	if c.in != nil {
		for _, f := range Faults() {
			s.Counts.Faults[f].Add(c.in.Count(f))
		}
	}
	c.logEnd(ctx, why, err)
}

func address(socket net.Conn) netip.Addr {
	if tcp, ok := socket.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// connTable holds the open connections.
type connTable struct {
	limits *Limits

	mu       sync.Mutex
	stopping bool
	open     map[*conn]struct{}
	peers    map[netip.Addr]int
}

func (l *connTable) add(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limits.Connections || l.peers[c.peer.Address] >= l.limits.ConnectionsPerPeer {
		return false
	}
	l.open[c] = struct{}{}
	l.peers[c.peer.Address]++
	return true
}

func (l *connTable) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	if l.peers[c.peer.Address]--; l.peers[c.peer.Address] == 0 {
		delete(l.peers, c.peer.Address)
	}
}

// awaitMessage sets the deadline by which the next message on a connection must begin. It returns false if the server
// is stopping or the connection is already closed.
func (l *connTable) awaitMessage(c *conn, until time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping {
		return false
	}
	c.resting = true
	return c.socket.SetReadDeadline(until) == nil
}

// receiveUntil sets the deadline by which a connection must have received a message that has begun.
func (l *connTable) receiveUntil(c *conn, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.resting = false
	return c.socket.SetReadDeadline(until)
}

// closeIdle stops the server from reading further messages, and closes the connections on which no message has begun.
func (l *connTable) closeIdle(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
	for c := range l.open {
		if c.resting {
			c.socket.SetReadDeadline(now) //nolint:errcheck // fails only if the connection is already closed
		}
	}
}

// isStopped reports whether a stop has been requested.
func (l *connTable) isStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopping
}

// closeAll closes all connections.
func (l *connTable) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.socket.Close() //nolint:errcheck // the goroutine of the connection logs the reason
	}
}
