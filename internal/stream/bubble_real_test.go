//go:build !synctests

package stream

import "testing"

// bubble runs a test in which a group rebalances. The locks of franz-go work with virtual time only if franz-go is
// built with its tag synctests. Without the tag, the test runs in real time.
func bubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	t.Parallel()
	test(t)
}
