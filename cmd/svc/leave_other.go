//go:build !unix

package main

// leaving: there is no signal for it here; --leave asks from the start.
func leaving() func() bool { return nil }
