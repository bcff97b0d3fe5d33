//go:build linux || darwin

package stream

import "syscall"

// freeBytes is what a process like this one may still write in a folder.
func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err //nolint:wrapcheck // the caller says of what
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec,unconvert // signed on Linux, not on others
}
