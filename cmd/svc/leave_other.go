//go:build !unix

package main

import "errors"

// leaving: there is no signal for it here; --leave asks from the start.
func leaving() func() bool { return nil }

// askToLeave cannot be done here.
func askToLeave(int) error { return errors.New("there is no signal for it on this system") }
