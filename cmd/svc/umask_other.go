//go:build !unix

package main

// ownersAlone is the folder's business here: files take over its rights.
func ownersAlone() {}
