package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/lifecycle"
)

// live runs a process of roles. Its private port answers all the time, so that an orchestrator
// does not kill a process that waits for Kafka. start connects and returns the servers; then the
// loops of the roles run until ctx ends.
func (h *service) live(ctx context.Context, private *lifecycle.Server, start func(context.Context) ([]func(context.Context) error, error)) error {
	if err := private.Open(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { h.stopping.Store(true) })()
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	all, failed := errgroup.WithContext(behind)
	all.Go(func() error { return private.Run(failed) })
	all.Go(func() error {
		defer stop()
		work, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(failed, cancel)()
		servers, err := start(work)
		if work.Err() != nil { // the process was asked to stop before start was done
			return nil
		}
		if err != nil {
			return err
		}
		h.opened.Store(true)
		return lifecycle.RunAll(work, h.config.ShutdownWithin+endWithin, servers, h.loops)
	})
	return all.Wait()
}

// endWithin bounds the end of the loops of a stopping process, after the time of open requests.
const endWithin = 10 * time.Second
