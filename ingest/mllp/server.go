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

// Peer is who connected.
type Peer struct {
	Address netip.Addr
	// Names are the common name and the DNS names of the certificate that it
	// proved to have; none without one.
	Names []string
}

// Sender takes the messages of one peer.
type Sender struct {
	Key, Hospital string // for the log
	// Take returns the acknowledgment of a message, empty if none is to be sent,
	// and only when the message is kept. After an error nothing is acknowledged
	// and the connection ends.
	Take func(ctx context.Context, message []byte) (ack []byte, err error)
}

// ErrRefused says that the sender may not send, or not any more.
var ErrRefused = errors.New("the sender may not send")

// Limits bound what one listener gives to its peers.
type Limits struct {
	Connections        int           // open at once
	ConnectionsPerPeer int           // of one address
	Message            int           // bytes
	Idle               time.Duration // between two messages
	Receive            time.Duration // from the first byte of a message to its last, and for a TLS handshake
	Answer             time.Duration // for the peer to take an acknowledgment
	Pause              time.Duration // before a connection ends whose message was not taken: for senders that try again at once
	Stop               time.Duration // for what is begun, at a graceful stop
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

// Serve accepts connections until ctx ends; then it lets what is begun finish. It
// closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	behind, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	l := &lobby{limits: &s.Limits, open: map[*conn]struct{}{}, peers: map[netip.Addr]int{}}
	var all sync.WaitGroup
	defer context.AfterFunc(ctx, func() {
		listener.Close() //nolint:errcheck // Accept says what there is to say
		l.stop(s.Now())
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
		if !errors.Is(err, net.ErrClosed) && sleep(ctx, acceptPause) { // out of files, or a peer that was gone again
			continue
		}
		fault = fmt.Errorf("accept: %w", err)
		break
	}
	grace, done := context.WithTimeout(behind, s.Limits.Stop)
	defer done()
	defer context.AfterFunc(grace, func() { cut(); l.cut() })()
	all.Wait()
	return fault
}

const acceptPause = 100 * time.Millisecond

// sleep returns false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err() == nil
}

// serve is the life of one connection: one goroutine, one line in the log.
func (s *Server) serve(ctx context.Context, l *lobby, socket net.Conn) {
	c := &conn{Server: s, lobby: l, socket: socket, began: s.Now(), peer: Peer{Address: address(socket)}}
	defer socket.Close() //nolint:errcheck // nobody is left to tell
	s.Counts.Connections.Add(1)
	if !l.enter(c) {
		s.Counts.TurnedAway.Add(1)
		c.line(ctx, endTooMany, nil)
		return
	}
	s.Counts.Open.Add(1)
	why, err := c.run(ctx)
	l.leave(c)
	s.Counts.Open.Add(-1)
	if c.in != nil {
		for _, f := range Faults() {
			s.Counts.Faults[f].Add(c.in.Count(f))
		}
	}
	c.line(ctx, why, err)
}

func address(socket net.Conn) netip.Addr {
	if tcp, ok := socket.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// lobby knows who is connected.
type lobby struct {
	limits *Limits

	mu       sync.Mutex
	stopping bool
	open     map[*conn]struct{}
	peers    map[netip.Addr]int
}

func (l *lobby) enter(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limits.Connections || l.peers[c.peer.Address] >= l.limits.ConnectionsPerPeer {
		return false
	}
	l.open[c] = struct{}{}
	l.peers[c.peer.Address]++
	return true
}

func (l *lobby) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	if l.peers[c.peer.Address]--; l.peers[c.peer.Address] == 0 {
		delete(l.peers, c.peer.Address)
	}
}

// rest gives a connection until then to begin a message; false at a stop.
func (l *lobby) rest(c *conn, until time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping {
		return false
	}
	c.resting = true
	return c.socket.SetReadDeadline(until) == nil
}

// wake gives it until then to end the message that it began.
func (l *lobby) wake(c *conn, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.resting = false
	return c.socket.SetReadDeadline(until)
}

// stop ends the connections that have begun nothing.
func (l *lobby) stop(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
	for c := range l.open {
		if c.resting {
			c.socket.SetReadDeadline(now) //nolint:errcheck // it is closed already, then
		}
	}
}

// stopped reports whether a stop was asked for.
func (l *lobby) stopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopping
}

// cut ends all connections.
func (l *lobby) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.socket.Close() //nolint:errcheck // its goroutine says why
	}
}
