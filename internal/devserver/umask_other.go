//go:build !unix

package devserver

// ownersAlone does nothing, because on this system files inherit the permissions of the folder.
func ownersAlone() {}
