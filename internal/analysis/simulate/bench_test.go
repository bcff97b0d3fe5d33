package simulate_test

import (
	"io"
	"testing"
	"time"

	"svc/internal/analysis/simulate"
)

// BenchmarkYear generates the requests of a year. The metric x/raw compares its time with the time for only writing
// the same bytes.
func BenchmarkYear(b *testing.B) {
	for _, profile := range simulate.Profiles() {
		b.Run(profile, func(b *testing.B) {
			o := simulate.Options{Seed: 1, Profile: profile, Start: start, For: 52 * 7 * 24 * time.Hour}
			b.ReportAllocs()
			var lines, bytes int
			for b.Loop() {
				lines, bytes = 0, 0
				run(b, o, func(r simulate.Request) {
					lines++
					bytes += len(r.Body)
				})
			}
			perLine := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(lines)
			buffer, line := make([]byte, 0, 64<<10), make([]byte, bytes/lines)
			begin := time.Now()
			for range lines {
				if len(buffer)+len(line) > cap(buffer) {
					if _, err := io.Discard.Write(buffer); err != nil {
						b.Fatal(err)
					}
					buffer = buffer[:0]
				}
				buffer = append(buffer, line...)
			}
			raw := float64(time.Since(begin).Nanoseconds()) / float64(lines)
			b.ReportMetric(1e9/perLine, "lines/s")
			b.ReportMetric(float64(bytes)/float64(lines), "bytes/line")
			b.ReportMetric(perLine/raw, "x/raw")
		})
	}
}
