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
	// listener is one that is open already; nil: the server opens address.
	// Until it serves, who connects waits.
	listener net.Listener
	// drain is how long, at a graceful stop, requests are still taken before those that
	// are open get within to end. Connections that serve one then are closed after it.
	drain    time.Duration
	patience *patience                       // with slow clients; nil: patient
	wrap     func(net.Listener) net.Listener // of what net/http itself answers; nil: as it does
}

// patience is how long a slow client is waited for before it is cut off. What a
// handler itself waits for (Kafka, Redis) is bounded by the handler.
type patience struct {
	header time.Duration // until the head of a request is there
	body   time.Duration // until the body is there, too
	answer time.Duration // from the head to the end of the answer, as the client reads it
	idle   time.Duration // between two requests
}

var patient = patience{header: 5 * time.Second, body: 30 * time.Second, answer: 60 * time.Second, idle: 2 * time.Minute}

const headerAtMost = 64 << 10

// open listens, if nobody has for the server.
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
			return nil // asked to stop
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
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // what clients do wrong on the wire
	}
	listener := s.listener
	if s.wrap != nil {
		listener = s.wrap(listener)
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

// lastOf has each answer after the end of ctx be the last one of its connection: the
// client opens the next one elsewhere, instead of sending into one that is closed.
func lastOf(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
