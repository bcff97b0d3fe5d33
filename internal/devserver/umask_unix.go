//go:build unix

package devserver

import "syscall"

// restrictNewFiles makes new files of this process readable only by its user. The embedded Kafka would create
// world-readable files.
func restrictNewFiles() { syscall.Umask(0o077) }
