package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Process is the loops of one process, its health and what its public ports wait for.
type Process struct {
	Health *Health
	Loops  []Loop
	Ready  []<-chan struct{} // a public port opens when all are closed
	Ports  []<-chan struct{} // each is closed when a public port accepts connections
	Within time.Duration     // time for open requests at a stop

	opened, stopping atomic.Bool // all loops and servers are known; the process was asked to stop
}

// NewProcess returns a process without loops. Its health has the checks start and stop. checks are
// the names of the others; settling are those that fail at every start.
func NewProcess(checks, settling []string) *Process {
	p := &Process{Health: NewHealth(append([]string{"start", "stop"}, checks...), settling)}
	p.Health.Add("start", p.started)
	p.Health.Add("stop", p.stops)
	return p
}

// Live runs a process of roles. Its private port answers all the time, so that an orchestrator
// does not kill a process that waits for Kafka. The function start connects and returns the servers.
// Then the loops of the roles run until ctx ends.
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
		if work.Err() != nil { // the process was asked to stop before start was done
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

// endWithin bounds the end of the loops of a stopping process, after the time of open requests.
const endWithin = 10 * time.Second

// Run adds a loop. A loop that ends before its context ends the process, even without an error,
// so that no loop stops unnoticed.
func (p *Process) Run(name string, work func(context.Context) error) {
	p.Loops = append(p.Loops, Loop{Name: name, Run: func(ctx context.Context) error {
		if err := work(ctx); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if ctx.Err() == nil {
			return fmt.Errorf("%s ended by itself", name)
		}
		return nil
	}})
}

// started fails until the public ports are open.
func (p *Process) started(context.Context) error {
	if !p.opened.Load() {
		return errors.New("waits for Kafka and its topics")
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

// stops fails once the process has been asked to stop.
func (p *Process) stops(context.Context) error {
	if p.stopping.Load() {
		return errors.New("the process ends")
	}
	return nil
}
