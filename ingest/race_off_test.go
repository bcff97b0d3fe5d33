//go:build !race

package ingest_test

// raceEnabled reports whether the race detector runs.
const raceEnabled = false
