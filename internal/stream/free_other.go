//go:build !linux && !darwin

package stream

import "math"

// freeBytes returns the maximum, because the free space is unknown on this operating system. If the disk is full, the
// write fails.
func freeBytes(string) (uint64, error) { return math.MaxUint64, nil }
