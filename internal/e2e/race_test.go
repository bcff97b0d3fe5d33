//go:build race

package e2e

// Under the race detector what is watched is svc itself: a race ends it, and so
// the test that ran it.
func init() { raced = true }
