package main

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// limitMemory tells the collector nine tenths of what the container may take, unless
// GOMEMLIMIT does; the rest is for what the collector does not count. Without a limit
// nothing changes.
func limitMemory() {
	memlimit.Set(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.FromCgroup)) //nolint:errcheck // no limit is no fault
}

// collectLess has the collector wait until the heap has tripled, unless GOGC says
// otherwise: who makes much garbage of little that is live collects all the time else.
func collectLess() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(200)
	}
}
