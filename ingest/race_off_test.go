//go:build !race

package ingest_test

// raceEnabled says that the race detector runs.
const raceEnabled = false
