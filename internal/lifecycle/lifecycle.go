// Package lifecycle runs one process, from its start to its end. It has its loops, its servers and
// the checks of its health.
package lifecycle

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

// Loop is work that continues until its context ends.
type Loop struct {
	Name string
	Run  func(context.Context) error
}

// ErrFailed is the cause when servers end because a loop has failed.
var ErrFailed = errors.New("a part of the process has failed")

// RunAll runs the servers and loops until ctx ends or one of them fails. The loops end after the
// servers, so an open request still gets its answer. Loops that do not end in time are named in
// the error.
func RunAll(ctx context.Context, within time.Duration, servers []func(context.Context) error, loops []Loop) error {
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	all, failed := errgroup.WithContext(behind)
	running := &roster{}
	for _, l := range loops {
		leave := running.enter(l.Name)
		all.Go(func() error {
			defer leave()
			return l.Run(failed)
		})
	}
	leave := running.enter("open requests")
	all.Go(func() error {
		defer stop()
		defer leave()
		front, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(failed, func() { cancel(ErrFailed) })()
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

// roster holds the names of the loops and servers that still run.
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

// Linger returns a context that ends some time after ctx. Until then load balancers learn that
// this process is not ready, and send no more requests. It ends at once if a loop has failed,
// because then the process cannot answer.
func Linger(ctx context.Context, drain time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		if errors.Is(context.Cause(ctx), ErrFailed) {
			return
		}
		wait, stop := context.WithTimeout(late, drain)
		defer stop()
		<-wait.Done()
	})
	return late, func() { stop(); cancel() }
}
