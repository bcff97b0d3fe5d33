package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// loop is work that continues until its context ends.
type loop struct {
	name string
	run  func(context.Context) error
}

// live is the life of a process of roles. Its private port answers from first to last,
// so that nobody kills a process that waits for Kafka. start connects and returns the
// servers; the loops of the roles then run until ctx ends.
func (h *service) live(ctx context.Context, private *server, start func(context.Context) ([]func(context.Context) error, error)) error {
	if err := private.open(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { h.stopping.Store(true) })()
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	all, failed := errgroup.WithContext(behind)
	all.Go(func() error { return private.run(failed) })
	all.Go(func() error {
		defer stop()
		work, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(failed, cancel)()
		servers, err := start(work)
		if work.Err() != nil { // asked to stop before it began: whatever start was about to do
			return nil
		}
		if err != nil {
			return err
		}
		h.opened.Store(true)
		return runAll(work, h.config.ShutdownWithin+endWithin, servers, h.loops)
	})
	return all.Wait()
}

// endWithin bounds the end of the loops of a stopping process, in addition to the time
// of open requests.
const endWithin = 10 * time.Second

// errFailed says that the servers end because a loop that they need has failed.
var errFailed = errors.New("a part of the process has failed")

// runAll runs the servers until ctx ends or anything fails, with the loops that they
// need. An open request still gets its answer, because the loops end after the servers.
// Whatever does not end in time is named and left.
func runAll(ctx context.Context, within time.Duration, servers []func(context.Context) error, loops []loop) error {
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	all, failed := errgroup.WithContext(behind)
	running := &roster{}
	for _, l := range loops {
		leave := running.enter(l.name)
		all.Go(func() error {
			defer leave()
			return l.run(failed)
		})
	}
	leave := running.enter("open requests")
	all.Go(func() error {
		defer stop()
		defer leave()
		front, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(failed, func() { cancel(errFailed) })()
		fronts, until := errgroup.WithContext(front)
		for _, serve := range servers {
			fronts.Go(func() error { return serve(until) })
		}
		fronts.Go(func() error { <-until.Done(); return nil })
		return fronts.Wait()
	})
	ended := make(chan error, 1)
	go func() { ended <- all.Wait() }()
	<-failed.Done()
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case err := <-ended:
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil
		}
		return err
	case <-limit.C:
		cause := context.Cause(failed)
		if errors.Is(cause, context.Canceled) {
			cause = nil
		}
		return errors.Join(cause, fmt.Errorf("%s did not end within %v", running, within))
	}
}

// roster knows what has not ended yet.
type roster struct {
	mu    sync.Mutex
	names []string
}

func (r *roster) enter(name string) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		at := slices.Index(r.names, name)
		r.names = slices.Delete(r.names, at, at+1)
	}
}

// String implements [fmt.Stringer].
func (r *roster) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.names, ", ")
}

// linger returns a context that ends some time after ctx. Until then load balancers
// learn that this process is not ready, and send no more. It ends at once if ctx ends
// because the process can no longer answer.
func linger(ctx context.Context, drain time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		if errors.Is(context.Cause(ctx), errFailed) {
			return
		}
		pause(late, drain) //nolint:errcheck // its end is the same
	})
	return late, func() { stop(); cancel() }
}
