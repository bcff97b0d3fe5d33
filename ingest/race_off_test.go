//go:build !race

package ingest_test

// raced says that the race detector watches.
const raced = false
