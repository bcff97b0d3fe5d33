package main

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// Where a container says how much memory it may take: with control groups of
// version 2, and of version 1. Outside of a container they say "max", or more
// than there is.
var memoryFiles = []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}

// limitMemory tells the collector what the container may take, unless GOMEMLIMIT
// does: it then runs more often instead of letting the heap double beyond it.
func limitMemory(env func(string) (string, bool), files fs.FS) {
	if _, set := env("GOMEMLIMIT"); set {
		return
	}
	if limit := containerMemory(files); limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 9) // the rest is for what the collector does not count
	}
}

// containerMemory returns the limit in bytes; 0: there is none.
func containerMemory(files fs.FS) int64 {
	for _, name := range memoryFiles {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			continue // not that version
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
		if err != nil || limit > math.MaxInt64/2 { // "max"; version 1 has a number for it
			return 0
		}
		return limit
	}
	return 0
}
