//go:build !unix

package statefulset

import "errors"

// Leaving returns nil, because this system has no signal for it. With --leave, the process always leaves its groups.
func Leaving() func() bool { return nil }

// askToLeave returns an error: this system has no signal for it.
func askToLeave(int) error { return errors.New("there is no signal for it on this system") }
