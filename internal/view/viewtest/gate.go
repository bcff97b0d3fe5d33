package viewtest

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// Gate is a proxy to Redis, for tests in which Redis is unavailable, refuses connections, or does not respond.
type Gate struct {
	URL string // URL of the gate

	behind   string
	listener net.Listener

	mu    sync.Mutex
	state gateState
	conns map[net.Conn]struct{}
}

type gateState int

const (
	open gateState = iota
	shut           // existing and new connections are closed
	mute           // connections stay open, but no bytes are forwarded
)

// NewGate starts an open gate in front of the Redis at url.
func NewGate(t *testing.T, url string) *Gate {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	behind := strings.TrimPrefix(url, "redis://")
	user := ""
	if i := strings.LastIndex(behind, "@"); i >= 0 {
		user, behind = behind[:i+1], behind[i+1:]
	}
	behind, _, _ = strings.Cut(behind, "/")
	g := &Gate{URL: "redis://" + user + listener.Addr().String(), behind: behind, listener: listener, conns: map[net.Conn]struct{}{}}
	var accepting sync.WaitGroup
	accepting.Go(g.accept)
	t.Cleanup(func() {
		g.set(shut)
		listener.Close()
		accepting.Wait()
	})
	return g
}

// Open makes the gate forward all bytes again.
func (g *Gate) Open() { g.set(open) }

// Shut closes all existing connections, and makes the gate close every new one.
func (g *Gate) Shut() { g.set(shut) }

// Mute keeps connections open but drops all bytes.
func (g *Gate) Mute() { g.set(mute) }

func (g *Gate) set(state gateState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = state
	if state == shut || state == open { // open also closes the connections, because a muted connection has lost bytes
		for conn := range g.conns {
			conn.Close()
		}
	}
}

func (g *Gate) now() gateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

func (g *Gate) accept() {
	var pumps sync.WaitGroup
	defer pumps.Wait()
	for {
		front, err := g.listener.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("tcp", g.behind) //nolint:noctx // a local connection, closed with the gate
		if err != nil || g.now() == shut {
			front.Close()
			if err == nil {
				back.Close()
			}
			continue
		}
		g.mu.Lock()
		g.conns[front], g.conns[back] = struct{}{}, struct{}{}
		g.mu.Unlock()
		pumps.Go(func() { g.pump(front, back) })
		pumps.Go(func() { g.pump(back, front) })
	}
}

func (g *Gate) pump(from, to net.Conn) {
	defer func() {
		from.Close()
		to.Close()
		g.mu.Lock()
		delete(g.conns, from)
		g.mu.Unlock()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if g.now() == open {
			if _, lost := to.Write(buffer[:n]); lost != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
