//go:build race

package e2e

// The race detector runs in svc itself: a race ends the process, which makes the test fail.
func init() { raced = true }
