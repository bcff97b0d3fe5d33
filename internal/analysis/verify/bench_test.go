package verify_test

import (
	"testing"
	"time"

	"svc/internal/analysis/analysistest"
)

// BenchmarkVerify verifies the changelog and the view of one hospital for one month, with 12 rooms and an input every
// 40 seconds. The metric s/year is the time for a month times 365/30.
func BenchmarkVerify(b *testing.B) {
	const n, monthsInYear = 30 * 24 * 3600 / 40, 365.0 / 30
	bed := analysistest.NewKafka(b)
	lived := analysistest.Live(b, analysistest.Shifts(n, 1, 40*time.Second))
	lived.Verify(bed)
	raw := analysistest.ReadPlain(b, bed, bed.Log())
	var heap analysistest.Peak
	stop := heap.Watch()
	spent := analysistest.CPU(b)
	for b.Loop() {
		report, err := lived.Verifier(bed).Round(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if d := report.First(); d != nil || report.Pending != 0 || report.Hospitals[0].Inputs != n {
			b.Fatal(d, report)
		}
	}
	spent = analysistest.CPU(b) - spent
	stop()
	raw.Report(b, n, "events", spent, &heap)
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*monthsInYear, "s/year")
}
