//go:build race

package e2e

// The race detector watches svc itself: a race ends the process, and so the test fails.
func init() { raced = true }
