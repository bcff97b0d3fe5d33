package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// A machine of two cores that runs four tests with a Kafka stands still for seconds at times, and a
// virtual one may be frozen. Such a stall is nobody's fault, so no bound of time counts it.
const (
	stallEvery = 20 * time.Millisecond  // how often this process looks at the time
	stallFrom  = 200 * time.Millisecond // how much later it must be than expected
)

var stalls atomic.Int64 // the sum in nanoseconds, since the process began

// sumStalls runs beside the tests.
func sumStalls() {
	for last := time.Now(); ; {
		time.Sleep(stallEvery)
		now := time.Now()
		if late := now.Sub(last) - stallEvery; late >= stallFrom {
			stalls.Add(int64(late))
		}
		last = now
	}
}

// stopwatch measures time without stalls.
type stopwatch struct {
	began  time.Time
	before int64 // the stalls before it began
}

func startWatch() stopwatch { return stopwatch{time.Now(), stalls.Load()} }

func (w stopwatch) elapsed() time.Duration {
	return time.Since(w.began) - time.Duration(stalls.Load()-w.before)
}

// stalled reports whether there was a stall.
func (w stopwatch) stalled() bool { return stalls.Load() > w.before }

// after closes a channel once so much time has passed without stalls.
func after(d time.Duration) <-chan struct{} {
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		watch := startWatch()
		for left := d; left > 0; left = d - watch.elapsed() {
			time.Sleep(left)
		}
	}()
	return passed
}

// until calls try until it succeeds or the time has passed. It is for states that only requests from
// outside can show; it pauses between the calls.
func until(within time.Duration, try func() error) error {
	for watch := startWatch(); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		if watch.elapsed() > within {
			return fmt.Errorf("not within %v: %w", within, err)
		}
	}
}

// eventually fails the test if try does not succeed in time, as [until].
func eventually(t testing.TB, within time.Duration, try func() error) {
	t.Helper()
	if err := until(within, try); err != nil {
		t.Fatal(err)
	}
}
