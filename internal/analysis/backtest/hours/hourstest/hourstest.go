// Package hourstest creates the hours of a simulated unit for tests.
package hourstest

import (
	"iter"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/backtest/hours"
	"svc/internal/analysis/simulate"
)

// Cut computes the hours of a hospital with the ID "h" from the requests of a simulated unit.
func Cut(tb testing.TB, requests iter.Seq[simulate.Request], zone *time.Location) []*acuity.Snapshot {
	tb.Helper()
	list, err := hours.Ordered(hours.FromRequests(func(yield func(simulate.Request, error) bool) {
		for r := range requests {
			if !yield(r, nil) {
				return
			}
		}
	}, "h", zone))
	if err != nil {
		tb.Fatal(err)
	}
	return list
}
