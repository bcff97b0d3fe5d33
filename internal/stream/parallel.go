package stream

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Parallel calls do for 0 up to n, as many at once as there are processors, and
// returns the first error once all have ended. It is how a task, which starts no
// goroutine of its own, spreads work that takes long.
func Parallel(n int, do func(i int) error) error {
	var wait errgroup.Group
	wait.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		wait.Go(func() error { return do(i) })
	}
	return wait.Wait()
}
