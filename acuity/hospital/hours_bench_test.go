package hospital

import (
	"testing"
	"time"

	"svc/acuity"
)

// BenchmarkBackfill makes the snapshots for 28 days of a small ward, hour by hour. The time for the slowest hour is
// the longest time that an input may have to wait.
func BenchmarkBackfill(b *testing.B) {
	const days = 28
	events, end := ward(1, days), day.Add(days*24*time.Hour)
	var longest time.Duration
	hours := 0
	for b.Loop() {
		b.StopTimer()
		u := New(testHospital)
		for i := 0; i < len(events); i += 500 {
			feed(u, acuity.Observation{ReceivedAt: end, Channel: acuity.ChannelBatch, Events: events[i:min(i+500, len(events))]})
		}
		b.StartTimer()
		for until := end.Add(time.Minute); u.Due() != 0 && u.Due() <= until; hours++ {
			began := time.Now()
			u.Advance(until)
			longest = max(longest, time.Since(began))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(hours), "µs/hour")
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-hour")
}
