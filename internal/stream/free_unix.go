//go:build linux || darwin

package stream

import "syscall"

// freeBytes returns the number of bytes that an unprivileged process may still write in a folder.
func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err //nolint:wrapcheck // the caller adds the context
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec,unconvert // the type is signed on Linux but not elsewhere
}
