//go:build unix

package devserver

import "syscall"

// ownersAlone makes new files of this process readable by its user only. The embedded Kafka would create world-readable
// files.
func ownersAlone() { syscall.Umask(0o077) }
