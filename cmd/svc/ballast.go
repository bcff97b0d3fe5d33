package main

import "runtime"

// ballast makes memory that is never touched, so never resident, until drop is
// called. The collector counts it: it runs when as much again was allocated, and
// not each time the few MB that are live have doubled. A larger GOGC would also
// multiply what a full log takes.
func ballast(size int) (drop func()) {
	memory := make([]byte, size)
	return func() { runtime.KeepAlive(memory) }
}
