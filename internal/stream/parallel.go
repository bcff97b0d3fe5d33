package stream

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Parallel calls do for 0 up to n, as many at once as there are processors, and
// returns the first error once all have ended. It is how a task, which starts no
// goroutine of its own, spreads work that takes long.
func Parallel(n int, do func(i int) error) error {
	wait := workers()
	for i := range n {
		wait.Go(func() error { return do(i) })
	}
	return wait.Wait()
}

// workers is a group that runs as many at once as there are processors.
func workers() *errgroup.Group {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	return &g
}
