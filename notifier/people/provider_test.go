package people_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// provider implements the protocol of the generic gateway.
type provider struct {
	t      *testing.T
	board  *alertLists
	mu     sync.Mutex
	status int
	got    []text
	before func(text) // called before each answer; may be nil
}

type text struct{ ID, To, Text, Callback string }

func (p *provider) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		server := http.Server{Handler: p, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		server.SetKeepAlivesEnabled(false)
		server.Serve(&once{conn: theirs}) //nolint:errcheck // one connection
	}()
	return ours, nil
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var one text
	if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
		p.t.Error(err)
	}
	p.board.follow(p.t, one.Text)
	if p.before != nil {
		p.before(one)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status != 0 {
		w.WriteHeader(p.status)
		return
	}
	p.got = append(p.got, one)
	w.WriteHeader(http.StatusAccepted)
}

func (p *provider) answers(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *provider) accepted() []text {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

func (p *provider) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = nil
}

// once is a listener with a single connection.
type once struct {
	conn net.Conn
}

func (o *once) Accept() (net.Conn, error) {
	if c := o.conn; c != nil {
		o.conn = nil
		return c, nil
	}
	return nil, net.ErrClosed
}
func (o *once) Close() error   { return nil }
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }
