// Package lifecycle runs one process from start to end: its loops, servers, health checks.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"golang.org/x/sync/errgroup"
)

// Loop is work that continues until its context ends.
type Loop struct {
	Name string
	Run  func(context.Context) error
}

// ErrFailed is the cause with which the servers' context is canceled when a loop has failed.
var ErrFailed = errors.New("a part of the process has failed")

// RunAll runs the servers and loops until ctx ends or one of them fails. The loops end after the servers, so open
// requests still get their responses. Once the servers have ended or a server or loop has failed, everything else
// must end within the given time; otherwise, the error names what is still running.
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

// roster tracks the names of the loops and servers that are still running.
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

// Linger returns a context that ends once drain has passed since the end of ctx, so that load balancers notice that
// this process is not ready and stop sending requests. If a loop has failed, the context ends immediately, because
// the process cannot respond any longer.
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

// Process has the loops of one process, its health, and the conditions for opening its public ports.
type Process struct {
	Health *Health
	Loops  []Loop
	Ready  []<-chan struct{} // channels that must be closed before a public port opens
	Ports  []<-chan struct{} // one channel for each public port, closed when the port accepts connections
	Within time.Duration     // time limit for completing open requests during shutdown

	opened, stopping atomic.Bool // opened: all loops and servers are known; stopping: the process was asked to stop
}

// NewProcess returns a process without loops. Its health has two checks, named "start" and "stop". The parameter
// checks lists the names of all other checks; settling lists the names of the checks that fail at every start.
func NewProcess(checks, settling []string) *Process {
	p := &Process{Health: NewHealth(append([]string{"start", "stop"}, checks...), settling)}
	p.Health.Add("start", p.checkStarted)
	p.Health.Add("stop", p.checkStopping)
	return p
}

// Live runs a process with one or more roles. Its private port responds from the beginning, so that an orchestrator
// does not kill a process that is waiting for Kafka. The function start connects and returns the servers. After that,
// the loops of the roles run until ctx ends.
func (p *Process) Live(ctx context.Context, private *Server, start func(context.Context) ([]func(context.Context) error, error)) error {
	if err := private.Open(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { p.stopping.Store(true) })()
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
		if work.Err() != nil { // the process was asked to stop before start returned
			return nil
		}
		if err != nil {
			return err
		}
		p.opened.Store(true)
		return RunAll(work, p.Within+endWithin, servers, p.Loops)
	})
	return all.Wait()
}

// endWithin is how long the loops of a stopping process may take to end, after the time limit for open requests.
const endWithin = 10 * time.Second

// Run adds a loop. If a loop ends before its context, the whole process ends, even if the loop does not return an
// error.
func (p *Process) Run(name string, work func(context.Context) error) {
	p.Loops = append(p.Loops, Loop{Name: name, Run: func(ctx context.Context) error {
		if err := work(ctx); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if ctx.Err() == nil {
			return fmt.Errorf("%s ended unexpectedly", name)
		}
		return nil
	}})
}

// checkStarted fails until the function start of Live has returned, all channels in Ready are closed, and the public
// ports are open.
func (p *Process) checkStarted(context.Context) error {
	if !p.opened.Load() {
		return errors.New("waiting for Kafka and its topics")
	}
	for _, ready := range p.Ready {
		select {
		case <-ready:
		default:
			return errors.New("not caught up yet")
		}
	}
	for _, opened := range p.Ports {
		select {
		case <-opened:
		default:
			return errors.New("a public port is not open yet")
		}
	}
	return nil
}

// checkStopping fails once the process has been asked to stop.
func (p *Process) checkStopping(context.Context) error {
	if p.stopping.Load() {
		return errors.New("the process is shutting down")
	}
	return nil
}

// LimitMemory limits the Go heap to nine tenths of the memory of the container, unless GOMEMLIMIT is set. The rest is
// for memory outside the heap. If the container has no limit, LimitMemory does nothing.
func LimitMemory() {
	memlimit.Set(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.FromCgroup)) //nolint:errcheck // without a limit, nothing is set
}

// CollectLess lets the heap triple before a garbage collection, unless GOGC is set. The commands that read the log
// retain little memory but allocate a lot, so by default they would collect garbage constantly.
func CollectLess() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(200)
	}
}
