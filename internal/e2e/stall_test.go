package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// A machine with two cores that runs four tests and a Kafka sometimes stalls for seconds, and a virtual machine may
// be frozen. svc does not cause such stalls, so the tests do not count them as waiting time.
const (
	stallEvery = 20 * time.Millisecond  // interval at which this process checks the time
	stallFrom  = 200 * time.Millisecond // a check that is at least this late counts as a stall
)

var stalled struct {
	sync.Mutex

	sum  time.Duration // sum of the stalls that have ended
	last time.Time     // time of the last check; zero if sumStalls does not run
}

// sumStalls measures stalls while the tests run.
func sumStalls() {
	for range time.Tick(stallEvery) {
		stalled.Lock()
		stalled.sum, stalled.last = stalled.sum+currentStall(), time.Now()
		stalled.Unlock()
	}
}

// currentStall returns the stall since the last check, or 0.
func currentStall() time.Duration {
	if late := time.Since(stalled.last) - stallEvery; !stalled.last.IsZero() && late >= stallFrom {
		return late
	}
	return 0
}

// stalls returns the sum of all stalls, including one that has ended since the last check of
// sumStalls.
func stalls() time.Duration {
	stalled.Lock()
	defer stalled.Unlock()
	return stalled.sum + currentStall()
}

// stopwatch measures the elapsed time without stalls.
type stopwatch struct {
	began  time.Time
	before time.Duration // the sum of stalls before the start
}

func startWatch() stopwatch { return stopwatch{time.Now(), stalls()} }

func (w stopwatch) elapsed() time.Duration { return time.Since(w.began) - (stalls() - w.before) }

// sawStall reports whether there was a stall since the start.
func (w stopwatch) sawStall() bool { return stalls() > w.before }

// after returns a channel that is closed once the duration has passed without stalls.
func after(d time.Duration) <-chan struct{} {
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		watch := startWatch()
		for left := d; left > 0; left = d - watch.elapsed() {
			<-time.After(left)
		}
	}()
	return passed
}

// until calls the function try, with pauses, until it succeeds or the time has passed. It is for states that can be
// observed only through requests.
func until(within time.Duration, try func() error) error {
	for watch := startWatch(); ; <-time.After(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		if watch.elapsed() > within {
			return fmt.Errorf("not within %v: %w", within, err)
		}
	}
}

// eventually fails the test if try does not succeed in time. See [until].
func eventually(t testing.TB, within time.Duration, try func() error) {
	t.Helper()
	if err := until(within, try); err != nil {
		t.Fatal(err)
	}
}
