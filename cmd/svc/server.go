package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// server is one HTTP listener.
type server struct {
	name    string
	address string
	handler http.Handler
	after   []<-chan struct{} // listens only when all of these are closed
	within  time.Duration     // time for open requests at a graceful stop
	// listener is an open listener; nil: the server opens address. Until the server runs,
	// connections wait.
	listener net.Listener
	opened   chan struct{} // closed when the server accepts connections; nil: nobody waits for it
	// drain is how long new requests are accepted after ctx has ended. Then open requests have
	// the time within. Each answer during the drain is the last one of its connection.
	drain    time.Duration
	patience *patience                       // limits for slow clients; nil: patient
	wrap     func(net.Listener) net.Listener // for the answers of net/http itself; nil: unchanged
}

// patience bounds how long the server waits for a slow client. The waits of a handler for Kafka
// and Redis are bounded by the handler.
type patience struct {
	header time.Duration // until the header of a request is complete
	body   time.Duration // until the body is complete, too
	answer time.Duration // from the end of the header until the client has read the answer
	idle   time.Duration // between two requests
}

var patient = patience{header: 5 * time.Second, body: 30 * time.Second, answer: 60 * time.Second, idle: 2 * time.Minute}

const headerAtMost = 64 << 10

// open listens, unless there is a listener.
func (s *server) open(ctx context.Context) (err error) {
	if s.listener == nil {
		if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.address); err != nil {
			return fmt.Errorf("listen for %s: %w", s.name, err)
		}
	}
	return nil
}

// run serves until ctx ends, then drains and lets open requests finish.
func (s *server) run(ctx context.Context) error {
	for _, ready := range s.after {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	if err := s.open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while it waited
		}
		return err
	}
	patience := s.patience
	if patience == nil {
		patience = &patient
	}
	web := &http.Server{
		Handler:           lastOf(ctx, s.handler),
		ReadHeaderTimeout: patience.header,
		ReadTimeout:       patience.body,
		WriteTimeout:      patience.answer,
		IdleTimeout:       patience.idle,
		MaxHeaderBytes:    headerAtMost,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // discards the lines of net/http about faults of clients
	}
	listener := s.listener
	if s.wrap != nil {
		listener = s.wrap(listener)
	}
	if s.opened != nil {
		close(s.opened)
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	late, drained := linger(ctx, s.drain)
	defer drained()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", s.name, err)
	case <-late.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.within)
	defer cancel()
	if err := web.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		err = web.Close()
		if err != nil {
			return fmt.Errorf("close %s: %w", s.name, err)
		}
	} else if err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}

// lastOf closes the connection after each answer once ctx has ended. Then the client opens the
// next connection to another process.
func lastOf(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
