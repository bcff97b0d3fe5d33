package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
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
	patience *patience // with slow clients; nil: patient
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

// run serves until ctx ends, then lets open requests finish.
func (s *server) run(ctx context.Context) error {
	for _, ready := range s.after {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	listener := s.listener
	if listener == nil {
		var err error
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.address); err != nil {
			return fmt.Errorf("listen for %s: %w", s.name, err)
		}
	}
	patience := s.patience
	if patience == nil {
		patience = &patient
	}
	web := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: patience.header,
		ReadTimeout:       patience.body,
		WriteTimeout:      patience.answer,
		IdleTimeout:       patience.idle,
		MaxHeaderBytes:    headerAtMost,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // what clients do wrong on the wire
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", s.name, err)
	case <-ctx.Done():
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

// runAll runs the servers until ctx ends or anything fails, with the loops they
// stand on behind them: an open request still gets its answer, because the
// loops end after the servers.
func runAll(ctx context.Context, servers, loops []func(context.Context) error) error {
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	all, failed := errgroup.WithContext(behind)
	for _, loop := range loops {
		all.Go(func() error { return loop(failed) })
	}
	all.Go(func() error {
		defer stop()
		front, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(failed, cancel)()
		fronts, until := errgroup.WithContext(front)
		for _, serve := range servers {
			fronts.Go(func() error { return serve(until) })
		}
		fronts.Go(func() error { <-until.Done(); return nil })
		return fronts.Wait()
	})
	err := all.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}
