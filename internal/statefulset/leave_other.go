//go:build !unix

package statefulset

import "errors"

// Leaving returns nil, because this operating system has no signal that asks a process to leave its consumer groups.
// With --leave, the process always leaves its groups.
func Leaving() func() bool { return nil }

// askToLeave returns an error, because this operating system has no signal that asks a process to leave its groups.
func askToLeave(int) error {
	return errors.New("this operating system has no signal that asks a process to leave its group")
}
