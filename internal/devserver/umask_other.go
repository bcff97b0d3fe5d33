//go:build !unix

package devserver

// restrictNewFiles does nothing, because on this system files inherit the permissions of the folder.
func restrictNewFiles() {}
