//go:build !unix

package statefulset

import "errors"

// Leaving returns nil, because this system does not have a signal that asks to leave. With --leave, the process always
// leaves its groups.
func Leaving() func() bool { return nil }

// askToLeave returns an error, because this system does not have a signal that asks to leave.
func askToLeave(int) error {
	return errors.New("this operating system has no signal that asks a process to leave its group")
}
