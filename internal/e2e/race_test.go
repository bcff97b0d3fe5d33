//go:build race

package e2e

// The race detector runs in svc itself: a race ends the process, and so the test fails.
func init() { raced = true }
