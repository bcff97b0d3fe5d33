//go:build unix

package main

import "syscall"

// ownersAlone has all files that this process makes be its user's alone: the embedded
// Kafka makes its own with the rights of everybody.
func ownersAlone() { syscall.Umask(0o077) }
