//go:build unix

package devserver

import "syscall"

// restrictNewFiles makes the files that this process creates accessible only to its user. Otherwise, any user could
// read the files of the embedded Kafka.
func restrictNewFiles() { syscall.Umask(0o077) }
