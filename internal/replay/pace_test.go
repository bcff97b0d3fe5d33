package replay

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// While others work all readers rest half of the time, and all of them at once,
// whoever begins when; while nobody does they do not rest.
func TestReadersRestTogether(t *testing.T) {
	for others, want := range map[bool]time.Duration{false: 200 * time.Millisecond, true: 400 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			pace := NewPace(0, func() bool { return others })
			began := time.Now()
			var readers sync.WaitGroup
			for n := range 3 {
				time.Sleep(time.Millisecond)
				readers.Go(func() {
					for range 200 {
						if err := pace.wait(t.Context()); err != nil {
							t.Error(err)
						}
						if phase := time.Duration(time.Now().UnixNano()) % (2 * restEvery); others && phase >= restEvery {
							t.Errorf("reader %d works %v after the others", n, phase)
						}
						time.Sleep(time.Millisecond) // its work, on this clock
					}
				})
			}
			readers.Wait()
			if took := time.Since(began); took < want || took > want+2*restEvery {
				t.Errorf("others work %v: %v", others, took)
			}
		})
	}
}
