package lifecycle

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// LimitMemory limits the Go heap to nine tenths of the memory of the container, unless GOMEMLIMIT
// is set. The rest is for memory outside the heap. Without a container limit it does nothing.
func LimitMemory() {
	memlimit.Set(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.FromCgroup)) //nolint:errcheck // no limit is no fault
}

// CollectLess lets the heap triple before a collection, unless GOGC is set. The commands on the
// log keep little and allocate much, so they would collect all the time.
func CollectLess() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(200)
	}
}
