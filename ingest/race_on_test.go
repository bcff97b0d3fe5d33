//go:build race

package ingest_test

// raceEnabled reports whether the race detector is enabled.
const raceEnabled = true
